"""Whether the keys are set that providers read. No value is ever shown."""

from __future__ import annotations

import os
from collections.abc import Iterator

from agent_express.errors import PluginError
from agent_express.plugins import Plugin
from agent_express.registry import Registry

from ..hosting.checks import Check


def check(registry: Registry) -> Iterator[Check]:
    """Look for the variables that providers say they read and that hold a key."""
    readers: dict[str, list[str]] = {}
    for plugin in registry.plugins("models"):
        for name in _keys(registry, plugin) if plugin.usable else ():
            readers.setdefault(name, []).append(plugin.name)
    for name, providers in readers.items():
        told = f"for models of {', '.join(providers)}"
        if os.environ.get(name, "").strip():
            yield Check(f"key {name}", "ok", f"it is set, {told}")
        else:
            yield Check(f"key {name}", "warn", f"it is not set, {told}", f"export {name}=...")


def _keys(registry: Registry, plugin: Plugin) -> list[str]:
    try:
        entry = registry.manifest(plugin)
    except PluginError:
        return []
    return [name for name in entry.environment if name.endswith(("_KEY", "_TOKEN"))] if entry is not None else []
