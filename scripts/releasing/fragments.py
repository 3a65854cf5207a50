"""The changelog fragments: one Markdown file per change in `docs/changes/`, named AREA.WHAT.TYPE.md."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from releasing.workspace import Workspace

FOLDER = Path("docs/changes")
TEMPLATE = "template.jinja"
TYPES = ("added", "changed", "fixed", "removed")
BREAKING = frozenset({"changed", "removed"})
EVERYWHERE = "all"
"""The area of what concerns every package."""

NAME = re.compile(rf"(?P<area>[a-z0-9-]+)\.(?P<what>[a-z0-9-]+)\.(?P<type>{'|'.join(TYPES)})\.md")
LONGEST = 120  # characters of a line


@dataclass(frozen=True)
class Fragment:
    """What one change means for those who use the packages.

    Attributes:
        area: The folder in `packages/` that it concerns.
        type: One of `TYPES`.
        text: One or a few sentences.
    """

    area: str
    type: str
    text: str


def paths(workspace: Workspace) -> list[Path]:
    """The files in the folder of fragments, well-formed or not."""
    folder = workspace.root / FOLDER
    return sorted(path for path in folder.glob("*") if path.name != TEMPLATE) if folder.is_dir() else []


def read(workspace: Workspace) -> list[Fragment]:
    """Read the fragments whose names are well-formed."""
    named = [(NAME.fullmatch(path.name), path) for path in paths(workspace)]
    return [
        Fragment(found["area"], found["type"], path.read_text(encoding="utf-8").strip())
        for found, path in named
        if found is not None
    ]


def check_fragments(workspace: Workspace) -> list[str]:
    """List what is wrong with the names and the texts of the fragments."""
    areas = {package.area for package in workspace.packages.values()} | {EVERYWHERE}
    return [
        f"{FOLDER.as_posix()}/{path.name}: {problem}" for path in paths(workspace) for problem in _problems(path, areas)
    ]


def _problems(path: Path, areas: set[str]) -> Iterator[str]:
    found = NAME.fullmatch(path.name)
    if found is None:
        yield f"expected a name such as core.nested-agents.added.md, the type being one of {', '.join(TYPES)}"
        return
    if found["area"] not in areas and found["type"] != "removed":
        yield f"there is no packages/{found['area']}; for what concerns all of them write {EVERYWHERE}"
    text = path.read_text(encoding="utf-8").strip()
    if not re.fullmatch(r"[A-Z`*].*\.", text, re.DOTALL):
        yield "expected sentences, from a capital or a name in backticks to a full stop"
    if re.search(r"\n\s*\n|^#", text, re.MULTILINE):
        yield "expected one paragraph without a heading: it becomes one item of a list"
    if any(len(line) > LONGEST for line in text.splitlines()):
        yield f"a line has more than {LONGEST} characters"
