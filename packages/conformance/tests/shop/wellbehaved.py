"""Middleware that keep every promise."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field

import agent_express
from agent_express import (
    AgentContext,
    End,
    Event,
    Middleware,
    ModelContext,
    ModelResponse,
    Next,
    Order,
    SessionContext,
    TextDelta,
    ToolContext,
    ToolResult,
    TurnContext,
    private,
    scope,
)
from agent_express.errors import ModelError


class Budget(Middleware):
    """Abort the turn once the session has used *limit* tokens.

    Args:
        limit: Tokens a session may use.
        words: What to count as well.
    """

    class Used(BaseModel):
        """What was used."""

        tokens: int = 0

    state = Used

    def __init__(self, limit: Annotated[int, Field(ge=1)], words: list[str] | None = None) -> None:
        self.limit, self.words = limit, words or []

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        if ctx.state[self].tokens >= self.limit:
            ctx.abort("the budget is spent")
        response = await next()
        ctx.state[self].tokens += response.usage.total_tokens or 0
        return response


class Upper(Middleware):
    """Watch the stream on every level and hand it on."""

    async def turn(self, ctx: TurnContext, next: Next[Any]) -> AsyncIterator[Event | End[Any]]:
        async for event in next():
            yield event

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> AsyncIterator[Event | End[ModelResponse]]:
        held: list[TextDelta] = []
        async for event in next():
            if isinstance(event, TextDelta):
                held.append(event)
                continue
            for delta in held:
                await asyncio.sleep(0)
                yield delta
            held.clear()
            yield event

    async def tool(self, ctx: ToolContext, next: Next[ToolResult]) -> AsyncIterator[Event | End[ToolResult]]:
        result = await next()
        yield End(result)


class Planned(Event, type="desk:planned"):
    """A plan was made."""

    text: str


class Hinted(Event, type="desk:hinted", durable=False):
    """A hint for whoever listens."""

    text: str


class Desk(Middleware):
    """Keep a plan, with a tool to change it."""

    class Plan(BaseModel):
        """The plan."""

        steps: list[str] = []
        seen: Annotated[int, scope("turn")] = 0
        secret: Annotated[str, private] = ""

    state = Plan
    events = (Planned, Hinted)
    order = Order(inside=["auth"], requires=["auth"])

    def __init__(self, first: str = "look around") -> None:
        self.first = first

    @agent_express.tool
    async def plan_step(self, ctx: ToolContext, step: str) -> str:
        """Add a step to the plan.

        Args:
            step: What to do.
        """
        ctx.state[self].steps.append(step)
        await ctx.emit(Planned(step))
        return "noted"

    async def session(self, ctx: SessionContext, next: Next[None]) -> None:
        await next()

    async def turn(self, ctx: TurnContext, next: Next[None]) -> None:
        ctx.state[self].seen += 1
        await ctx.emit(Hinted(self.first))
        await next()


class Retry(Middleware):
    """Call a model that failed again, after a pause.

    Args:
        pause: Seconds between two tries.
    """

    def __init__(self, pause: float = 60.0) -> None:
        self.pause = pause

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        for _ in range(3):
            try:
                return await next()
            except ModelError as error:
                if not error.retryable:
                    raise
                await asyncio.sleep(self.pause)
        return await next()


class Worker(Middleware):
    """Hold a task from init to dispose, and a lock around each tool."""

    def __init__(self) -> None:
        self.tasks: list[asyncio.Task[Any]] = []
        self.lock = asyncio.Lock()

    async def init(self, ctx: AgentContext) -> None:
        task = asyncio.create_task(asyncio.sleep(1_000_000))
        try:
            await asyncio.sleep(0.5)
        except BaseException:
            await self._stop(task)
            raise
        self.tasks.append(task)

    async def dispose(self) -> None:
        while self.tasks:
            await self._stop(self.tasks.pop())

    async def _stop(self, task: asyncio.Task[Any]) -> None:
        task.cancel()
        await asyncio.wait([task])

    async def tool(self, ctx: ToolContext, next: Next[ToolResult]) -> ToolResult:
        async with self.lock:
            return await next()


class Guard(Middleware):
    """Ask a model beside the answer whether all is well, and note what was said when all is over."""

    async def _pieces(self) -> AsyncIterator[str]:
        for word in ("all", "is", "well"):
            await asyncio.sleep(0)
            yield word

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._check(ctx))
            response = await next()
        return response

    async def _check(self, ctx: ModelContext) -> None:
        async with aclosing(self._pieces()) as pieces:  # type: ignore[type-var]
            async for _ in pieces:
                pass
        if not ctx.purpose:
            await ctx.ask("Is this all right?", purpose="guard")

    async def turn(self, ctx: TurnContext, next: Next[None]) -> None:
        await next()

        async def later() -> None:
            await asyncio.sleep(1)

        ctx.defer(later)


class Diary(Middleware):
    """Write each answer into a file.

    Args:
        path: The file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    async def turn(self, ctx: TurnContext, next: Next[None]) -> None:
        await next()
        with self.path.open("a", encoding="utf-8") as file:
            file.write(f"{ctx.output.text if ctx.output else ''}\n")


async def passing(ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
    """Pass a model call on."""
    return await next()


def hook() -> Any:
    """Pass a model call on, as a function."""
    return passing
