"""What stands in a wheel."""

from __future__ import annotations

import configparser
import json
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from email.message import Message
from email.parser import Parser
from functools import cached_property
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement

from releasing.workspace import is_sibling

MANIFEST = "agent_express.json"


@dataclass(frozen=True)
class Wheel:
    """A wheel in a file."""

    path: Path

    @cached_property
    def names(self) -> frozenset[str]:
        """The files in it."""
        with zipfile.ZipFile(self.path) as archive:
            return frozenset(name for name in archive.namelist() if not name.endswith("/"))

    @property
    def contents(self) -> frozenset[str]:
        """The files in it that are installed as modules or beside them."""
        return frozenset(name for name in self.names if ".dist-info/" not in name)

    def read(self, name: str) -> str:
        """Read a text file in it.

        Raises:
            KeyError: There is none of this name.
        """
        with zipfile.ZipFile(self.path) as archive:
            return archive.read(name).decode("utf-8")

    def info(self, name: str) -> str:
        """Read a file of its metadata; "" where there is none."""
        found = [path for path in self.names if path.endswith(f".dist-info/{name}")]
        return self.read(found[0]) if found else ""

    @cached_property
    def metadata(self) -> Message:
        """Its METADATA."""
        return Parser().parsestr(self.info("METADATA"))

    @property
    def dist(self) -> str:
        """The name it is installed by."""
        return str(self.metadata["Name"])

    @property
    def version(self) -> str:
        """The version it has."""
        return str(self.metadata["Version"])

    @property
    def module(self) -> str:
        """The name it is imported by."""
        return self.dist.replace("-", "_")

    @cached_property
    def requires(self) -> tuple[Requirement, ...]:
        """What it needs on this Python."""
        return requirements(self.metadata.get_all("Requires-Dist", []))

    @property
    def siblings(self) -> tuple[Requirement, ...]:
        """What it needs of this repository."""
        return tuple(need for need in self.requires if is_sibling(need.name))

    @cached_property
    def entry_points(self) -> dict[str, dict[str, str]]:
        """Group -> name -> target."""
        parser = configparser.ConfigParser(delimiters=("=",), interpolation=None)
        parser.optionxform = str  # type: ignore[assignment, method-assign]  # names keep their capitals
        parser.read_string(self.info("entry_points.txt"))
        return {group: dict(parser[group]) for group in parser.sections()}

    @property
    def manifest(self) -> Mapping[str, Any] | None:
        """Its manifest; None where there is none.

        Raises:
            ValueError: It is not JSON.
        """
        name = f"{self.module}/{MANIFEST}"
        return dict(json.loads(self.read(name))) if name in self.names else None


def requirements(texts: list[str], extras: frozenset[str] = frozenset()) -> tuple[Requirement, ...]:
    """Parse what stands in Requires-Dist, and leave out what is not for this Python or for other *extras*."""
    parsed = [Requirement(text) for text in texts]
    asked = [{"extra": extra} for extra in ("", *extras)]
    return tuple(need for need in parsed if need.marker is None or any(need.marker.evaluate(one) for one in asked))
