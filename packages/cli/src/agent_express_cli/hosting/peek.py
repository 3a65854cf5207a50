"""What the installed packages publish, read from their files alone: no core, no `importlib.metadata`, no plugin.

`--help` and the completion of a shell cannot wait for the registry, whose import takes longer than they may. What is
read here is only shown: whoever uses a plugin goes through the registry, which knows the policy and the versions.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

CONTRACT = 1
"""The form of the manifest that is read here, as `agent_express.manifest.CONTRACT`."""

PREFIX = "agent_express."
MANIFEST = "agent_express.json"

_DISTRIBUTION = re.compile(r"(?P<name>.+?)(?:-[^-]+)*\.(?:dist|egg)-info")


class Published(NamedTuple):
    """An entry point of one of our groups.

    Attributes:
        name: "guards.cost-cap".
        group: "middleware", without "agent_express.".
        target: "agent_express_guards.cost_cap:CostCap".
        distribution: As its folder has it, normalised: "agent-express-guards".
    """

    name: str
    group: str
    target: str
    distribution: str


class Declared(NamedTuple):
    """A command that a plugin says it has.

    Attributes:
        name: What is typed.
        summary: One line of help.
        plugin: The plugin, as "distribution:name".
    """

    name: str
    summary: str
    plugin: str


def published(path: Sequence[str] | None = None) -> list[Published]:
    """List what installed packages publish, in the order of *path*; of two packages of one name the first counts."""
    found: list[Published] = []
    seen: set[str] = set()
    for folder in dict.fromkeys(sys.path if path is None else path):
        for info, name in _distributions(folder):
            if name not in seen:
                seen.add(name)
                found += _entry_points(info, name)
    return found


def declared_commands(entries: Iterable[Published]) -> list[Declared]:
    """List the commands that the manifests of *entries* declare.

    A plugin of the group "hooks" declares them as `"commands": [{"name": "audit", "summary": "Say who did what."}]`.
    """
    return [
        Declared(str(each["name"]), str(each.get("summary", "")), f"{entry.distribution}:{entry.name}")
        for entry in entries
        if entry.group == "hooks"
        for each in _commands(entry)
        if isinstance(each, dict) and each.get("name")
    ]


def normal(distribution: str) -> str:
    """The name of a distribution as packaging compares it."""
    return re.sub(r"[-_.]+", "-", distribution).lower()


def _distributions(folder: str) -> Iterator[tuple[str, str]]:
    """(folder of metadata, normalised name of the distribution)."""
    try:
        names = sorted(os.listdir(folder or "."))  # noqa: PTH208 - paths as objects take twice the time
    except OSError:
        return
    for name in names:
        if name.endswith(("-info", "-INFO")) and (match := _DISTRIBUTION.fullmatch(name)):
            yield f"{folder or '.'}/{name}", normal(match["name"])


def _entry_points(info: str, distribution: str) -> Iterator[Published]:
    try:
        text = Path(info, "entry_points.txt").read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return
    group = ""
    for line in text.splitlines() if f"[{PREFIX}" in text else ():
        line = line.strip()
        if line.startswith("["):
            group = line.strip("[] ")
        elif group.startswith(PREFIX) and "=" in line and line[0] not in "#;":
            name, _, target = line.partition("=")
            target = target.partition("[")[0].replace(" ", "")
            yield Published(name.strip(), group.removeprefix(PREFIX), target, distribution)


def _commands(entry: Published) -> list[Any]:
    for folder in _folders(entry.target.partition(":")[0]):
        try:
            manifest = json.loads(Path(folder, MANIFEST).read_text(encoding="utf-8"))
            if manifest["contract"] == CONTRACT:
                commands: object = manifest["entries"][entry.name]["commands"]
                return commands if isinstance(commands, list) else []
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            continue
    return []


def _folders(module: str) -> Iterator[str]:
    """Where the manifest of *module* may lie: beside its top-level package, or further in where that is a namespace."""
    top, *inner = module.split(".")
    try:
        spec = find_spec(top)
    except (ImportError, ValueError, AttributeError):
        return
    for folder in (spec and spec.submodule_search_locations) or ():
        yield folder
        for part in inner:
            folder = f"{folder}/{part}"
            yield folder
