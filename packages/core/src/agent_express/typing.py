"""Names for annotations: what hooks, middleware, models and their helpers look like to a type checker.

Nothing here is needed at run time; it spares authors the question in which module a protocol stands.
"""

from __future__ import annotations

from .inputs import Input
from .middleware import DisposeHook, HookFunction, InitHook, ModelHook, SessionHook, ToolHook, TurnHook, Usable
from .models import Model, ModelStream
from .onion import Call, Events, Level, Next, Observer
from .session import OnBusy
from .state import HasState
from .threads import CancelToken

__all__ = [
    # hooks
    "Next",
    "Call",
    "Events",
    "InitHook",
    "DisposeHook",
    "SessionHook",
    "TurnHook",
    "ModelHook",
    "ToolHook",
    "HookFunction",
    # middleware
    "Usable",
    "HasState",
    "Observer",
    "Level",
    # models and tools
    "Model",
    "ModelStream",
    "CancelToken",
    # running
    "Input",
    "OnBusy",
]
