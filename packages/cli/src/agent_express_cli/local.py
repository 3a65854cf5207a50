"""The project's own code: what stands in the current folder can be imported."""

from __future__ import annotations

import sys
from pathlib import Path


def find_modules_in(folder: Path) -> None:
    """Let modules of *folder* be imported, before those that are installed."""
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def is_dotted(name: str) -> bool:
    """Whether *name* is a path of Python names, "shop.agents"."""
    return bool(name) and all(part.isidentifier() for part in name.split("."))


def a(value: object) -> str:
    """A value by its kind: "an Agent", "the class Agent", "None"."""
    if isinstance(value, type):
        return f"the class {value.__name__}"
    if value is None:
        return "None"
    name = type(value).__name__
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"
