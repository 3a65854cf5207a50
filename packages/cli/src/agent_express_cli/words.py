"""Text for a terminal: one line, of a length, without control characters."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_GAP = re.compile(r"\s+")
_BREAK = re.compile(r"[\n\r\t\u2028\u2029]")


def printable(text: str) -> str:
    """Replace what steers a terminal, such as escape sequences, by a visible sign; line ends and tabs stay.

    What a model or a tool says is not to move the cursor, set the title or hide text.
    """
    return _CONTROL.sub("�", text.replace("\r\n", "\n"))


def shorten(text: str, room: int) -> str:
    """*text* in at most *room* characters, an ellipsis at the end where something is missing."""
    return text if len(text) <= room else f"{text[: max(room - 1, 0)]}…"


def one_line(text: str, room: int) -> str:
    """*text* as one line of at most *room* characters; where lines are left out it says how many there are."""
    lines = text.strip().splitlines()
    if len(lines) < 2:
        return shorten(printable(_GAP.sub(" ", text.strip())), room)
    size = f" … ({len(lines)} lines)"
    return shorten(printable(_GAP.sub(" ", lines[0].strip())), max(room - len(size), 10)) + size


def arguments(args: Mapping[str, Any], room: int) -> str:
    """Arguments of a call, `path="README.md", limit=3`, in at most *room* characters; long values are cut first."""
    written = [f"{printable(name)}={_value(value, 60)}" for name, value in args.items()]
    return shorten(_BREAK.sub(" ", ", ".join(written)), room)


def _value(value: Any, room: int) -> str:
    text = printable(json.dumps(value, ensure_ascii=False, default=str))
    if len(text) <= room:
        return text
    return f'{text[: room - 2]}…"' if isinstance(value, str) else shorten(text, room)


def count(number: int, noun: str) -> str:
    """`1 line`, `2 lines`, `1,200 lines`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
