"""Reading JSON of which nothing is certain: what is missing or of another type reads as empty."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias, cast

Json: TypeAlias = Mapping[str, Any]
_NOTHING: Json = {}


def mapping(value: Any) -> Json:
    """*value* if it is an object, else an empty one."""
    return cast(Json, value) if isinstance(value, Mapping) else _NOTHING


def items(value: Any) -> Sequence[Any]:
    """*value* if it is an array, else an empty one."""
    return cast(Sequence[Any], value) if isinstance(value, list | tuple) else ()


def text(value: Json, name: str) -> str:
    """The field if it is a string, else ""."""
    found = value.get(name)
    return found if isinstance(found, str) else ""


def count(value: Json, name: str) -> int | None:
    """The field if it is a whole number from 0, else None."""
    found = value.get(name)
    return found if isinstance(found, int) and not isinstance(found, bool) and found >= 0 else None
