"""How an object was made: from which plugin, with which settings. Kept beside the object, never on it."""

from __future__ import annotations

import weakref
from dataclasses import dataclass
from typing import Any

from .plugins import Plugin


@dataclass(frozen=True, slots=True)
class Origin:
    """How an object was made.

    Attributes:
        plugin: The plugin; None for a factory that nobody published.
        config: The validated settings: the plugin's own `Config`, or an object with one attribute for each setting.
    """

    plugin: Plugin | None
    config: Any


_known: dict[int, tuple[weakref.ref[Any], Origin]] = {}


def remember(thing: Any, origin: Origin) -> None:
    """Keep *origin* as long as *thing* lives; of what cannot be referred to weakly, a list say, nothing is kept."""
    key, forget = id(thing), _known.pop  # bound now: while Python ends, names go before the last objects

    def gone(_: weakref.ref[Any]) -> None:
        forget(key, None)

    try:
        _known[key] = (weakref.ref(thing, gone), origin)
    except TypeError:
        return


def origin_of(thing: object) -> Origin | None:
    """How *thing* was made; None where it was made by hand."""
    found = _known.get(id(thing))
    return found[1] if found is not None and found[0]() is thing else None
