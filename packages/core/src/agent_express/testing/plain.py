"""From frozen values to what JSON can hold, short and stable."""

from __future__ import annotations

import dataclasses
import json
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, Field
from typing import Any, TypeAlias, TypeGuard, cast

from pydantic import BaseModel

JSON: TypeAlias = Any  # None, bool, int, float, str, list and dict of these


def is_object(value: object) -> TypeGuard[dict[str, JSON]]:
    """Whether *value* is a JSON object."""
    return isinstance(value, dict)


def is_list(value: object) -> TypeGuard[list[JSON]]:
    """Whether *value* is a JSON array."""
    return isinstance(value, list)


def plain(value: object) -> JSON:
    """Return *value* as JSON data: fields that have their default left out, tuples as lists, bytes as base64.

    What is left out is filled in again by the class, so a field that a later version adds changes nothing.

    Raises:
        TypeError: It holds something that has no JSON form.
    """
    match value:
        case None | bool() | int() | float() | str():
            return value
        case bytes():
            return urlsafe_b64encode(value).decode("ascii")
        case BaseModel():
            return value.model_dump(mode="json")
        case Mapping():
            return {str(key): plain(each) for key, each in cast(Mapping[object, object], value).items()}
        case list() | tuple():
            return [plain(each) for each in cast(Iterable[object], value)]
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return {name: plain(each) for name, each in told(value)}
        case _:
            raise TypeError(f"{value!r} ({type(value).__name__}) has no JSON form")


def told(value: Any) -> Iterator[tuple[str, Any]]:
    """The fields of a dataclass instance that are worth telling: those not at their default, and `kind`."""
    for spec in dataclasses.fields(value):
        found = getattr(value, spec.name)
        if spec.name == "kind" or not _is_default(spec, found):
            yield spec.name, found


def _is_default(spec: Field[Any], found: object) -> bool:
    if spec.default is not MISSING:
        return found is spec.default or (type(found) is type(spec.default) and found == spec.default)
    return spec.default_factory is not MISSING and found == spec.default_factory()


def canonical(value: JSON) -> str:
    """The one JSON text of *value*: sorted keys, no white space; 1, 1.0 and true differ.

    Raises:
        ValueError: A number is NaN or infinite.
    """
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), sort_keys=True)
