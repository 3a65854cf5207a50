"""`agent-express plugins list`: one row for each plugin."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

from agent_express.errors import PluginError
from agent_express.plugins import Plugin
from agent_express.registry import Registry, registry

from ..page import Page

HEAD = ("name", "group", "distribution", "version", "state", "summary")


def show_list(page: Page, group: str | None, state: str | None, *, everything: bool, load: bool) -> None:
    """List what is installed.

    Args:
        page: Takes the list.
        group: Only this group.
        state: Only plugins in this state; whether one fails is known once it was imported.
        everything: Whether plugins of the command line are listed where no group is asked for.
        load: Whether each is imported, to see whether it can be.
    """
    installed = registry()
    if load or state in ("failed", "loaded"):
        try_all(installed, group)
    shown = [
        plugin
        for plugin in installed.plugins(group)
        if state in (None, plugin.state.value) and (everything or group or state or plugin.group != "hooks")
    ]
    if page.as_json:
        for plugin in shown:
            page.object(plugin_object(installed, plugin))
        return
    if not shown:
        page.note(f"no plugin {_which(group, state)}is installed; a provider, say: pip install agent-express-openai")
        return
    page.table(HEAD, [_row(installed, plugin) for plugin in shown])


def try_all(installed: Registry, group: str | None = None) -> None:
    """Import each plugin that may be used; those that cannot be are in the state "failed" from then on."""
    for plugin in installed.plugins(group):
        if plugin.usable:
            with suppress(PluginError):
                installed.load(plugin)


def plugin_object(installed: Registry, plugin: Plugin) -> dict[str, Any]:
    """A plugin as a JSON object."""
    return {
        "type": "plugin",
        "name": plugin.name,
        "group": plugin.group,
        "distribution": plugin.distribution,
        "version": plugin.version,
        "state": plugin.state.value,
        "reason": plugin.reason or unreadable(installed, plugin),
        "summary": summary_of(installed, plugin),
        "target": plugin.target,
    }


def summary_of(installed: Registry, plugin: Plugin) -> str:
    """What its manifest says of it in one sentence; "" where it has none that can be read."""
    try:
        entry = installed.manifest(plugin)
    except PluginError:
        return ""
    return entry.summary if entry is not None else ""


def unreadable(installed: Registry, plugin: Plugin) -> str:
    """Why its manifest cannot be read; "" where it can be."""
    try:
        installed.manifest(plugin)
    except PluginError as error:
        return str(error)
    return ""


def _row(installed: Registry, plugin: Plugin) -> tuple[str, ...]:
    last = plugin.reason if not plugin.usable else unreadable(installed, plugin) or summary_of(installed, plugin)
    return plugin.name, plugin.group, plugin.distribution, plugin.version, plugin.state.value, last


def _which(group: str | None, state: str | None) -> str:
    parts = [f"of the group {group} " if group else "", f"in the state {state} " if state else ""]
    return "".join(parts)
