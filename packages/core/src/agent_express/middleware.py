"""What a middleware is: the base class, the shapes that `use()` takes, and what is read off one."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeAlias, TypeVar

from pydantic import BaseModel

from .contexts import AgentContext, ModelContext, SessionContext, ToolContext, TurnContext
from .events import End, Event
from .messages import ModelResponse, ToolResult
from .onion import Next
from .order import NO_RULES, Order
from .tools import Tool

HOOKS = ("init", "dispose", "session", "turn", "model", "tool")
RESERVED = ("name", "tools", "state", "events", "order", "store")


class Middleware:
    """A base class without behaviour: it tells editors and type checkers what the hooks look like.

    Override any of them as `async def`: a hook that returns sees the result, one that yields sees the stream. An object
    with a hook, `tools`, `state`, `events` or `store` is a middleware without this class too.
    """

    def init(self, ctx: AgentContext) -> Awaitable[None]:
        """Get ready, once, when the agent opens."""
        raise NotImplementedError

    def dispose(self) -> Awaitable[None]:
        """Give back what `init` took, once, when the agent closes."""
        raise NotImplementedError

    def session(self, ctx: SessionContext, next: Next[None]) -> Awaitable[None]:
        """Wrap the time a conversation is open in this process."""
        raise NotImplementedError

    def turn(self, ctx: TurnContext, next: Next[None]) -> Awaitable[None] | AsyncIterator[Event | End[Any]]:
        """Wrap one user message and its answer, `ctx.output`."""
        raise NotImplementedError

    def model(
        self, ctx: ModelContext, next: Next[ModelResponse]
    ) -> Awaitable[ModelResponse] | AsyncIterator[Event | End[ModelResponse]]:
        """Wrap one model call."""
        raise NotImplementedError

    def tool(
        self, ctx: ToolContext, next: Next[ToolResult]
    ) -> Awaitable[ToolResult] | AsyncIterator[Event | End[ToolResult]]:
        """Wrap one tool call."""
        raise NotImplementedError


T = TypeVar("T")


@dataclass(frozen=True)
class Renamed(Generic[T]):
    """One use of a middleware, or of a tool, under another name."""

    name: str
    thing: T


def named(name: str, thing: T) -> Renamed[T]:
    """Give one use of *thing* the name *name*; the object itself stays as it is."""
    return Renamed(name, thing)


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


HookFunction: TypeAlias = (
    Callable[[SessionContext, Next[None]], Awaitable[None]]
    | Callable[[TurnContext, Next[None]], Awaitable[None] | AsyncIterator[Event | End[Any]]]
    | Callable[
        [ModelContext, Next[ModelResponse]], Awaitable[ModelResponse] | AsyncIterator[Event | End[ModelResponse]]
    ]
    | Callable[[ToolContext, Next[ToolResult]], Awaitable[ToolResult] | AsyncIterator[Event | End[ToolResult]]]
)


class _HasTools(Protocol):
    @property
    def tools(self) -> Sequence[Tool]: ...


class _HasState(Protocol):
    @property
    def state(self) -> type[BaseModel]: ...


class _HasEvents(Protocol):
    @property
    def events(self) -> Sequence[type[Event]]: ...


Usable: TypeAlias = (
    Middleware
    | Tool
    | HookFunction
    | SessionHook
    | TurnHook
    | ModelHook
    | ToolHook
    | InitHook
    | DisposeHook
    | _HasTools
    | _HasState
    | _HasEvents
    | Renamed[Any]
    | Sequence["Usable"]
)
"""What `use()` takes: middleware, functions, tools, and lists of these."""


@dataclass(slots=True)
class Entry:
    """What was found on one middleware."""

    name: str
    thing: object
    hooks: dict[str, Callable[..., Any]] = field(default_factory=dict[str, Callable[..., Any]])
    tools: tuple[Tool, ...] = ()
    state: type[BaseModel] | None = None
    events: tuple[type[Event], ...] = ()
    order: Order = NO_RULES

    @property
    def owner(self) -> tuple[str, object, type[BaseModel]] | None:
        """Name, object and model of its state, where it has one."""
        return None if self.state is None else (self.name, self.thing, self.state)

    @property
    def area(self) -> str:
        """The area of its package: "guards" of agent_express_guards."""
        module = type(self.thing).__module__ if not inspect.isfunction(self.thing) else self.thing.__module__
        return module.partition(".")[0].removeprefix("agent_express_")

    def matches(self, rule: str) -> bool:
        """Whether an order rule speaks of it."""
        return rule in (self.name, self.area, f"{self.area}.{self.name}")


def owners(entries: Iterable[Entry]) -> list[tuple[str, object, type[BaseModel]]]:
    """Name, object and state model of those that have state."""
    return [entry.owner for entry in entries if entry.owner is not None]
