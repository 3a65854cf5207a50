"""`agent-express stack lock`: write down what a stack is made of, or say what has changed since."""

from __future__ import annotations

from pathlib import Path

from agent_express.stack import drift, lock, lock_path

from ..exits import CommandError, Exit
from ..page import Page
from .load import load_file


def lock_file(page: Page, spec: str | None, profile: str, *, check: bool) -> int:
    """Write the lock file beside the stack file, or compare.

    Raises:
        CommandError: There is no such stack file, or the lock cannot be written.
        UseError: The stack cannot be put together.
    """
    loaded, stack = load_file(spec, profile, page.note)
    where = lock_path(Path(loaded.spec))
    if check:
        changed = drift(stack)
        if page.as_json:
            page.object({"type": "drift", "path": str(where), "ok": not changed, "changed": changed})
        elif changed:
            for each in changed:
                page.line(each)
        else:
            page.line(f"all is as {where} says")
        return Exit.FAILED if changed else Exit.OK
    text = lock(stack)
    is_new = _held(where) != text
    if is_new:
        try:
            where.write_text(text, encoding="utf-8", newline="\n")
        except OSError as error:
            raise CommandError(f"{where} cannot be written: {error.strerror or error}") from error
    if page.as_json:
        page.object({"type": "lock", "path": str(where), "changed": is_new})
    else:
        page.line(f"{where} {'is written' if is_new else 'says it already'}")
    return Exit.OK


def _held(where: Path) -> str:
    """What the lock file says now; nothing where there is none."""
    try:
        return where.read_text(encoding="utf-8")
    except (OSError, ValueError):
        return ""
