"""One JSON Schema for editors: what a stack file may hold, with the settings of all that is installed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from ..errors import PluginError
from ..manifest import ManifestEntry
from ..plugins import Plugin, PluginState
from ..registry import Registry
from .grammar import FILE
from .shapes import Schema

DIALECT = "https://json-schema.org/draft/2020-12/schema"

_OWN = r"^[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*$"
_CHOICES = (
    ("use", "plugin", "middleware"),
    ("use", "bundle", "bundles"),
    ("override", "plugin", "middleware"),
    ("change", "plugin", "middleware"),
    ("change", "bundle", "bundles"),
    ("model", "plugin", "models"),
)
_NESTED = {
    "items", "prefixItems", "contains", "additionalProperties", "propertyNames",
    "anyOf", "oneOf", "allOf", "not", "if", "then", "else",
}  # fmt: skip
_DISABLED: Schema = {"properties": {"enabled": {"const": False}}, "required": ["enabled"]}


def stack_schema(registry: Registry) -> Schema:
    """Make the JSON Schema, draft 2020-12, of the stack files that load here.

    The settings come from the manifests; nothing is imported. Plugins that may not be used are left out.

    Args:
        registry: What is installed.
    """
    defs: dict[str, Schema] = {}
    root = FILE.schema(defs)
    offered = {group: list(_offered(registry, group)) for group in ("middleware", "bundles", "models")}
    defs |= _names(offered, registry)
    settings = {plugin: _settings(plugin, registry, defs) for held in offered.values() for plugin in held}
    for table, key, group in _CHOICES:
        choices = [choice for plugin in offered[group] if (choice := _choice(key, plugin, settings[plugin], defs))]
        if choices:
            defs[table].setdefault("allOf", []).extend(choices)
    defs["use"] |= {
        "oneOf": [{"required": ["plugin"]}, {"required": ["bundle"]}],
        "dependentRequired": {"without": ["bundle"], "override": ["bundle"]},
    }
    defs["model"]["anyOf"] = [{"required": ["plugin"]}, {"required": ["name"]}]
    defs["one-of-several"]["required"] = ["model"]
    root["properties"]["agent"] = {"allOf": [{"$ref": "#/$defs/agent"}, {"required": ["model"]}]}
    root["anyOf"] = [{"required": ["agent"]}, {"required": ["agents"]}]
    root["not"] = {"required": ["agent", "agents"]}
    return {"$schema": DIALECT, "title": "Agent Express stack", **root, "$defs": dict(sorted(defs.items()))}


def _offered(registry: Registry, group: str) -> Iterator[Plugin]:
    unusable = (PluginState.BLOCKED, PluginState.INCOMPATIBLE)
    return (plugin for plugin in registry.plugins(group) if plugin.state not in unusable)


# --- names --------------------------------------------------------------------------------------


def _names(offered: Mapping[str, list[Plugin]], registry: Registry) -> dict[str, Schema]:
    """What may be written in the place of a name: an installed plugin, or own code."""
    own: Schema = {"type": "string", "pattern": _OWN, "description": "Own code, as module:attribute."}
    providers = "|".join(_literal(name) for plugin in offered["models"] for name in _written(plugin))
    full: Schema = {"type": "string", "pattern": f"^({providers})(:.*)?$" if providers else "."}
    return {
        "local": own,
        "plugin": {"anyOf": [*_consts(offered["middleware"], registry), own]},
        "bundle": {"anyOf": [*_consts(offered["bundles"], registry), own]},
        "model-plugin": {"anyOf": [*_consts(offered["models"], registry), own, full]},
        "model-name": {**full, "description": "provider:model, such as openai:gpt-5."},
        "secret": {
            "type": "object",
            "description": "A secret, never as text.",
            "properties": {
                "env": {"type": "string", "description": "The variable that holds it."},
                "file": {"type": "string", "description": "The file that holds it, from this file."},
                "keyring": {"type": "string", "description": "Its service/user in the keyring."},
            },
            "additionalProperties": {"type": "string", "minLength": 1},
            "minProperties": 1,
            "maxProperties": 1,
        },
    }


def _consts(plugins: Iterable[Plugin], registry: Registry) -> Iterator[Schema]:
    for plugin in plugins:
        entry = _manifest(plugin, registry)
        about = {"description": entry.summary} if entry is not None and entry.summary else {}
        yield from ({"const": name, **about} for name in _written(plugin))


def _written(plugin: Plugin) -> tuple[str, ...]:
    """How a file may name *plugin*."""
    return (plugin.qualified,) if plugin.state is PluginState.AMBIGUOUS else (plugin.name, plugin.qualified)


def _literal(name: str) -> str:
    return re.sub(r"([.+*?^${}()|\[\]\\])", r"\\\1", name)


def _manifest(plugin: Plugin, registry: Registry) -> ManifestEntry | None:
    try:
        return registry.manifest(plugin)
    except PluginError:
        return None


# --- settings -----------------------------------------------------------------------------------


def _settings(plugin: Plugin, registry: Registry, defs: dict[str, Schema]) -> str:
    """Define the settings of *plugin* and return the definition's name; "" where nothing is known of them."""
    entry = _manifest(plugin, registry)
    if entry is None or not entry.config:
        return ""
    name = re.sub(r"[^A-Za-z0-9._-]", "-", f"{plugin.group}-{plugin.qualified}")
    schema = cast(Schema, _in_file(dict(entry.config), f"{name}."))
    inner: Any = schema.pop("$defs", None)
    defs |= {f"{name}.{each}": held for each, held in inner.items()} if isinstance(inner, dict) else {}
    defs[name] = schema
    return name


def _choice(key: str, plugin: Plugin, settings: str, defs: Mapping[str, Schema]) -> Schema:
    """If it is *plugin* that is named, its settings hold; those it cannot do without may lack where it is disabled."""
    if not settings:
        return {}
    then: Schema = {"properties": {"config": {"$ref": f"#/$defs/{settings}"}}}
    if defs[settings].get("required"):
        then["anyOf"] = [{"required": ["config"]}, _DISABLED]
    return {"if": {"properties": {key: {"enum": list(_written(plugin))}}, "required": [key]}, "then": then}


def _in_file(schema: Any, prefix: str) -> Any:
    """A plugin's own schema as a stack file takes it: a secret in the place of a text, definitions under *prefix*."""
    if isinstance(schema, list):
        return [_in_file(each, prefix) for each in schema]
    if not isinstance(schema, dict):
        return schema
    made: Schema = {}
    for key, value in cast(Schema, schema).items():
        if key in ("properties", "$defs", "patternProperties") and isinstance(value, dict):
            made[key] = {name: _in_file(each, prefix) for name, each in cast(Schema, value).items()}
        elif key == "$ref":
            made[key] = str(value).replace("#/$defs/", f"#/$defs/{prefix}")
        elif key in _NESTED:
            made[key] = _in_file(value, prefix)
        else:
            made[key] = value
    return _or_secret(made)


def _or_secret(schema: Schema) -> Schema:
    kinds: Any = schema.get("type")
    if "string" not in (kinds if isinstance(kinds, list) else [kinds]) or {"enum", "const"} & schema.keys():
        return schema
    secret = {"$ref": "#/$defs/secret"}
    about = {key: schema[key] for key in ("description",) if key in schema}
    return {**secret, **about} if schema.get("writeOnly") else {"anyOf": [schema, secret], **about}
