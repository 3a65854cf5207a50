"""`agent-express plugins manifest`: agent_express.json, written from the code, or compared with it."""

from __future__ import annotations

import json
import sys
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import Any, cast

import pluggy

from agent_express.describe import describe_package, differences
from agent_express.manifest import FILE
from agent_express.plugins import GROUPS
from agent_express.references import import_attr

from ..exits import CommandError, Exit
from ..hosting.hookspecs import PROJECT
from ..hosting.isolation import fit, implemented, one_line
from ..local import find_modules_in
from ..page import Page

PREFIX = "agent_express."


@dataclass(frozen=True, slots=True)
class Package:
    """What a manifest is written for.

    Attributes:
        name: The distribution.
        entry_points: By group, names and targets.
        is_source: Whether it lies where its author writes it.
    """

    name: str
    entry_points: Mapping[str, Mapping[str, str]]
    is_source: bool

    @property
    def module(self) -> str:
        """The import package that holds the manifest."""
        targets = [target for entries in self.entry_points.values() for target in entries.values()]
        return targets[0].partition(":")[0].partition(".")[0]


def write_manifests(page: Page, packages: Sequence[str], *, check: bool) -> Exit:
    """Write the manifest of each of *packages*, or compare it with the code; see `write_manifest`."""
    codes = [write_manifest(page, where, check=check) for where in packages]
    return max(codes)


def write_manifest(page: Page, where: str, *, check: bool) -> Exit:
    """Write the manifest of the package *where*, or compare it with the code: then `Exit.FAILED` where they differ.

    Raises:
        CommandError: There is no such package, it publishes nothing, or it is installed as a wheel.
        PluginError: Its code, or the manifest as it is, does not allow it.
    """
    package = read_package(where)
    path = _place(package)
    before = path.read_text(encoding="utf-8") if path.is_file() else ""
    try:
        written: Any = json.loads(before) if before else {}
    except ValueError as error:
        raise CommandError(f"{path} is no JSON: {error}; mend it, or delete it to begin anew") from error
    real = describe_package(package.entry_points, written)
    for name in package.entry_points.get("hooks", {}):
        real["entries"][name]["implements"] = _implements(name, package.entry_points["hooks"][name])
    if check:
        return _compare(page, package, path, written, real)
    if not package.is_source:
        raise CommandError(
            f"{package.name} is installed as a wheel: write it in the folder of its sources, or compare with --check"
        )
    text = f"{json.dumps(real, indent=2, ensure_ascii=False)}\n"
    if text != before:
        path.write_text(text, encoding="utf-8")
    if page.as_json:
        page.object({"type": "manifest", "path": str(path), "changed": text != before})
    else:
        page.line(f"{path} {'is written' if text != before else 'is as it was'}")
    return Exit.OK


def read_package(where: str) -> Package:
    """The package in a folder with a pyproject.toml, or the installed distribution of that name.

    Raises:
        CommandError: There is neither, or it publishes nothing.
    """
    folder = Path(where)
    package = _of_folder(folder) if (folder / "pyproject.toml").is_file() else _installed(where)
    if not package.entry_points:
        raise CommandError(f'{package.name} publishes nothing: its pyproject.toml has no entry points "{PREFIX}..."')
    return package


def _of_folder(folder: Path) -> Package:
    try:
        project: Mapping[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    except (ValueError, KeyError) as error:
        raise CommandError(f"{folder / 'pyproject.toml'} cannot be read: {one_line(error)}") from error
    groups: Mapping[str, Mapping[str, str]] = project.get("entry-points", {})
    found = {name.removeprefix(PREFIX): dict(entries) for name, entries in groups.items() if name.startswith(PREFIX)}
    for source in (folder / "src", folder):
        if source.is_dir():
            find_modules_in(source.resolve())
    return Package(str(project.get("name", folder.name)), _known(found), is_source=True)


def _installed(name: str) -> Package:
    try:
        found = distribution(name)
    except (PackageNotFoundError, ValueError):
        raise CommandError(
            f"{name!r} is neither a folder with a pyproject.toml nor an installed distribution; in its folder: "
            "agent-express plugins manifest ."
        ) from None
    groups: dict[str, dict[str, str]] = {}
    for entry in found.entry_points:
        if entry.group.startswith(PREFIX):
            groups.setdefault(entry.group.removeprefix(PREFIX), {})[entry.name] = entry.value
    return Package(found.name, _known(groups), is_source=_is_editable(found.read_text("direct_url.json")))


def _known(groups: Mapping[str, Mapping[str, str]]) -> dict[str, Mapping[str, str]]:
    """*groups* in the order of the registry, without a name that is no group."""
    wrong = sorted(set(groups) - set(GROUPS))
    if wrong:
        raise CommandError(f"{PREFIX}{wrong[0]} is no group of entry points; there are: {', '.join(GROUPS)}")
    return {group: groups[group] for group in GROUPS if groups.get(group)}


def _is_editable(direct_url: str | None) -> bool:
    origin: Any = json.loads(direct_url) if direct_url else {}
    return bool(origin.get("dir_info", {}).get("editable"))


def _place(package: Package) -> Path:
    spec = find_spec(package.module)
    if spec is None or spec.origin is None:
        raise CommandError(
            f"{package.name}: there is no module {package.module!r}; looked in {sys.path[0]} and further"
        )
    return Path(spec.origin).with_name(FILE)


def _implements(name: str, target: str) -> list[str]:
    """The hooks of the command line that a plugin implements."""
    try:
        return implemented(fit(pluggy.PluginManager(PROJECT), import_attr(target)))
    except Exception as error:
        raise CommandError(f"{name}: {one_line(error)}") from error


def _differing(said: Mapping[str, Any], real: Mapping[str, Any]) -> list[str]:
    """How an entry differs; `implements` is of the command line alone, and core does not know it."""
    plain = [{key: value for key, value in entry.items() if key != "implements"} for entry in (said, real)]
    hooks = [json.dumps(entry.get("implements", [])) for entry in (said, real)]
    differ = [] if hooks[0] == hooks[1] else [f"implements: the manifest says {hooks[0]}, the code {hooks[1]}"]
    return [*differences(*plain), *differ]


def _compare(page: Page, package: Package, path: Path, written: Any, real: Mapping[str, Any]) -> Exit:
    said = cast("Mapping[str, Mapping[str, Any]]", written.get("entries", {}))
    found: list[str] = [] if written else [f"there is no {path}"]
    for name, entry in real["entries"].items():
        if name in said:
            found += [f"{name}: {each}" for each in _differing(said[name], entry)]
        elif written:
            found.append(f"{name}: the code has it, the manifest does not")
    found += [f"{name}: the manifest has it, the code does not" for name in said if name not in real["entries"]]
    for each in found:
        if page.as_json:
            page.object({"type": "difference", "distribution": package.name, "message": each})
        else:
            page.line(f"{package.name}: {each}")
    if found and not page.as_json:
        page.note(f"agent-express plugins manifest {package.name} writes it anew")
    return Exit.FAILED if found else Exit.OK
