"""The lock: which distribution, in which version, each name of a stack means, and what its own code is."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from ..distributions import core_version
from ..errors import PluginError, StackError
from ..plugins import Plugin
from ..registry import Registry
from .file import StackFile
from .loaded import Stack, StackLayer
from .local import digests, distribution_of, is_beside
from .making import is_own, split_provider
from .problems import StackProblem

VERSION = 1
"""Of the form of the lock file."""

_GROUPS = ("models", "middleware", "bundles", "own")
_HEAD = "# Written by `agent-express stack lock`: what the stack was made of. Not for editing.\n"
_DO = "run `agent-express stack lock`"


@dataclass(frozen=True, slots=True)
class Lock:
    """What a stack is made of.

    Attributes:
        core: "agent-express==0.1.0".
        plugins: By group, the distribution and version of each name; in the group "own" those of modules that are
            used as own code and were installed.
        files: The digest of each file of own code, by its path from the stack file.
    """

    core: str = ""
    plugins: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, Mapping[str, str]])
    files: Mapping[str, str] = field(default_factory=dict[str, str])

    def text(self) -> str:
        """The lock file."""
        lines = [_HEAD, f"version = {VERSION}", f"core = {_quoted(self.core)}"]
        for title, table in [*((group, self.plugins.get(group, {})) for group in _GROUPS), ("files", self.files)]:
            if table:
                lines += ["", f"[{title}]", *(f"{_quoted(key)} = {_quoted(table[key])}" for key in sorted(table))]
        return "\n".join(lines) + "\n"


def lock(stack: Stack) -> str:
    """Write down what *stack* is made of: the text of its lock file.

    It covers what the stack names under any of its profiles, as far as that is installed, and what its bundles bring
    under the profile that was applied.
    """
    return _now(stack.file, stack.path, stack.registry, stack.layers).text()


def lock_path(stack_path: Path) -> Path:
    """Where the lock of a stack file lies: beside it, "agent.lock" of "agent.toml" and of "pyproject.toml"."""
    name = "agent.lock" if stack_path.name == "pyproject.toml" else f"{stack_path.stem}.lock"
    return stack_path.with_name(name)


def drift(stack: Stack) -> list[str]:
    """Say what has changed since *stack* was locked; empty where nothing has."""
    return _drift(stack.path, _now(stack.file, stack.path, stack.registry, stack.layers))


def refuse_drift(file: StackFile, path: Path, registry: Registry, layers: Sequence[StackLayer] = ()) -> None:
    """Refuse a stack that is not what its lock says; without *layers* nothing has been imported yet.

    Raises:
        StackError: What has changed, all of it.
    """
    changed = _drift(path, _now(file, path, registry, layers))
    if changed:
        raise StackError(lock_path(path), [StackProblem(each) for each in changed])


def _drift(path: Path, now: Lock) -> list[str]:
    where = lock_path(path)
    try:
        held = _read(where)
    except FileNotFoundError:
        return [f"there is no {where.name} beside {path.name}: {_DO}"]
    except (OSError, ValueError) as error:
        return [f"{where.name} cannot be read: {error}: {_DO}"]
    return list(_differences(held, now))


def _differences(held: Lock, now: Lock) -> Iterator[str]:
    if held.core != now.core:
        yield f"locked with {held.core}, installed is {now.core}"
    for group, names in now.plugins.items():
        locked = held.plugins.get(group, {})
        for name, version in names.items():
            if name not in locked:
                yield f"{name} ({version}) is not in the lock: {_DO}"
            elif locked[name] != version:
                yield f"{name} is locked as {locked[name]}, installed is {version}"
    for file, digest in now.files.items():
        if file not in held.files:
            yield f"{file} is not in the lock: {_DO}"
        elif held.files[file] != digest:
            yield f"{file} has changed since it was locked"
    used = {file.partition("/")[0] for file in now.files}
    for file in held.files:
        if file not in now.files and file.partition("/")[0] in used:
            yield f"{file} is in the lock and not there any more"


def _now(file: StackFile, path: Path, registry: Registry, layers: Sequence[StackLayer]) -> Lock:
    """What the stack is made of as things are."""
    known = registry.plugins()
    plugins: dict[str, dict[str, str]] = {group: {} for group in _GROUPS}
    modules: dict[str, None] = {}
    for group, text in file.mentions:
        if group == "models":
            text = split_provider(text, known)[0]
        if group in ("tools", "settings") or is_own(text, group, known):
            module = text.partition(":")[0].partition(".")[0]
            if group != "settings" or is_beside(module, path.parent):
                modules[module] = None
            continue
        try:
            plugins[group][text] = _version(registry.find(text, group))
        except PluginError:  # of another profile, and not installed
            continue
    for layer in layers:
        if layer.bundle and layer.plugin is not None:
            plugins["middleware"].setdefault(layer.plugin.name, _version(layer.plugin))
    files: dict[str, str] = {}
    for module in modules:
        installed = distribution_of(module, path.parent)
        if installed:
            plugins["own"][module] = installed
        else:
            files |= digests(module, path.parent)
    return Lock(f"agent-express=={core_version()}", plugins, files)


def _version(plugin: Plugin) -> str:
    return f"{plugin.distribution}=={plugin.version}"


def _read(where: Path) -> Lock:
    data = tomllib.loads(where.read_text(encoding="utf-8"))
    if data.get("version") != VERSION:
        raise ValueError(f"it is of version {data.get('version')!r}, expected {VERSION}")
    return Lock(str(data.get("core", "")), {group: _texts(data, group) for group in _GROUPS}, _texts(data, "files"))


def _texts(data: Mapping[str, Any], key: str) -> dict[str, str]:
    held: Any = data.get(key)
    table = cast("dict[str, Any]", held) if isinstance(held, dict) else {}
    return {name: value for name, value in table.items() if isinstance(value, str)}


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
