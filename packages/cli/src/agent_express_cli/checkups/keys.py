"""Whether the keys are set that providers read. No value is ever shown."""

from __future__ import annotations

import os
from collections.abc import Iterator

from agent_express.errors import PluginError
from agent_express.registry import Plugin, Registry

from ..checks import Check


def check(registry: Registry) -> Iterator[Check]:
    """Look for the variables that providers say they read and that hold a key."""
    for plugin in registry.plugins("models"):
        for name in _keys(registry, plugin) if plugin.usable else ():
            title = f"key of {plugin.name}"
            if os.environ.get(name, "").strip():
                yield Check(title, "ok", f"{name} is set")
            else:
                yield Check(title, "warn", f"{name} is not set", f"export {name}=..., to use its models")


def _keys(registry: Registry, plugin: Plugin) -> list[str]:
    try:
        entry = registry.manifest(plugin)
    except PluginError:
        return []
    return [name for name in entry.environment if name.endswith(("_KEY", "_TOKEN"))] if entry is not None else []
