"""The contexts that hooks get: `AgentContext > SessionContext > TurnContext > ModelContext | ToolContext`.

A context is a thin view, made anew per call; what it shows lives in the records of session and turn, which all
contexts of that session or turn share.
"""

from .caller import layer_frames, places_of
from .model import ModelContext, without
from .records import (
    AgentInfo,
    AnyTool,
    AskOptions,
    NestedOptions,
    Runtime,
    SessionRecord,
    TurnRecord,
    log_continuation,
    say_input,
    still_counting,
    stop,
)
from .resources import Resources
from .said import as_messages, from_middleware
from .session import HINT, AgentContext, InitContext, SessionContext
from .tool import ToolContext
from .turn import TurnContext
from .usage import TurnUsage

__all__ = [
    "HINT",
    "AgentContext",
    "InitContext",
    "AgentInfo",
    "AnyTool",
    "AskOptions",
    "ModelContext",
    "NestedOptions",
    "Resources",
    "Runtime",
    "SessionContext",
    "SessionRecord",
    "ToolContext",
    "TurnContext",
    "TurnRecord",
    "TurnUsage",
    "as_messages",
    "from_middleware",
    "layer_frames",
    "log_continuation",
    "places_of",
    "say_input",
    "still_counting",
    "stop",
    "without",
]
