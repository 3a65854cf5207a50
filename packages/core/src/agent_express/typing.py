"""Names for annotations: what hooks, middleware, models and their helpers look like to a type checker.

Nothing here is needed at run time; it spares authors the question in which module a protocol stands.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable
from typing import Any, Protocol

from .contexts import AgentContext, ModelContext, SessionContext, ToolContext, TurnContext
from .events import End, Event
from .inputs import Input
from .messages import ModelResponse, ToolResult
from .middleware import Usable
from .models import Model, ModelStream
from .onion import Call, Events, Level, Next, Observer
from .session import OnBusy
from .state import HasState
from .stream import Sink
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
    "Sink",
]


class InitHook(Protocol):
    """An object with an `init` hook."""

    def init(self, ctx: AgentContext) -> Awaitable[None]:
        """Get ready, once, when the agent opens."""
        ...


class DisposeHook(Protocol):
    """An object with a `dispose` hook."""

    def dispose(self) -> Awaitable[None]:
        """Give back what `init` took, once, when the agent closes."""
        ...


class SessionHook(Protocol):
    """An object with a `session` hook."""

    def session(self, ctx: SessionContext, next: Next[None]) -> Awaitable[None]:
        """Wrap the time a conversation is open in this process."""
        ...


class TurnHook(Protocol):
    """An object with a `turn` hook."""

    def turn(self, ctx: TurnContext, next: Next[None]) -> Awaitable[None] | AsyncIterator[Event | End[Any]]:
        """Wrap one user message and its answer."""
        ...


class ModelHook(Protocol):
    """An object with a `model` hook."""

    def model(
        self, ctx: ModelContext, next: Next[ModelResponse]
    ) -> Awaitable[ModelResponse] | AsyncIterator[Event | End[ModelResponse]]:
        """Wrap one model call."""
        ...


class ToolHook(Protocol):
    """An object with a `tool` hook."""

    def tool(
        self, ctx: ToolContext, next: Next[ToolResult]
    ) -> Awaitable[ToolResult] | AsyncIterator[Event | End[ToolResult]]:
        """Wrap one tool call."""
        ...
