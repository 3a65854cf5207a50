"""How the messages about a stack file name its parts."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from typing import Any

from .positions import KeyPath

_LONG = 10**40
_BARE = re.compile(r"[A-Za-z0-9_-]+")


def spelled(path: KeyPath) -> str:
    """`("use", 2, "config")` -> "use[2].config"."""
    words = [f"[{part}]" if isinstance(part, int) else f".{_quoted(part)}" for part in path]
    return "".join(words).removeprefix(".")


def header(path: KeyPath) -> str:
    """The table at *path* as TOML writes its header: "[agent]", "[[use]]", "[use.config]"."""
    names = ".".join(_quoted(part) for part in path if isinstance(part, str))
    if not names:
        return "the stack"
    return f"[[{names}]]" if isinstance(path[-1], int) else f"[{names}]"


def label(path: KeyPath) -> str:
    """The value at *path* as a sentence names it: "model in [agent]", "tools[1] in [agent]"."""
    names = [place for place, part in enumerate(path) if isinstance(part, str)]
    start = names[-1] if names else 0
    held = spelled(path[start:])
    return f"{held} in {header(path[:start])}" if start else held


def shown(value: Any) -> str:
    """What was found, as TOML calls it; long texts are cut."""
    match value:
        case bool():
            return "true" if value else "false"
        case str():
            return f'"{value}"' if len(value) <= 40 else f'"{value[:37]}..."'
        case int() if abs(value) >= _LONG:  # Python refuses to write some of them
            return "a number of more than 40 digits"
        case int() | float():
            return str(value)
        case dict():
            return "a table"
        case list():
            return "a list"
        case None:
            return "nothing"
        case _:
            return f"a {type(value).__name__}"


def meant(word: str, known: Iterable[str]) -> str:
    """`; meant 'model'?`, or which words there are; empty where there is none."""
    words = list(known)
    near = difflib.get_close_matches(word, words, 1)
    if near:
        return f"meant {near[0]!r}?"
    return f"there are: {', '.join(words)}" if words else ""


def _quoted(key: str) -> str:
    return key if _BARE.fullmatch(key) else f'"{key}"'
