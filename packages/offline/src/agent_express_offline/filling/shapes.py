"""Shapes: telling JSON values apart, and following the references of a schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, TypeGuard

_MAX_HOPS: Final = 40


def is_object(value: Any) -> TypeGuard[Mapping[Any, Any]]:
    """Whether *value* is a JSON object; says so to type checkers too."""
    return isinstance(value, Mapping)


def is_list(value: Any) -> TypeGuard[list[Any]]:
    """Whether *value* is a JSON array; says so to type checkers too."""
    return isinstance(value, list)


def same(one: Any, other: Any) -> bool:
    """Equality of JSON: 1 equals 1.0, but True equals neither."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if is_list(one) and is_list(other):
        return len(one) == len(other) and all(map(same, one, other))
    if is_object(one) and is_object(other):
        return one.keys() == other.keys() and all(same(one[key], other[key]) for key in one)
    return bool(one == other)


def follow(schema: Any, root: Any) -> Any:
    """What the `$ref` of *schema* points to in *root*; *schema* itself without one, None where it leads nowhere."""
    for _ in range(_MAX_HOPS):
        if not is_object(schema) or "$ref" not in schema:
            return schema
        schema = target(schema["$ref"], root)
    return None


def target(reference: Any, root: Any) -> Any:
    """What a JSON pointer such as "#/$defs/Color" points to inside of *root*; None where nothing is there."""
    if not isinstance(reference, str) or (reference != "#" and not reference.startswith("#/")):
        return None
    found = root
    for step in reference[1:].split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        if is_object(found):
            found = found.get(key)
        elif is_list(found) and key.isdecimal() and int(key[:6]) < len(found):
            found = found[int(key[:6])]
        else:
            return None
    return found
