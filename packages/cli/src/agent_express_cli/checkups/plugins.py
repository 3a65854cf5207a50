"""Whether each plugin can be imported, and is the only one of its name."""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Iterator

from agent_express.errors import PluginError
from agent_express.plugins import Plugin, PluginState
from agent_express.registry import Registry

from ..hosting.checks import Check, Status
from ..plugins.list import try_all


def check(registry: Registry) -> Iterator[Check]:
    """Import every plugin that may be used, and tell of those that cannot be."""
    states: Counter[PluginState] = Counter()
    try_all(registry)
    for plugin in registry.plugins():
        states[plugin.state] += 1
        if not plugin.usable and plugin.state is not PluginState.BLOCKED:
            yield _wrong(registry, plugin)
    yield from _manifests(registry)
    told = ", ".join(f"{count} {state.value}" for state, count in states.items()) or "none is installed"
    yield Check("plugins", "ok", told)


def _wrong(registry: Registry, plugin: Plugin) -> Check:
    failure = registry.failure(plugin)
    details = "".join(traceback.format_exception(failure)) if failure is not None else ""
    status: Status = "warn" if plugin.state is PluginState.AMBIGUOUS else "fail"
    return Check(f"plugin {plugin.qualified}", status, plugin.reason, details=details.rstrip())


def _manifests(registry: Registry) -> Iterator[Check]:
    """Tell of distributions whose plugins are not described; one that is incompatible was told of already."""
    told: set[str] = set()
    for plugin in registry.plugins():
        if plugin.distribution in told or plugin.state is PluginState.INCOMPATIBLE:
            continue
        try:
            if registry.manifest(plugin) is not None:
                continue
        except PluginError as error:
            told.add(plugin.distribution)
            yield Check(f"manifest of {plugin.distribution}", "fail", str(error))
            continue
        told.add(plugin.distribution)
        yield Check(
            f"manifest of {plugin.distribution}",
            "warn",
            f"it does not describe {plugin.name}",
            f"its author writes it: agent-express plugins manifest {plugin.distribution}",
        )
