"""Fresh environments that hold wheels and what these declare. Nothing is downloaded: third-party packages come pinned
by the lock from uv's cache, which `uv sync` has filled, and the packages of this repository from the wheels built.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from releasing.builds import Build
from releasing.commands import run, uv
from releasing.wheels import Wheel

INSIDE = Path(__file__).with_name("inside.py")


@dataclass(frozen=True)
class Environment:
    """A virtual environment in *folder*."""

    folder: Path

    @property
    def python(self) -> Path:
        """Its Python."""
        return self.command("python")

    def command(self, name: str) -> Path:
        """Where a command of this name is, if it is installed."""
        return self.folder / (f"Scripts/{name}.exe" if os.name == "nt" else f"bin/{name}")

    def pip(self, *arguments: str | Path) -> str:
        """Run `uv pip` for it.

        Raises:
            CommandError: It failed.
        """
        command, *others = arguments
        return run(uv(), "pip", command, "--offline", "--python", self.python, *others, cwd=self.folder)

    def look(self, *dists: str) -> Inside:
        """Look at it from inside, and import *dists* and all their entry points.

        Raises:
            CommandError: Its Python does not run.
        """
        told: dict[str, Any] = json.loads(run(self.python, "-I", INSIDE, *dists, cwd=self.folder))
        return Inside(**told)


@dataclass(frozen=True)
class Inside:
    """What an environment's own Python says.

    Attributes:
        installed: Each distribution, by its normalised name, and the texts of its Requires-Dist.
        places: Each module that was imported, and the file it came from.
        failures: What went wrong: sentences.
    """

    installed: dict[str, list[str]]
    places: dict[str, str]
    failures: list[str]


def bare(folder: Path, wheels: Iterable[Wheel]) -> Environment:
    """Make an environment in *folder* that holds *wheels* and not what these need.

    Raises:
        CommandError: It cannot be made.
    """
    run(uv(), "venv", "--quiet", "--offline", "--python", sys.executable, folder, cwd=folder.parent)
    environment = Environment(folder)
    environment.pip("install", "--quiet", "--no-deps", *[wheel.path for wheel in wheels])
    return environment


def install(build: Build, dists: Sequence[str], folder: Path) -> Environment:
    """Make an environment in *folder* that holds the wheels of *dists* and what they declare.

    The wheels are found by name among those built, so that a range which does not fit stops the installation.

    Raises:
        CommandError: It cannot be made: the wheels do not fit each other, or uv's cache lacks something.
    """
    chosen = [word for dist in dists for word in ("--package", dist)]
    pinned = ["--offline", "--frozen", "--no-default-groups", "--no-install-workspace"]
    place = {"UV_PROJECT_ENVIRONMENT": str(folder)}
    run(uv(), "sync", "--quiet", "--python", sys.executable, *pinned, *chosen, cwd=build.workspace.root, env=place)
    environment = Environment(folder)
    exact = [f"{dist}=={build.wheels[dist].version}" for dist in dists]
    environment.pip("install", "--quiet", "--no-index", "--find-links", build.folder, *exact)
    return environment
