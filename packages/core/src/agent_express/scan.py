"""One scan of what is installed, kept until a folder changes: plugins by their entry points, nothing imported."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any, TypeAlias, cast

from .distributions import Installed, core_version, installed
from .errors import ManifestError
from .manifest import CONTRACT, FILE, Manifest, ManifestEntry, load_manifest, parse_manifest
from .plugins import GROUPS, Plugin, PluginState, normal
from .versions import fits

Key: TypeAlias = tuple[str, str, str]
"""Group, name and distribution."""


@dataclass(frozen=True, slots=True)
class Found:
    """What one scan found.

    Attributes:
        plugins: By group, name and distribution; incompatible ones say so.
        offers: By distribution, normalised.
    """

    plugins: Mapping[Key, Plugin]
    offers: Mapping[str, Installed]


class Scan:
    """The plugins on a path.

    Args:
        path: Folders to look in; those of `sys.path`, as it is at the time, where it is left out.

    Attributes:
        count: How often it has looked.
    """

    def __init__(self, path: Sequence[str] | None = None) -> None:
        self._path = path
        self._seen: object = None
        self.count = 0
        self._found = Found(MappingProxyType({}), MappingProxyType({}))
        self._manifests: dict[tuple[str, str], _Written | None] = {}

    @property
    def path(self) -> Sequence[str]:
        """Where it looks."""
        return sys.path if self._path is None else self._path

    def found(self) -> Found:
        """What is there now: scanned anew where a folder of the path has changed since the last time."""
        now = [(folder, _changed(folder)) for folder in self.path]
        if now != self._seen:
            if self._seen is not None:
                importlib.invalidate_caches()
            self._manifests = {}
            self._found = self._scan()
            self._seen = now
            self.count += 1
        return self._found

    def manifest(self, plugin: Plugin) -> ManifestEntry | None:
        """What the package of *plugin* says of it; None where it has no manifest, or no entry in it.

        Raises:
            ManifestError: The manifest is there and cannot be read.
        """
        offer = self.found().offers.get(normal(plugin.distribution))
        written = self._written(offer, plugin.target) if offer is not None else None
        if written is None:
            return None
        if written.parsed is None:
            written.parsed = parse_manifest(written.data(), str(written.path))
        return written.parsed.entries.get(plugin.name)

    def manifest_path(self, plugin: Plugin) -> Path | None:
        """Where the manifest of its package lies."""
        offer = self.found().offers.get(normal(plugin.distribution))
        written = self._written(offer, plugin.target) if offer is not None else None
        return written.path if written is not None else None

    def _written(self, offer: Installed, target: str) -> _Written | None:
        key = (offer.key, package_of(target))
        held = self._manifests  # another thread may begin a new one
        if key not in held:
            path = offer.find(key[1], FILE, self.path)
            held[key] = _Written(path) if path is not None else None
        return held[key]

    # --- the scan -------------------------------------------------------------------------------

    def _scan(self) -> Found:
        offers = {offer.key: offer for offer in installed(self.path)}
        versions = {"agent-express": core_version(), **{name: offer.version for name, offer in offers.items()}}
        plugins = [plugin for offer in offers.values() for plugin in self._of(offer, versions)]
        ordered = sorted(plugins, key=lambda each: (GROUPS.index(each.group), each.name, each.distribution))
        return Found({(each.group, each.name, each.distribution): each for each in ordered}, offers)

    def _of(self, offer: Installed, versions: Mapping[str, str]) -> Iterator[Plugin]:
        name, version = offer.name, offer.version
        reason = ""
        for need in offer.siblings:
            have = versions.get(need.name, "")
            if have and not fits(have, need.ranges):
                reason = f"{name} {version} requires {need}, installed is {have}: pip install --upgrade {name}"
        contracts: dict[str, int] = {}
        for group, entry, target in offer.entries:
            if group not in GROUPS:
                continue
            package = package_of(target)
            if package not in contracts:
                contracts[package] = self._contract(offer, target)
            contract = contracts[package]
            why = reason or ("" if contract == CONTRACT else _other_contract(name, version, contract))
            state = PluginState.INCOMPATIBLE if why else PluginState.AVAILABLE
            yield Plugin(entry, group, target, name, version, state, why)

    def _contract(self, offer: Installed, target: str) -> int:
        """The contract that a package was built for; one without a manifest is taken to know this one."""
        written = self._written(offer, target)
        try:
            contract: Any = cast(Any, written.data())["contract"] if written is not None else CONTRACT
        except (ManifestError, TypeError, KeyError):
            return CONTRACT  # whoever reads the manifest is told what is wrong with it
        return contract if isinstance(contract, int) else CONTRACT


class _Written:
    """A manifest, read once and parsed when it is asked for: a list of plugins needs little of it."""

    __slots__ = ("_data", "parsed", "path")

    def __init__(self, path: Path) -> None:
        self.path = path
        self.parsed: Manifest | None = None
        self._data: object = None

    def data(self) -> object:
        if self._data is None:
            self._data = load_manifest(self.path)
        return self._data


def _other_contract(name: str, version: str, contract: int) -> str:
    do = f"pip install --upgrade {name}" if contract < CONTRACT else "pip install --upgrade agent-express"
    core = core_version()
    return f"{name} {version} was built for contract {contract}, agent-express {core} has contract {CONTRACT}: {do}"


def package_of(target: str) -> str:
    """The top-level package of "package.module:attr"."""
    return target.partition(":")[0].partition(".")[0]


def _changed(folder: str) -> int:
    try:
        return os.stat(folder or ".").st_mtime_ns  # noqa: PTH116 - a Path takes four times as long, for each folder
    except OSError:
        return -1
