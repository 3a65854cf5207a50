"""Which middleware called?

One context serves all layers, so the name is read off the stack. This runs on rare calls only: abort, deny, ask.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from types import CodeType, FrameType
from typing import Any, cast

layer_frames: set[CodeType] = set()
"""Code of the frames that run a hook and have it in a local `layer`; filled by the onion."""


def caller(ctx: Any) -> str | None:
    """The name of the middleware whose code called the method of *ctx* that asks.

    It is found by the nearest frame that runs a layer, or that belongs to a method of a middleware (a task that a
    hook started for `self.check(ctx)` has no layer above it), or to a function written inside of a hook. None where
    none of these is on the stack, as in a thread.
    """
    known = ctx._known()
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        code = frame.f_code
        if code in layer_frames:
            layer = frame.f_locals["layer"]
            return cast(str, layer.name if layer.inner is not None else ctx._core_name)
        if code.co_argcount:
            thing = id(frame.f_locals.get(code.co_varnames[0]))
            name = known.identities.get(thing) or ctx._runtime.identities.get(thing)
            if name is not None:
                return cast(str, name)
        name = _by_place(known.places, code)
        if name is not None:
            return name
        frame = frame.f_back
    return None


def _by_place(places: Mapping[tuple[str, str], str | None], code: CodeType) -> str | None:
    """The middleware in whose hook a function was written: `guard.<locals>.check`."""
    outer, _, inner = code.co_qualname.rpartition(".<locals>.")
    while inner:
        name = places.get((code.co_filename, outer))
        if name is not None:
            return name
        outer, _, inner = outer.rpartition(".<locals>.")
    return None


def places_of(hooks: Iterable[tuple[str, Any]]) -> dict[tuple[str, str], str | None]:
    """Where hooks were written, by file and qualified name; None where several middleware share a hook's code."""
    found: dict[tuple[str, str], str | None] = {}
    for name, hook in hooks:
        code = getattr(hook, "__code__", None) or getattr(getattr(hook, "__func__", None), "__code__", None)
        if code is not None:
            place = (code.co_filename, code.co_qualname)
            found[place] = name if found.get(place, name) == name else None
    return found
