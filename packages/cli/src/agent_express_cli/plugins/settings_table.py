"""The settings of a plugin as rows, read from its JSON schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

HEAD = ("setting", "type", "default", "range", "what it is")

_BOUNDS = (
    ("minimum", "at least {}"),
    ("exclusiveMinimum", "more than {}"),
    ("maximum", "at most {}"),
    ("exclusiveMaximum", "less than {}"),
    ("multipleOf", "a multiple of {}"),
    ("minLength", "at least {} characters"),
    ("maxLength", "at most {} characters"),
    ("minItems", "at least {} items"),
    ("maxItems", "at most {} items"),
    ("pattern", "matches {}"),
)


def settings_rows(schema: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """One row for each setting, those that are required first."""
    required = schema.get("required", ())
    properties: Mapping[str, Mapping[str, Any]] = schema.get("properties", {})
    rows = [
        (
            name,
            type_of(each, schema),
            "required" if name in required else _default(each),
            range_of(each, schema),
            str(each.get("description", "")),
        )
        for name, each in properties.items()
    ]
    return sorted(rows, key=lambda row: row[2] != "required")


def type_of(each: Mapping[str, Any], root: Mapping[str, Any]) -> str:
    """The type of a value in a few words: "integer", "list of string", "secret"."""
    each = _resolved(each, root)
    choices = each.get("anyOf") or each.get("oneOf")
    if choices:
        return " or ".join(dict.fromkeys(type_of(choice, root) for choice in choices))
    if "enum" in each or "const" in each:
        return "choice"
    if each.get("writeOnly") or each.get("format") == "password":
        return "secret"
    if each.get("format"):
        return str(each["format"])
    kind = each.get("type", "any")
    if isinstance(kind, list):
        return " or ".join("nothing" if one == "null" else str(one) for one in kind)
    if kind == "array":
        return f"list of {type_of(each.get('items', {}), root)}"
    if kind == "null":
        return "nothing"
    return "table" if kind == "object" else str(kind)


def range_of(each: Mapping[str, Any], root: Mapping[str, Any]) -> str:
    """What a value may be within its type."""
    each = _resolved(each, root)
    told = [form.format(each[key]) for key, form in _BOUNDS if key in each]
    if "enum" in each:
        told.append(", ".join(json.dumps(value, ensure_ascii=False) for value in each["enum"]))
    if "const" in each:
        told.append(json.dumps(each["const"], ensure_ascii=False))
    inner = [range_of(choice, root) for choice in each.get("anyOf") or each.get("oneOf") or ()]
    return "; ".join([*told, *filter(None, inner)])


def _resolved(each: Mapping[str, Any], root: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a `$ref` within the schema points to; no further than that."""
    reference = str(each.get("$ref", ""))
    if not reference.startswith("#/"):
        return each
    found: Any = root
    for part in reference.removeprefix("#/").split("/"):
        found = found.get(part, {})
    return {**found, **{key: value for key, value in each.items() if key != "$ref"}}


def _default(each: Mapping[str, Any]) -> str:
    return json.dumps(each["default"], ensure_ascii=False) if "default" in each else ""
