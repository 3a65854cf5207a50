"""What stands around the middleware under test: one layer outside that sees what comes out, one inside that sees what
goes in. Both pass everything on.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from agent_express import (
    End,
    Event,
    ModelContext,
    ModelResponse,
    Next,
    SessionContext,
    ToolContext,
    ToolResult,
    TurnContext,
)

LEVELS = ("turn", "model", "tool")
Act: TypeAlias = Callable[[], Awaitable[object]]


class FaultError(Exception):
    """A failure that no middleware can know."""


@dataclass(slots=True, eq=False)
class Passage:
    """One call of a hook of the middleware, seen from outside and from inside.

    Attributes:
        level: "turn", "model" or "tool".
        session: The session's id.
        entered: How often the inside was entered: how often the hook called `next()`, whatever it caught.
        given: What the inside gave, call by call: a result or an exception.
        result: What came out; None while it runs and where it failed.
        error: What came out instead.
        about: The name of the tool, of a tool call.
    """

    level: str
    session: str
    entered: int = 0
    given: list[Any] = field(default_factory=list[Any])
    result: Any = None
    error: BaseException | None = None
    about: str = ""


_here: dict[str, ContextVar[Passage | None]] = {
    level: ContextVar(f"agent_express_conformance_{level}", default=None) for level in LEVELS
}


def _result(level: str, ctx: Any, returned: Any) -> Any:
    return ctx.output if level == "turn" else returned


class Outer:
    """Stands right outside of the middleware and keeps what passes.

    Attributes:
        passages: Every call of a hook, in the order in which they began.
    """

    name = "conformance-outer"

    def __init__(self) -> None:
        self.passages: list[Passage] = []

    async def turn(self, ctx: TurnContext, next: Next[None]) -> None:
        """Wrap a turn."""
        await self._around("turn", ctx, next)

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        """Wrap a model call."""
        response: ModelResponse = await self._around("model", ctx, next)
        return response

    async def tool(self, ctx: ToolContext, next: Next[ToolResult]) -> ToolResult:
        """Wrap a tool call."""
        result: ToolResult = await self._around("tool", ctx, next)
        return result

    async def _around(self, level: str, ctx: TurnContext, next: Next[Any]) -> Any:
        passage = Passage(level, ctx.session_id, about=ctx.call.name if isinstance(ctx, ToolContext) else "")
        self.passages.append(passage)
        before = _here[level].set(passage)
        try:
            returned = await next()
            passage.result = _result(level, ctx, returned)
            return returned
        except BaseException as error:
            passage.error = error
            raise
        finally:
            _here[level].reset(before)

    def of(self, level: str) -> list[Passage]:
        """The passages of one level."""
        return [passage for passage in self.passages if passage.level == level]


class Inner:
    """Stands right inside of the middleware, keeps what it gives, and does what a check asks for.

    Attributes:
        act: By level, what to do in the next call of that level before it goes on: raise, or wait.
        tools: The names of the tools on offer, as last seen.
        requests: What a model was about to be sent, by session.
    """

    name = "conformance-inner"

    def __init__(self) -> None:
        self.act: dict[str, Act] = {}
        self.tools: set[str] = set()
        self.requests: list[tuple[str, Any]] = []

    async def session(self, ctx: SessionContext, next: Next[None]) -> None:
        """Wrap a session."""
        self.tools |= set(ctx.tools)
        await next()

    async def turn(self, ctx: TurnContext, next: Next[None]) -> None:
        """Wrap a turn."""
        await self._inside("turn", ctx, next)

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        """Wrap a model call."""
        self.requests.append((ctx.session_id, ctx.request))
        response: ModelResponse = await self._inside("model", ctx, next)
        return response

    async def tool(self, ctx: ToolContext, next: Next[ToolResult]) -> ToolResult:
        """Wrap a tool call."""
        result: ToolResult = await self._inside("tool", ctx, next)
        return result

    async def _inside(self, level: str, ctx: TurnContext, next: Next[Any]) -> Any:
        self.tools |= set(ctx.tools)
        passage = _here[level].get() or Passage(level, ctx.session_id)
        passage.entered += 1
        try:
            act = self.act.pop(level, None)
            await asyncio.sleep(0)  # so that something can strike while a hook waits for its next()
            if act is not None:
                await act()
            returned = await next()
            await asyncio.sleep(0)
        except BaseException as error:
            passage.given.append(error)
            raise
        passage.given.append(_result(level, ctx, returned))
        return returned


class Quiet:
    """A neighbour that passes everything on, with hooks that return."""

    def __init__(self, name: str = "conformance-quiet") -> None:
        self.name = name

    async def turn(self, ctx: TurnContext, next: Next[None]) -> None:
        """Wrap a turn."""
        await next()

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        """Wrap a model call."""
        return await next()

    async def tool(self, ctx: ToolContext, next: Next[ToolResult]) -> ToolResult:
        """Wrap a tool call."""
        return await next()


class Flowing:
    """A neighbour that passes everything on, with hooks that yield."""

    def __init__(self, name: str = "conformance-flowing") -> None:
        self.name = name

    async def turn(self, ctx: TurnContext, next: Next[Any]) -> AsyncIterator[Event | End[Any]]:
        """Wrap a turn."""
        async for event in next():
            yield event

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> AsyncIterator[Event | End[ModelResponse]]:
        """Wrap a model call."""
        async for event in next():
            yield event

    async def tool(self, ctx: ToolContext, next: Next[ToolResult]) -> AsyncIterator[Event | End[ToolResult]]:
        """Wrap a tool call."""
        async for event in next():
            yield event


class StandIn:
    """Takes the place of a middleware that the one under test requires."""

    def __init__(self, name: str) -> None:
        self.name = name

    async def turn(self, ctx: TurnContext, next: Next[None]) -> None:
        """Wrap a turn."""
        await next()


class FailsToOpen:
    """A neighbour whose `init` fails as long as *broken* is true."""

    name = "conformance-broken"

    def __init__(self) -> None:
        self.broken = True

    async def init(self, ctx: Any) -> None:
        """Fail, or get ready."""
        await asyncio.sleep(0)
        if self.broken:
            raise FaultError("a neighbour cannot be opened")
