"""What was made: the files and what to run next, for a person or a machine."""

from __future__ import annotations

from ..page import Page
from .kinds import Kind
from .make import Made


def show_made(page: Page, made: Made) -> None:
    """Print the files that were written, and the next commands."""
    names, written = made.names, made.written
    if page.as_json:
        page.object(
            {
                "type": "created",
                "kind": made.kind.value,
                "name": names.name,
                "entry": None if made.kind is Kind.PROJECT else names.entry,
                "distribution": names.distribution,
                "module": names.module,
                "folder": str(written.folder),
                "files": list(written.files),
                "next": list(made.steps),
            }
        )
        return
    what = "project" if made.kind is Kind.PROJECT else f"{made.kind.value} {names.entry}"
    page.line(f"{written.folder}: {what}")
    for path in written.files:
        page.line(f"  {path}")
    page.line()
    page.line("Next:")
    for step in made.steps:
        page.line(f"  {step}")
