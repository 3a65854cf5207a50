"""A stack file as data, with the place of everything in it."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..errors import StackError
from .places import Places
from .positions import KeyPath, Position, find_positions
from .problems import StackProblem

_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")
_ADVICE = {
    "Invalid value": 'text stands in quotes, true and false are written small: model = "openai:gpt-5"',
    "Illegal character '\\n'": 'a text ends on its line; a longer one stands in """three quotes"""',
    "Cannot overwrite a value": "a key is written once",
    "Cannot declare": "a table is written once; [[use]] may be repeated",
    "Unescaped '\\'": "write \\\\, or put the text in 'single quotes'",
    "Invalid statement": "a line holds a [table], a key = value, or a # comment",
}
TABLE = ("tool", "agent-express")
"""Where a stack stands in pyproject.toml."""


@dataclass(frozen=True, slots=True)
class Document:
    """The table of a file that holds a stack, and the places in it."""

    data: Mapping[str, Any]
    places: Places


def read_document(path: Path) -> Document:
    """Read the stack in *path*: the whole file, or `[tool.agent-express]` of a pyproject.toml.

    Raises:
        StackError: There is no such file, it is not TOML, or the pyproject.toml has no such table.
    """
    text = _text(path)
    try:
        data: Any = tomllib.loads(text)
        found = find_positions(text)
    except RecursionError:
        raise StackError(path, [StackProblem("not TOML that can be read: it is nested too deep")]) from None
    except ValueError as error:
        raise StackError(path, [_unreadable(error, text)]) from None
    root: KeyPath = TABLE if path.name == "pyproject.toml" else ()
    for key in root:
        data = data.get(key) if isinstance(data, dict) else None
    if not isinstance(data, dict):
        raise StackError(
            path, [StackProblem("there is no table [tool.agent-express]", advice="write [tool.agent-express.agent]")]
        )
    return Document(data, Places(found, root))


def _text(path: Path) -> str:
    """What the file holds, lines ending in "\\n", without a byte order mark."""
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        raise StackError(path, [StackProblem("there is no such file")]) from None
    except OSError as error:
        why = "is a folder" if path.is_dir() else f"cannot be read: {error.strerror or error}"
        advice = f"name the file in it: {path / 'agent.toml'}" if path.is_dir() else ""
        raise StackError(path, [StackProblem(why, advice=advice)]) from None
    try:
        return raw.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        before = raw[: error.start]
        place = Position(before.count(b"\n") + 1, len(before.rpartition(b"\n")[2].decode("utf-8", "replace")) + 1)
        problem = StackProblem(
            f"not UTF-8: byte 0x{raw[error.start]:02x}", place.line, place.column, advice="save the file as UTF-8"
        )
        raise StackError(path, [problem]) from None


def _unreadable(error: ValueError, text: str) -> StackProblem:
    """What `tomllib` says, with its place: attributes from Python 3.14 on, before that the end of its message."""
    message = str(error)
    found = _PLACE.search(message)
    if found is None:  # a number of thousands of digits
        return StackProblem(f"not TOML: {message}")
    message = message[: found.start()]
    line, column = (int(found[1]), int(found[2])) if found[1] else _end(text)
    advice = next((advice for start, advice in _ADVICE.items() if message.startswith(start)), "")
    return StackProblem(f"not TOML: {message[:1].lower()}{message[1:]}", line, column, advice=advice)


def _end(text: str) -> tuple[int, int]:
    lines = text.rstrip().split("\n")
    return len(lines), len(lines[-1]) + 1
