"""How a plugin is used: lines of Python, and of a stack file."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from agent_express.manifest import ManifestEntry
from agent_express.plugins import Plugin

_HAVING = {"string": "...", "integer": 1, "number": 1.0, "boolean": True, "array": [], "object": {}}


def in_python(plugin: Plugin, entry: ManifestEntry | None, schema: Mapping[str, Any]) -> list[str]:
    """Lines of Python; none of a plugin of the command line, which works by being installed."""
    module, _, attribute = plugin.target.partition(":")
    top = attribute.partition(".")[0]
    config = _config(entry, schema)
    called = f"{attribute}({', '.join(f'{name}={_python(value)}' for name, value in config.items())})"
    match plugin.group:
        case "hooks":
            return []
        case "models":
            return ["from agent_express import Agent", "", f'agent = Agent("{plugin.name}:{_model(config)}")']
        case "middleware":
            return [f"from {module} import {top}", "", f"agent.use({called})"]
        case "bundles":
            return [f"from {module} import {top}", "", f"agent.use(*{called})"]
        case _:
            return [f"from {module} import {top}", "", f"{_word(plugin.group)} = {called}"]


def in_a_stack(plugin: Plugin, entry: ManifestEntry | None, schema: Mapping[str, Any]) -> list[str]:
    """Lines of a stack file; none of what has no place in one."""
    config = _config(entry, schema)
    match plugin.group:
        case "middleware" | "bundles":
            key = "plugin" if plugin.group == "middleware" else "bundle"
            lines = ["[[use]]", f'{key} = "{plugin.name}"']
            return [*lines, f"config = {_toml(config)}"] if config else lines
        case "models":
            return ["[agent]", f'model = "{plugin.name}:{_model(config)}"']
        case _:
            return []


def _config(entry: ManifestEntry | None, schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The example of its author; else something for each setting that is required."""
    if entry is not None and entry.example is not None:
        return entry.example
    properties: Mapping[str, Mapping[str, Any]] = schema.get("properties", {})
    return {name: _something(properties.get(name, {})) for name in schema.get("required", ())}


def _something(schema: Mapping[str, Any]) -> Any:
    for key in ("default", "minimum", "const"):
        if key in schema:
            return schema[key]
    if schema.get("enum"):
        return schema["enum"][0]
    return _HAVING.get(str(schema.get("type")), "...")


def _model(config: Mapping[str, Any]) -> str:
    return str(config.get("model", "MODEL")) if config.get("model") != "..." else "MODEL"


def _word(group: str) -> str:
    return group.removesuffix("s")


def _python(value: Any) -> str:
    return "..." if value == "..." else repr(value)


def _toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{_key(name)} = {_toml(each)}' for name, each in value.items())} }}" if value else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return json.dumps(value, ensure_ascii=False)


def _key(name: str) -> str:
    return name if name.replace("_", "").replace("-", "").isalnum() and name.isascii() else json.dumps(name)
