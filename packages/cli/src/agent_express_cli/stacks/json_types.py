"""The type in JSON of what a field is annotated with; a whole JSON schema says more and takes much longer."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import is_dataclass
from enum import Enum
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin

PLAIN: tuple[tuple[type, str], ...] = (
    (bool, "boolean"),
    (int, "integer"),
    (float, "number"),
    (str, "string"),
    (NoneType, "null"),
    (Enum, "string"),
    (Mapping, "object"),
    (Collection, "array"),
)


def type_of(annotation: Any) -> str:
    """The type in JSON of values of *annotation*: "integer", "string | null"; "any" where it cannot be told."""
    origin = get_origin(annotation)
    if origin in (Union, UnionType):
        return " | ".join(dict.fromkeys(map(type_of, get_args(annotation))))
    if origin is Literal:
        return " | ".join(dict.fromkeys(type_of(type(value)) for value in get_args(annotation)))
    if hasattr(annotation, "__metadata__"):
        return type_of(get_args(annotation)[0])
    kind = origin or annotation
    if not isinstance(kind, type):
        return "any"
    if hasattr(kind, "model_fields") or is_dataclass(kind):
        return "object"
    return next((name for known, name in PLAIN if issubclass(kind, known)), "any")
