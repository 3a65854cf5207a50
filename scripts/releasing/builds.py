"""Wheels and source distributions, built from a checkout."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from releasing.commands import CommandError, run, uv
from releasing.wheels import Wheel
from releasing.workspace import Workspace


@dataclass(frozen=True)
class Build:
    """What was built of a checkout.

    Attributes:
        workspace: The checkout.
        folder: Where the files are, nothing else being there.
        wheels: Distribution -> wheel.
        sdists: Distribution -> source distribution.
    """

    workspace: Workspace
    folder: Path
    wheels: Mapping[str, Wheel]
    sdists: Mapping[str, Path]

    @property
    def files(self) -> list[Path]:
        """All of them, by name."""
        return sorted([*(wheel.path for wheel in self.wheels.values()), *self.sdists.values()])


def build(workspace: Workspace, folder: Path, *, sdists: bool = True, epoch: str = "") -> Build:
    """Build every package into *folder*: the source distribution, and the wheel from it.

    Files are dated like the last commit, so that the same sources give the same bytes.

    Args:
        workspace: The checkout.
        folder: Where the files go; made where it is missing.
        sdists: Whether source distributions are built as well. Without, wheels are built from the sources.
        epoch: The date instead of that of the last commit, in seconds.

    Raises:
        CommandError: A package cannot be built.
    """
    kinds = [] if sdists else ["--wheel"]
    command: list[str | Path] = [uv(), "build", "--quiet", "--all-packages", *kinds, "--out-dir", folder]
    env = {"SOURCE_DATE_EPOCH": epoch or last_commit(workspace)}
    try:
        run(*command, "--offline", cwd=workspace.root, env=env)
    except CommandError:  # what builds them may have to be fetched first; what is broken fails again
        run(*command, cwd=workspace.root, env=env)
    return collect(workspace, folder)


def last_commit(workspace: Workspace) -> str:
    """Return the time of the last commit, in seconds.

    Raises:
        CommandError: The checkout is not one of git's, or has no commit.
    """
    return workspace.git("log", "-1", "--format=%ct").strip()


def collect(workspace: Workspace, folder: Path) -> Build:
    """Take the wheels and the source distributions that lie in *folder*."""
    wheels = {wheel.dist: wheel for wheel in map(Wheel, sorted(folder.glob("*.whl")))}
    sdists = {path.name.rpartition("-")[0].replace("_", "-"): path for path in sorted(folder.glob("*.tar.gz"))}
    return Build(workspace, folder, wheels, sdists)
