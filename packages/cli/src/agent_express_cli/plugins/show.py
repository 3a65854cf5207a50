"""`agent-express plugins show`: all that is known of one plugin."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from agent_express.errors import ExpressError
from agent_express.manifest import ManifestEntry
from agent_express.plugins import Plugin
from agent_express.registry import Registry, registry

from ..page import Page
from .find import find_plugin
from .list import plugin_object
from .schema import settings_schema
from .settings_table import HEAD, settings_rows
from .usage import in_a_stack, in_python


def show_plugin(page: Page, name: str, group: str | None) -> None:
    """Show the plugin *name*.

    Raises:
        CommandError: Plugins of several groups have that name.
        PluginError: There is none, several distributions offer it, or its manifest cannot be read.
    """
    installed = registry()
    plugin = find_plugin(installed, name, group)
    entry = installed.manifest(plugin)
    schema, lacking = _schema(installed, plugin)
    plugin = find_plugin(installed, plugin.qualified, plugin.group)  # it may have been imported, and failed
    if page.as_json:
        page.object(_object(installed, plugin, entry, schema))
        return
    page.line(f"{plugin.name}  {entry.summary if entry is not None else ''}".rstrip(), "bold")
    page.line()
    page.table(("", ""), list(_facts(installed, plugin, entry)))
    if lacking:
        page.note(lacking)
    rows = settings_rows(schema)
    _part(page, "settings", rows, HEAD)
    for title, lines in (
        ("in Python", in_python(plugin, entry, schema)),
        ("in a stack file", in_a_stack(plugin, entry, schema)),
    ):
        if lines:
            page.line(f"\n{title}:", "bold")
            for line in lines:
                page.line(f"  {line}" if line else "")


def _part(page: Page, title: str, rows: Sequence[Sequence[str]], head: Sequence[str]) -> None:
    if rows:
        page.line(f"\n{title}:", "bold")
        page.table(head, rows)


def _schema(installed: Registry, plugin: Plugin) -> tuple[Mapping[str, Any], str]:
    """Its settings, and why they are not known where they are not."""
    if not plugin.usable and installed.manifest(plugin) is None:
        return {}, ""
    try:
        return settings_schema(installed, plugin), ""
    except ExpressError as error:
        return {}, f"its settings are not known: {error}"


def _object(
    installed: Registry, plugin: Plugin, entry: ManifestEntry | None, schema: Mapping[str, Any]
) -> dict[str, Any]:
    return {
        **plugin_object(installed, plugin),
        "provenance": asdict(installed.provenance(plugin)),
        "manifest": None if entry is None else dict(entry.raw),
        "settings": dict(schema),
    }


def _facts(installed: Registry, plugin: Plugin, entry: ManifestEntry | None) -> Iterator[tuple[str, str]]:
    origin = installed.provenance(plugin)
    yield "group", plugin.group
    yield "distribution", f"{plugin.distribution} {plugin.version}"
    yield "origin", f"{origin.origin}, {origin.location}"
    yield "state", f"{plugin.state.value}{f': {plugin.reason}' if plugin.reason else ''}"
    yield "code", plugin.target
    if entry is None:
        yield "manifest", "none; its author writes one with: agent-express plugins manifest"
        return
    told = {
        "stability": entry.stability,
        "hooks": f"{', '.join(entry.hooks)}{' (streaming)' if entry.streaming and entry.hooks else ''}",
        "streaming": "yes" if entry.streaming and not entry.hooks else "",
        "roles": ", ".join(entry.roles),
        "state fields": "; ".join(_field(each) for each in entry.state),
        "events": "; ".join(_offered(each.name, each.summary) for each in entry.events),
        "tools": "; ".join(_offered(each.name, each.summary) for each in entry.tools),
        "order": _order(entry),
        "permissions": ", ".join(entry.permissions),
        "environment": ", ".join(_variable(each) for each in entry.environment),
        "layers": _listed(entry.raw.get("layers")),
        "modalities": _listed(entry.raw.get("modalities")),
        "repeats": _listed(entry.raw.get("next_many")),
        "implements": _listed(entry.raw.get("implements")),
        "commands": ", ".join(str(each.get("name", "")) for each in entry.raw.get("commands", ())),
        "exempt from": "; ".join(_offered(each, why) for each, why in entry.exempt.items()),
    }
    yield from ((name, text) for name, text in told.items() if text)


def _field(field: Any) -> str:
    told = f"{field.name} ({field.type}, per {field.scope}{', private' if field.private else ''})"
    return _offered(told, field.description)


def _offered(name: str, summary: str) -> str:
    return f"{name}: {summary}" if summary else name


def _order(entry: ManifestEntry) -> str:
    sides = (("outside of", entry.order.outside), ("inside of", entry.order.inside), ("requires", entry.order.requires))
    return "; ".join(f"{side} {', '.join(names)}" for side, names in sides if names)


def _listed(value: object) -> str:
    """What a manifest lists under a key that core does not read."""
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value or "")


def _variable(name: str) -> str:
    return f"{name} ({'set' if os.environ.get(name) else 'not set'})"
