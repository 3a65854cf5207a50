"""JSON schemas for structured output: what the API takes of them, and what to do with the rest.

The API compiles the schema into a grammar. It takes closed objects, arrays, enumerations, unions and references that
do not recur; ranges, lengths and patterns it refuses, so these move into the description, where the model reads them.
https://platform.claude.com/docs/en/build-with-claude/structured-outputs
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from .edge import as_object, is_list, is_object

_TYPES: Final = frozenset({"object", "array", "string", "integer", "number", "boolean", "null"})
_FORMATS: Final = frozenset(
    {"date-time", "time", "date", "duration", "email", "hostname", "uri", "ipv4", "ipv6", "uuid"}
)
_WORDS: Final = frozenset({"title", "description", "default"})
_SHAPED: Final = frozenset({"enum", "const", "anyOf", "oneOf", "allOf"})
_TAKEN: Final = _WORDS | _SHAPED | {"$defs", "type", "properties", "required", "additionalProperties", "items"}
_NO_RULE: Final = frozenset({"discriminator", "examples", "$schema", "$id", "$comment", "deprecated", "readOnly"})
"""Keywords that allow and forbid nothing: left out without a word."""


class _BeyondError(Exception):
    """The schema says something that the API cannot be told."""


def closed(schema: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return *schema* as the API takes it; None where it cannot be told so at all.

    None means: a free-form object, a value of any type, a tuple, a recursive reference, a condition.
    """
    definitions = schema.get("$defs", {})
    try:
        made = _node(dict(schema))
        if definitions:
            made["$defs"] = {name: _node(each) for name, each in definitions.items()}
        _refuse_recursion(made)
    except _BeyondError:
        return None
    return made


def _node(schema: object) -> dict[str, Any]:
    if not is_object(schema):
        raise _BeyondError("true and false")
    if "$ref" in schema:
        return {"$ref": _internal(schema["$ref"])}
    made: dict[str, Any] = {key: schema[key] for key in ("title", "description", "default") if key in schema}
    kinds = schema.get("type")
    if is_list(kinds) and not schema.keys() & _SHAPED:
        return made | _one_of(schema, kinds)
    made |= _shape(schema)
    rules = {key: value for key, value in schema.items() if key not in _TAKEN | _NO_RULE and key not in made}
    if rules:
        made["description"] = _described(made.get("description", ""), rules)
    return made


def _internal(reference: Any) -> str:
    if not (isinstance(reference, str) and reference.startswith("#/$defs/")):
        raise _BeyondError("a reference to somewhere else")
    return reference


def _shape(schema: Mapping[str, Any]) -> dict[str, Any]:
    if "enum" in schema:
        return {"enum": _simple(schema["enum"])}
    if "const" in schema:
        return {"const": _simple([schema["const"]])[0]}
    if "anyOf" in schema or "oneOf" in schema:
        return {"anyOf": [_node(each) for each in schema.get("anyOf", schema.get("oneOf"))]}
    if "allOf" in schema:
        return {"allOf": [_node(each) for each in schema["allOf"]]}
    match schema.get("type"):
        case "object":
            return _object(schema)
        case "array":
            return _array(schema)
        case "string":
            return {"type": "string", **({"format": schema["format"]} if schema.get("format") in _FORMATS else {})}
        case str(kind) if kind in _TYPES:
            return {"type": kind}
        case _:
            raise _BeyondError("a value of any type")


def _one_of(schema: Mapping[str, Any], kinds: list[Any]) -> dict[str, Any]:
    if not kinds:
        raise _BeyondError("a value of no type")
    rest = {key: value for key, value in schema.items() if key not in _WORDS}
    return {"anyOf": [_node({**rest, "type": kind}) for kind in kinds]}


def _object(schema: Mapping[str, Any]) -> dict[str, Any]:
    properties = schema.get("properties", {})
    extra = schema.get("additionalProperties", False)
    if "patternProperties" in schema or (extra is not False and (extra is not True or not properties)):
        raise _BeyondError("a free-form object")
    made: dict[str, Any] = {
        "type": "object",
        "properties": {name: _node(each) for name, each in properties.items()},
        "additionalProperties": False,
    }
    return made | ({"required": list(schema["required"])} if "required" in schema else {})


def _array(schema: Mapping[str, Any]) -> dict[str, Any]:
    if "prefixItems" in schema or "items" not in schema:
        raise _BeyondError("a tuple, or a list of anything")
    made: dict[str, Any] = {"type": "array", "items": _node(schema["items"])}
    return made | ({"minItems": schema["minItems"]} if schema.get("minItems") in (0, 1) else {})


def _simple(values: list[Any]) -> list[Any]:
    if not all(value is None or isinstance(value, str | int | float | bool) for value in values):
        raise _BeyondError("an enumeration of lists or objects")
    return list(values)


def _described(description: str, rules: Mapping[str, Any]) -> str:
    if rules.keys() & {"not", "if", "then", "else", "dependentSchemas", "dependentRequired", "contains"}:
        raise _BeyondError("a condition")
    said = ", ".join(f"{key}: {json.dumps(value, ensure_ascii=False)}" for key, value in rules.items())
    return f"{description} ({said})".strip()


def _refuse_recursion(schema: Mapping[str, Any]) -> None:
    definitions: Mapping[str, Any] = schema.get("$defs", {})
    uses = {f"#/$defs/{name}": _references(each) for name, each in definitions.items()}
    reached = _references({key: value for key, value in schema.items() if key != "$defs"})
    if reached.union(*uses.values()) - uses.keys():
        raise _BeyondError("a reference to nothing")
    for start, used in uses.items():
        seen: set[str] = set()
        open_ends = set(used)
        while open_ends:
            name = open_ends.pop()
            if name == start:
                raise _BeyondError("a recursive reference")
            if name not in seen:
                seen.add(name)
                open_ends |= uses.get(name, set())


def _references(value: object) -> set[str]:
    reference = as_object(value).get("$ref")
    own = {reference} if isinstance(reference, str) else set[str]()
    return own.union(*map(_references, value if is_list(value) else as_object(value).values()))
