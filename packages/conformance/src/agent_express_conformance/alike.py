"""Comparing what two runs left behind, apart from what differs from one run to the next anyway: times, chance, ids."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeAlias, cast

Path: TypeAlias = tuple[str | int, ...]
_MASK = "…"


def noise(one: Any, other: Any) -> frozenset[Path]:
    """Where two runs of the same thing differ."""
    return frozenset(_differences(one, other, ()))


def without(value: Any, paths: frozenset[Path], here: Path = ()) -> Any:
    """The JSON value with what stands at *paths* masked."""
    if here in paths:
        return _MASK
    if isinstance(value, dict):
        held = cast(dict[str, Any], value)
        return {key: without(each, paths, (*here, key)) for key, each in held.items()}
    if isinstance(value, list):
        items: list[Any] = value
        return [without(each, paths, (*here, place)) for place, each in enumerate(items)]
    return value


def first_difference(one: Any, other: Any) -> str:
    """Where two JSON values differ first, in one line."""
    path = min(_differences(one, other, ()), key=lambda found: [str(part).rjust(6, "0") for part in found], default=())
    where = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path).lstrip(".")
    return f"at {where or 'the top'} {_shown(_at(one, path))}, then {_shown(_at(other, path))}"


def _differences(one: Any, other: Any, here: Path) -> Iterator[Path]:
    if isinstance(one, dict) and isinstance(other, dict) and one.keys() == other.keys():
        for key in one:
            yield from _differences(one[key], other[key], (*here, key))
    elif isinstance(one, list) and isinstance(other, list) and len(one) == len(other):
        for place, (mine, theirs) in enumerate(zip(one, other, strict=True)):
            yield from _differences(mine, theirs, (*here, place))
    elif one != other:
        yield here


def _at(value: Any, path: Path) -> Any:
    for part in path:
        value = value[part]
    return value


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 160 else f"{text[:159]}…"
