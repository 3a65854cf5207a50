"""The packages of a checkout, as their `pyproject.toml` describes them."""

from __future__ import annotations

import shutil
import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from releasing.commands import run

CORE = "agent-express"
"""The distribution of the framework; those beside it are named after it."""

RIM = frozenset({"cli", "conformance", "deep"})
"""The areas that put others together: they may import and need any package. Every other area needs core alone."""


def is_sibling(dist: str) -> bool:
    """Whether a distribution of this name is one of this repository's."""
    return dist == CORE or dist.startswith(f"{CORE}-")


@dataclass(frozen=True)
class Package:
    """A folder in `packages/`."""

    folder: Path

    @property
    def area(self) -> str:
        """The name of the folder."""
        return self.folder.name

    @cached_property
    def pyproject(self) -> dict[str, Any]:
        """Its `pyproject.toml`, parsed."""
        return tomllib.loads((self.folder / "pyproject.toml").read_text(encoding="utf-8"))

    @property
    def dist(self) -> str:
        """The name it is installed by."""
        return str(self.pyproject["project"]["name"])

    @property
    def version(self) -> str:
        """The version it says it has."""
        return str(self.pyproject["project"]["version"])

    @property
    def module(self) -> str:
        """The name it is imported by."""
        return self.dist.replace("-", "_")

    @property
    def source(self) -> Path:
        """The folder of its modules."""
        return self.folder / "src" / self.module


@dataclass(frozen=True)
class Workspace:
    """A checkout, of this repository or of another that is laid out like it."""

    root: Path

    @cached_property
    def packages(self) -> dict[str, Package]:
        """Distribution -> package."""
        found = [Package(path.parent) for path in sorted(self.root.glob("packages/*/pyproject.toml"))]
        return {package.dist: package for package in found}

    @property
    def core(self) -> Package:
        """The package of the framework itself."""
        return self.packages[CORE]

    def git(self, *arguments: str) -> str:
        """Run git here.

        Raises:
            CommandError: It failed.
        """
        return run("git", *arguments, cwd=self.root)

    @cached_property
    def files(self) -> frozenset[Path]:
        """Every file that git knows or would take, on disk."""
        listed = self.git("ls-files", "-z", "--cached", "--others", "--exclude-standard")
        return frozenset(path for name in listed.split("\0") if name and (path := self.root / name).is_file())

    def copy_to(self, folder: Path) -> Workspace:
        """Copy the files that git knows or would take, and nothing else, into *folder*."""
        for path in sorted(self.files):
            copy = folder / path.relative_to(self.root)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copy)
        return Workspace(folder)


HERE = Workspace(Path(__file__).resolve().parents[2])
"""The checkout that this file stands in."""
