"""What is installed, as the packaging metadata says it: the one place that reads it. Nothing is imported.

`Distribution.origin`, which tells an editable install from a wheel, exists from Python 3.13 on; before that the
backport of the same module is used.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

from .plugins import normal

if sys.version_info >= (3, 13):
    import importlib.metadata as metadata
else:
    import importlib_metadata as metadata

PREFIX = "agent_express."
_HEADER = re.compile(r"^(Name|Version|Requires-Dist):[ \t]*(.*?)[ \t]*$", re.MULTILINE)
_REQUIREMENT = re.compile(r"^([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\])?\s*\(?([^;)]*)\)?\s*(?:;(.*))?$")


@dataclass(frozen=True, slots=True)
class Provenance:
    """Where a distribution comes from.

    Attributes:
        distribution: Its name.
        version: Its version.
        origin: "wheel" (or an sdist, from an index), "editable" (a folder, imported in place), "archive" (a file or a
            URL), "repository", "folder" (copied from one), or "unknown" (what its installer wrote cannot be read).
        location: The folder it is imported from, or the URL it came from.
    """

    distribution: str
    version: str
    origin: str
    location: str


@dataclass(frozen=True, slots=True)
class Requirement:
    """One line of what a distribution requires: `agent-express>=0.1,<0.2`."""

    name: str
    ranges: str

    def __str__(self) -> str:
        return f"{self.name}{self.ranges}"


class Installed:
    """One installed distribution.

    Attributes:
        name: Its name, as it writes it.
        key: Its name, as names are compared.
        version: Its version; "0" where the metadata lacks one.
        entries: Group, name and target of its entry points for this framework.
    """

    __slots__ = ("_dist", "_requires", "entries", "key", "name", "version")

    def __init__(self, dist: Any, entries: tuple[tuple[str, str, str], ...]) -> None:
        self._dist, self.entries = dist, entries
        head = _head(dist)  # parsing the whole of it as an e-mail takes twenty times as long
        self.name = next((value for header, value in head if header == "Name"), "unknown")
        self.version = next((value for header, value in head if header == "Version"), "0")
        self.key = normal(self.name)
        self._requires = [value for header, value in head if header == "Requires-Dist"]

    @property
    def siblings(self) -> tuple[Requirement, ...]:
        """What it requires of this framework's own packages, without an extra."""
        found = [_REQUIREMENT.match(line) for line in self._requires if normal(line[:13]) == "agent-express"]
        return tuple(
            Requirement(normal(match[1]), match[2].replace(" ", ""))
            for match in found
            if match and "extra" not in (match[3] or "")
        )

    @property
    def provenance(self) -> Provenance:
        """Where it comes from."""
        place = str(self._dist.locate_file(""))
        try:
            origin: Any = self._dist.origin
        except (OSError, ValueError):  # its direct_url.json is no JSON
            return Provenance(self.name, self.version, "unknown", place)
        if origin is None:
            return Provenance(self.name, self.version, "wheel", place)
        url = str(getattr(origin, "url", ""))
        if hasattr(origin, "vcs_info"):
            return Provenance(self.name, self.version, "repository", url)
        if hasattr(origin, "archive_info"):
            return Provenance(self.name, self.version, "archive", url)
        editable = bool(getattr(getattr(origin, "dir_info", None), "editable", False))
        return Provenance(self.name, self.version, "editable" if editable else "folder", url)

    def find(self, package: str, file: str, path: Sequence[str]) -> Path | None:
        """Find *file* in the folder of its top-level package, without importing that."""
        for folder in (str(self._dist.locate_file("")), *path):
            found = os.path.join(folder, package, file)  # noqa: PTH118 - for each plugin and folder; a Path is dear
            if os.path.isfile(found):  # noqa: PTH113
                return Path(found)
        return _by_finder(package, file)


def installed(path: Sequence[str]) -> Iterator[Installed]:
    """The distributions on *path* that publish something for this framework.

    Of two distributions of one name the first on the path counts, as it does for imports.
    """
    seen: set[str] = set()
    for dist in metadata.distributions(path=list(path)):
        text = _text(dist, "entry_points.txt")
        if PREFIX not in text:
            continue
        found = Installed(dist, tuple(_entries(text)))
        if found.key not in seen:
            seen.add(found.key)
            yield found


def core_version() -> str:
    """The version of this framework; "" where nobody installed it: then no range is checked."""
    try:
        return str(metadata.version("agent-express"))
    except metadata.PackageNotFoundError:
        return ""


def brought_by(module: str) -> str:
    """The distribution that a top-level module was installed with, "name==version"; "" where none was."""
    names = metadata.packages_distributions().get(module)
    return f"{names[0]}=={metadata.version(names[0])}" if names else ""


def _text(dist: Any, file: str) -> str:
    """A file of the metadata; "" where it cannot be read. One package in another encoding must not hide the rest."""
    try:
        return dist.read_text(file) or ""
    except UnicodeDecodeError as error:
        return error.object.decode("utf-8", "replace")
    except OSError:
        return ""


def _head(dist: Any) -> list[tuple[str, str]]:
    text = _text(dist, "METADATA") or _text(dist, "PKG-INFO")
    return _HEADER.findall(text.replace("\r\n", "\n").partition("\n\n")[0])


def _entries(text: str) -> Iterator[tuple[str, str, str]]:
    """The entry points of this framework: lines "name = module:attr" under "[agent_express.group]"."""
    group = ""
    for line in text.splitlines():
        line = line.strip()
        if line.startswith("["):
            group = line.strip("[] ")
        elif group.startswith(PREFIX) and line and line[0] not in "#;":
            name, equals, target = line.partition("=")
            if equals:
                yield group.removeprefix(PREFIX), name.strip(), target.partition("[")[0].strip()


def _by_finder(package: str, file: str) -> Path | None:
    """Ask the import system where *package* is; editable installs of some builders are known to it alone."""
    try:
        spec = find_spec(package)
    except (ImportError, ValueError, AttributeError):
        return None
    for folder in cast(Any, spec).submodule_search_locations or () if spec is not None else ():
        found = Path(folder, file)
        if found.is_file():
            return found
    return None
