"""A small value for a JSON schema: what the scripted model answers where a form is asked for, and calls tools with."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

_TEXTS: Mapping[str, str] = {
    "date": "2026-03-01",
    "date-time": "2026-03-01T12:00:00Z",
    "time": "12:00:00Z",
    "email": "kim@example.org",
    "uri": "https://example.org/",
    "uuid": "00000000-0000-4000-8000-000000000001",
}


def sample(schema: Any, root: Any = None, depth: int = 0) -> Any:
    """A value that fits *schema*, as small as it may be; null where no form is asked for."""
    if not isinstance(schema, dict):
        return None
    given = cast(dict[str, Any], schema)
    whole: Any = given if root is None else root
    for key in ("const", "default"):
        if key in given:
            return given[key]
    if given.get("enum"):
        return given["enum"][0]
    if "$ref" in given:
        return None if depth > 8 else sample(_found(given["$ref"], whole), whole, depth + 1)
    for key in ("anyOf", "oneOf", "allOf"):
        if given.get(key):
            return sample(given[key][0], whole, depth + 1)
    return _of_type(given, whole, depth)


def _of_type(given: Mapping[str, Any], root: Any, depth: int) -> Any:
    kind = given.get("type")
    match kind[0] if isinstance(kind, list) and kind else kind:
        case "object":
            properties: Mapping[str, Any] = given.get("properties", {})
            return {name: sample(properties.get(name), root, depth + 1) for name in given.get("required", ())}
        case "array":
            first = [sample(each, root, depth + 1) for each in given.get("prefixItems", ())]
            more = range(given.get("minItems", 0) - len(first))
            return [*first, *(sample(given.get("items"), root, depth + 1) for _ in more)]
        case "string":
            return _text(given)
        case "integer":
            return int(_number(given, 1))
        case "number":
            return _number(given, 0.5)
        case "boolean":
            return False
        case _:
            return None


def _text(given: Mapping[str, Any]) -> str:
    text = _TEXTS.get(str(given.get("format")), "text")
    return text.ljust(int(given.get("minLength", 0)), "x")[: int(given.get("maxLength", 1_000))]


def _number(given: Mapping[str, Any], step: float) -> float:
    if "minimum" in given:
        return float(given["minimum"])
    if "exclusiveMinimum" in given:
        return float(given["exclusiveMinimum"] + step)
    if "maximum" in given:
        return float(min(given["maximum"], 1))
    return 1


def _found(ref: str, root: Any) -> Any:
    found: Any = root
    for part in ref.removeprefix("#/").split("/"):
        found = found.get(part) if isinstance(found, dict) else None
    return found
