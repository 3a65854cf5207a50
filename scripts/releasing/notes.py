"""The changelog: written by towncrier from the fragments, and read again."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from releasing.commands import CommandError, run
from releasing.fragments import FOLDER, Fragment, check_fragments, read
from releasing.workspace import Workspace

CHANGELOG = Path("docs/changelog.md")
START = "<!-- releases -->"

VERSION = re.compile(r"^## (\S+)$", re.MULTILINE)
TYPE = re.compile(r"^### (\w+)$", re.MULTILINE)
ITEM = re.compile(r"^- \*\*([a-z0-9-]+)\*\*: (.*(?:\n  .*)*)", re.MULTILINE)


class NotesError(Exception):
    """The changelog cannot be written."""


def draft(workspace: Workspace) -> str:
    """Return what the changelog would say of the version that the packages have now.

    Raises:
        NotesError: A fragment is not as it should be.
    """
    return _towncrier(workspace, "--draft").strip()


def write(workspace: Workspace) -> None:
    """Put the notes of the version that the packages have now on top of the changelog, and remove the fragments.

    Raises:
        NotesError: There is no fragment, one is not as it should be, or the changelog has that version already.
    """
    if not read(workspace):
        raise NotesError(f"there is no fragment in {FOLDER.as_posix()}: nothing to say of {workspace.core.version}")
    if workspace.core.version in VERSION.findall(changelog(workspace)):
        raise NotesError(
            f"{CHANGELOG.as_posix()} has {workspace.core.version} already: set the next version by scripts/release bump"
        )
    _towncrier(workspace, "--yes")


def _towncrier(workspace: Workspace, how: str) -> str:
    if problems := check_fragments(workspace):
        raise NotesError("\n".join(problems))
    try:
        command = [sys.executable, "-m", "towncrier", "build", how, "--version", workspace.core.version]
        return run(*command, cwd=workspace.root)
    except CommandError as error:
        raise NotesError(str(error)) from error


def changelog(workspace: Workspace) -> str:
    """The text of the changelog; "" where there is none."""
    path = workspace.root / CHANGELOG
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def written(text: str) -> dict[str, list[Fragment]]:
    """Read the fragments back out of a changelog: version -> fragments."""
    return {
        version: [
            Fragment(area, kind.lower(), said.replace("\n  ", "\n").strip())
            for kind, part in _sections(TYPE, section)
            for area, said in ITEM.findall(part)
        ]
        for version, section in _sections(VERSION, text)
    }


def _sections(heading: re.Pattern[str], text: str) -> Iterator[tuple[str, str]]:
    """Each heading and what stands under it."""
    found = list(heading.finditer(text))
    ends = [*[start.start() for start in found[1:]], len(text)]
    return ((start[1], text[start.end() : end]) for start, end in zip(found, ends, strict=False))
