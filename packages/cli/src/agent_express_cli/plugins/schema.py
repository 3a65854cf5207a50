"""`agent-express plugins schema`: JSON Schema for editors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent_express.plugins import Plugin
from agent_express.registry import Registry, registry

from ..page import Page
from .find import find_plugin

DIALECT = "https://json-schema.org/draft/2020-12/schema"


def show_schema(page: Page, name: str | None, group: str | None) -> None:
    """Print the schema of the plugin *name*, or of stack files.

    Raises:
        PluginError: There is no such plugin, or it cannot be imported.
    """
    installed = registry()
    if name is None:
        from agent_express.stack import stack_schema

        page.document(stack_schema(installed))
        return
    plugin = find_plugin(installed, name, group)
    page.document({"$schema": DIALECT, "title": f"Settings of {plugin.name}", **settings_schema(installed, plugin)})


def settings_schema(installed: Registry, plugin: Plugin) -> Mapping[str, Any]:
    """The schema of a plugin's settings: from its manifest; from its code where it has none.

    Raises:
        PluginError: It has no manifest, and cannot be imported.
    """
    entry = installed.manifest(plugin)
    if entry is not None and entry.config:
        return entry.config
    if plugin.group == "hooks":
        return {"type": "object", "properties": {}, "additionalProperties": False}
    return installed.settings(plugin).schema
