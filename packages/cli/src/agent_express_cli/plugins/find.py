"""A plugin by its name, whatever group it is of."""

from __future__ import annotations

import difflib

from agent_express.plugins import GROUPS, Plugin
from agent_express.registry import Registry

from ..exits import CommandError


def find_plugin(installed: Registry, name: str, group: str | None = None) -> Plugin:
    """The plugin *name*, or "distribution:name".

    Args:
        installed: Where it is looked for.
        name: As the user wrote it.
        group: Only plugins of this group.

    Raises:
        CommandError: Plugins of several groups have that name.
        PluginError: There is none, or several distributions offer it.
    """
    if group is not None:
        return installed.find(name, group)
    short = name.rpartition(":")[2]
    plugins = installed.plugins()
    having = [each for each in GROUPS if any(plugin.group == each and plugin.name == short for plugin in plugins)]
    if len(having) > 1:
        raise CommandError(f"{name!r} is in several groups, say which with --group: {', '.join(having)}")
    if having:
        return installed.find(name, having[0])
    near = difflib.get_close_matches(short, [plugin.name for plugin in plugins], 1)
    nearest = next((plugin.group for plugin in plugins if near and plugin.name == near[0]), "middleware")
    return installed.find(name, nearest)
