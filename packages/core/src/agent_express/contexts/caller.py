"""Which middleware called?

One context serves all layers, so the name is read off the stack. This runs on rare calls only: abort, deny, ask.
"""

from __future__ import annotations

import sys
from types import CodeType, FrameType
from typing import Any, cast

layer_frames: set[CodeType] = set()
"""Code of the frames that run a hook and have it in a local `layer`; filled by the onion."""


def caller(ctx: Any) -> str | None:
    """The name of the middleware whose code called the method of *ctx* that asks.

    It is found by the nearest frame that runs a layer, or that belongs to a method of a middleware (a task that a
    hook started for `self.check(ctx)` has no layer above it). None where neither is on the stack: a thread, or a task
    that a hook started for a function of its own.
    """
    identities = ctx._runtime.identities
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        code = frame.f_code
        if code in layer_frames:
            layer = frame.f_locals["layer"]
            return cast(str, layer.name if layer.inner is not None else ctx._core_name)
        if code.co_argcount:
            name = identities.get(id(frame.f_locals.get(code.co_varnames[0])))
            if name is not None:
                return cast(str, name)
        frame = frame.f_back
    return None
