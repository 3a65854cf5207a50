"""Whether what is installed from a folder still is what lies in the folder."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse
from urllib.request import url2pathname

from agent_express.plugins import Plugin
from agent_express.registry import Registry

from ..hosting.checks import Check

PREFIX = "agent_express."


def check(registry: Registry) -> Iterator[Check]:
    """Compare editable installs with the pyproject.toml of their folders."""
    by_distribution: dict[str, list[Plugin]] = {}
    for plugin in registry.plugins():
        by_distribution.setdefault(plugin.distribution, []).append(plugin)
    for name, plugins in by_distribution.items():
        origin = registry.provenance(plugins[0])
        if origin.origin == "editable":
            yield from _compared(name, origin.version, _folder(origin.location), plugins)


def _folder(url: str) -> Path:
    parts = urlparse(url)
    return Path(url2pathname(unquote(parts.path))) if parts.scheme == "file" else Path(url)


def _compared(name: str, version: str, folder: Path, plugins: list[Plugin]) -> Iterator[Check]:
    title, again = f"editable {name}", f"pip install -e {folder}"
    if not folder.is_dir():
        yield Check(title, "fail", f"its folder {folder} is gone", f"pip install {name}")
        return
    try:
        project: dict[str, Any] = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    except (OSError, ValueError, KeyError):
        return  # built by other means, or of a form that its own builder reads
    if "version" in project and project["version"] != version:
        yield Check(title, "warn", f"installed as {version}, its folder says {project['version']}", again)
    groups: dict[str, dict[str, str]] = project.get("entry-points", {})
    written = {
        (group.removeprefix(PREFIX), entry, target.replace(" ", ""))
        for group, entries in groups.items()
        if group.startswith(PREFIX)
        for entry, target in entries.items()
    }
    installed = {(plugin.group, plugin.name, plugin.target) for plugin in plugins}
    stale = sorted({entry for _, entry, _ in written ^ installed})
    if stale:
        yield Check(title, "warn", f"its folder publishes other plugins than are installed: {', '.join(stale)}", again)
