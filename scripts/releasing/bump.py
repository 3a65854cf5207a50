"""Set the version of all packages, the ranges between them and the lock."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

from releasing.commands import CommandError, run, uv
from releasing.versions import VersionError, following, train
from releasing.workspace import CORE, Workspace

OWN = re.compile(r'(?m)^(version = ")[^"\n]*(")$')
SIBLING = re.compile(rf'("{CORE}(?:-[a-z0-9-]+)?(?:\[[^\]]*\])?)(?: *[<>=~!][^";]*)("|;)')


class DirtyError(Exception):
    """The work tree holds changes that are not committed."""


def plan(workspace: Workspace, wanted: str) -> dict[Path, str]:
    """Return the files that change for another version, by their path from the root, with their new texts.

    Args:
        workspace: The checkout; nothing in it is touched.
        wanted: The version, or "minor" or "patch" for the next one.

    Raises:
        VersionError: *wanted* is no version or does not come after the one there is, or the packages have several.
        CommandError: The lock cannot be written.
    """
    version = following(_current(workspace), wanted)
    paths = [package.folder / "pyproject.toml" for package in workspace.packages.values()]
    changed = {path.relative_to(workspace.root): _set(path, version) for path in paths}
    return {**changed, Path("uv.lock"): _lock(workspace, changed)}


def _current(workspace: Workspace) -> str:
    versions = {package.version for package in workspace.packages.values()}
    if len(versions) > 1:
        raise VersionError(f"the packages have several versions, {', '.join(sorted(versions))}: set them to one first")
    return workspace.core.version


def _set(path: Path, version: str) -> str:
    text = path.read_text(encoding="utf-8")
    text = OWN.sub(rf"\g<1>{version}\g<2>", text, count=1)
    return SIBLING.sub(rf"\g<1>{train(version)}\g<2>", text)


def _lock(workspace: Workspace, changed: dict[Path, str]) -> str:
    """The lock as it will be, written in a copy."""
    with TemporaryDirectory() as place:
        copy = workspace.copy_to(Path(place))
        write(copy, changed)
        try:
            run(uv(), "lock", "--quiet", "--offline", cwd=copy.root)
        except CommandError:  # uv's cache does not know enough of what the lock names
            run(uv(), "lock", "--quiet", cwd=copy.root)
        return (copy.root / "uv.lock").read_text(encoding="utf-8")


def refuse_dirty(workspace: Workspace) -> None:
    """Raise unless everything is committed.

    Raises:
        DirtyError: Something is not.
    """
    if changes := workspace.git("status", "--porcelain").rstrip():
        raise DirtyError(f"the work tree holds changes, commit or stash them first:\n{changes}")


def write(workspace: Workspace, changed: dict[Path, str]) -> None:
    """Write the files of a plan."""
    for path, text in changed.items():
        (workspace.root / path).write_text(text, encoding="utf-8", newline="\n")


def diff(workspace: Workspace, changed: dict[Path, str]) -> Iterator[str]:
    """The lines of a plan as a unified diff."""
    for path, text in changed.items():
        before = (workspace.root / path).read_text(encoding="utf-8")
        name = path.as_posix()
        yield from difflib.unified_diff(before.splitlines(), text.splitlines(), f"a/{name}", f"b/{name}", lineterm="")
