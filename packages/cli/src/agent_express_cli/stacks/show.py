"""`agent-express stack show`: the onion in text, as JSON, or drawn."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from ..drawing.onion import Onion, onions
from ..exits import CommandError
from ..output import Output
from ..page import Page
from .load import known_agent, load
from .text import Line, plain, stack_lines, stack_object

STDOUT = Path("-")


def show_stack(
    page: Page, spec: str | None, profile: str, agent: str, svg: Path | None = None, mermaid: Path | None = None
) -> None:
    """Show a stack, or draw it.

    Raises:
        CommandError: There is no such stack or agent, or a picture cannot be written.
        UseError: The stack cannot be put together.
    """
    if STDOUT in (svg, mermaid) and (page.as_json or svg == mermaid):
        raise CommandError('"-" is for one thing at a time: write the picture into a file')
    view = load(spec, profile, page.note).view
    known_agent(view, agent)
    if svg is not None or mermaid is not None:
        pictures = onions(view, agent)
        if svg is not None:
            from ..drawing.svg import draw_svg

            _write(page, svg, draw_svg, pictures)
        if mermaid is not None:
            from ..drawing.mermaid import draw_mermaid

            _write(page, mermaid, draw_mermaid, pictures)
        return
    if page.as_json:
        page.object(stack_object(view, agent))
    else:
        write_lines(stack_lines(view, agent))


def _write(page: Page, file: Path, draw: Callable[[Sequence[Onion]], str], pictures: Sequence[Onion]) -> None:
    drawn = draw(pictures)
    if file == STDOUT:
        Output(sys.stdout).write(drawn)
        return
    try:
        file.write_text(drawn, encoding="utf-8", newline="\n")
    except OSError as error:
        raise CommandError(f"{file} cannot be written: {error.strerror or error}") from error
    page.note(f"the onion is drawn in {file}")


STYLES = {
    "title": "bold",
    "level": "bold cyan",
    "dim": "dim",
    "mark": "magenta",
    "off": "strike dim",
    "error": "bold red",
    "warning": "bold yellow",
    "note": "bold blue",
    "moved": "green",
}
"""How rich paints what stands in a line."""


def write_lines(lines: Sequence[Line]) -> None:
    """Write lines, painted where a person reads them."""
    out = Output(sys.stdout)
    if not out.is_terminal:
        out.write(plain(lines))
        return
    for line in lines:
        for span in line:
            out.write(span.text, STYLES.get(span.style, ""))
        out.write("\n")
