"""Whether OpenAI's strict mode takes a JSON schema as it is.

In strict mode the answer matches for certain, but only a part of JSON Schema is allowed
(https://platform.openai.com/docs/guides/structured-outputs#supported-schemas). A schema outside of it could be bent to
fit; that would change what it says, so it is sent as it is, without strict.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

_KEYWORDS = frozenset(
    {
        *("type", "title", "description", "enum", "const", "anyOf", "$defs", "$ref"),
        *("properties", "required", "additionalProperties", "items", "minItems", "maxItems"),
        *("pattern", "format", "multipleOf", "minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"),
    }
)
_FORMATS = frozenset({"date-time", "time", "date", "duration", "email", "hostname", "ipv4", "ipv6", "uuid"})


def is_strict(schema: Mapping[str, Any]) -> bool:
    """Whether strict mode takes *schema*: an object at the root, every object closed and all its fields required."""
    return schema.get("type") == "object" and all(_is_allowed(each) for each in _walk(schema))


def _walk(schema: Any) -> Iterator[Any]:
    """*schema* and every schema inside it."""
    yield schema
    if not isinstance(schema, Mapping):
        return
    inside = cast(Mapping[str, Any], schema)
    for group in ("properties", "$defs"):
        named = inside.get(group)
        for each in cast(Mapping[str, Any], named).values() if isinstance(named, Mapping) else ():
            yield from _walk(each)
    for each in inside.get("anyOf") or ():
        yield from _walk(each)
    if "items" in inside:
        yield from _walk(inside["items"])


def _is_allowed(schema: Any) -> bool:
    if not isinstance(schema, Mapping):
        return False
    keys = cast(Mapping[str, Any], schema)
    if "$ref" in keys:
        return len(keys) == 1  # beside a reference nothing else may stand
    if not _KEYWORDS.issuperset(keys) or keys.get("format", "date") not in _FORMATS:
        return False
    if keys.get("type") == "object" or "properties" in keys:
        properties = cast(Mapping[str, Any], keys.get("properties") or {})
        return keys.get("additionalProperties") is False and set(keys.get("required") or ()) == set(properties)
    return any(word in keys for word in ("type", "enum", "const", "anyOf"))
