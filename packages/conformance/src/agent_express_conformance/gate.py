"""Whether a plugin may be checked at all: of one that may not be used nothing is imported, by no process."""

from __future__ import annotations

from agent_express.plugins import Plugin, PluginState
from agent_express.registry import Registry


def permitted(name: str, group: str, registry: Registry) -> Plugin:
    """The plugin called *name*; one whose import has failed before is found as well, for that is what checks report.

    Raises:
        PluginError: There is none of that name, several have it, the policy forbids it, or it was built for another
            core or contract: what the registry says to everybody else.
    """
    plugin = registry.find(name, group)
    if not plugin.usable and plugin.state is not PluginState.FAILED:
        registry.load(plugin)  # it refuses before it imports, in its own words
    return plugin
