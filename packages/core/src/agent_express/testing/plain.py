"""From frozen values to what JSON can hold, short and stable, and the first difference between two such values."""

from __future__ import annotations

import dataclasses
import json
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, Field, dataclass
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


# --- differences ----------------------------------------------------------------------------------

ABSENT = object()


@dataclass(frozen=True, slots=True)
class Difference:
    """One place where two JSON values differ.

    Attributes:
        path: Where, such as "messages[1].parts[0].text".
        expected: What stands there in the first value; `ABSENT` for nothing.
        found: What stands there in the second; `ABSENT` for nothing.
    """

    path: str
    expected: JSON
    found: JSON

    def __str__(self) -> str:
        expected, found = brief(self.expected, self.found)
        return f"at {self.path or 'the top'}: expected {expected}, found {found}"


def differences(expected: object, found: object, path: str = "") -> Iterator[Difference]:
    """Every place where *found* differs from *expected*, in the order of *expected*."""
    if is_object(expected) and is_object(found):
        for key in [*expected, *(key for key in found if key not in expected)]:
            at = f"{path}.{key}" if path else key
            yield from differences(expected.get(key, ABSENT), found.get(key, ABSENT), at)
    elif is_list(expected) and is_list(found):
        for index in range(max(len(expected), len(found))):
            yield from differences(_at(expected, index), _at(found, index), f"{path}[{index}]")
    elif type(expected) is not type(found) or expected != found:
        yield Difference(path, expected, found)


def _at(values: list[JSON], index: int) -> JSON:
    return values[index] if index < len(values) else ABSENT


def brief(expected: JSON, found: JSON, width: int = 100) -> tuple[str, str]:
    """Show two values in at most about *width* characters each, long texts around their first difference."""
    if isinstance(expected, str) and isinstance(found, str):
        same = next((n for n, (a, b) in enumerate(zip(expected, found, strict=False)) if a != b), None)
        start = max(0, (min(len(expected), len(found)) if same is None else same) - width // 3)
        return _window(expected, start, width), _window(found, start, width)
    return _shown(expected, width), _shown(found, width)


def _window(text: str, start: int, width: int) -> str:
    cut = text[start : start + width]
    return f"{'…' if start else ''}{cut!r}{'…' if start + width < len(text) else ''}"


def _shown(value: JSON, width: int) -> str:
    if value is ABSENT:
        return "nothing"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= width else f"{text[:width]}… ({len(text)} characters)"
