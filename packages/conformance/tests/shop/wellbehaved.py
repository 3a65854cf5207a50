"""Middleware that keep every promise."""

from __future__ import annotations

import asyncio
import random
import time
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
from agent_express.testing import FunctionModel


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
            return await next()

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


class Stamps(Middleware):
    """Note when a turn began, and a number drawn by chance."""

    class Stamp(BaseModel):
        """What was noted."""

        began: float = 0.0
        drawn: float = 0.0

    state = Stamp

    async def turn(self, ctx: TurnContext, next: Next[None]) -> None:
        ctx.state[self].began = time.time()
        ctx.state[self].drawn = random.random()
        await next()


async def passing(ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
    """Pass a model call on."""
    return await next()


def hook() -> Any:
    """Pass a model call on, as a function."""
    return passing


class Hurry(Middleware):
    """Give up on what takes too long.

    Args:
        seconds: How long a model or a tool may take.
    """

    def __init__(self, seconds: float = 30.0) -> None:
        self.seconds = seconds

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        async with asyncio.timeout(self.seconds):
            return await next()

    async def tool(self, ctx: ToolContext, next: Next[ToolResult]) -> ToolResult:
        async with asyncio.timeout(self.seconds):
            return await next()


class OneAtATime(Middleware):
    """Let one model call at a time through, of all sessions together."""

    def __init__(self) -> None:
        self.room = asyncio.Semaphore(1)

    async def turn(self, ctx: TurnContext, next: Next[None]) -> None:
        async with self.room:
            await next()


class Cache(Middleware):
    """Answer what was answered before."""

    def __init__(self) -> None:
        self.known: dict[str, ModelResponse] = {}

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        key = repr(ctx.messages)
        if key not in self.known:
            self.known[key] = await next()
        return self.known[key]


class Redactor(Middleware):
    """Hide mail addresses from whoever reads the stream and from the history."""

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> AsyncIterator[Event | End[ModelResponse]]:
        held = ""
        async for event in next():
            match event:
                case TextDelta():
                    held += event.text
                    if " " in held:
                        word, _, held = held.rpartition(" ")
                        yield TextDelta(self._hidden(f"{word} "))
                case End():
                    if held:
                        yield TextDelta(self._hidden(held))
                    yield event
                case _:
                    yield event

    def _hidden(self, text: str) -> str:
        return " ".join("[mail]" if "@" in word else word for word in text.split(" "))


class Helper(Middleware):
    """Hand tasks to an agent of its own, and sum up what was said in a form."""

    class Summary(BaseModel):
        """What was said."""

        topic: str
        weight: Annotated[int, Field(ge=3)]
        tags: list[str] = []

    def __init__(self) -> None:
        self.agent = agent_express.Agent(FunctionModel(lambda _: "Done."), name="helper")

    @agent_express.tool
    async def hand_over(self, ctx: ToolContext, task: str) -> str:
        """Hand over a task."""
        return (await ctx.run_agent(self.agent, task or "nothing")).text

    async def turn(self, ctx: TurnContext, next: Next[None]) -> None:
        await next()
        await ctx.ask("What was said?", output=self.Summary, purpose="summary")


class Threaded(Middleware):
    """Count words in a thread.

    Args:
        least: Words that count.
    """

    def __init__(self, least: int = 1) -> None:
        self.least = least

    @agent_express.tool
    def count_words(self, text: str) -> int:
        """Count the words of a text."""
        return len(text.split())

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        response = await next()
        await asyncio.to_thread(len, response.message.text)
        return response


class Remembers(Middleware):
    """Tell the model what day it is, and keep notes in the session."""

    class Notes(BaseModel):
        """What was noted."""

        lines: list[str] = []

    state = Notes

    async def session(self, ctx: SessionContext, next: Next[None]) -> None:
        ctx.resources[dict] = {}
        await next()

    async def turn(self, ctx: TurnContext, next: Next[None]) -> None:
        await next()
        ctx.state[self].lines.append(ctx.input.text)

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        ctx.add_system_message("Today is a day like any other.")
        for line in ctx.state[self].lines:
            ctx.add_system_message(line, section="notes")
        return await next()


class Signs(Middleware):
    """Put a line under what the caller gets, and leave the answer as it is."""

    async def turn(self, ctx: TurnContext, next: Next[None]) -> None:
        await next()
        if ctx.output is not None:
            ctx.deliver(f"{ctx.output.text}\nYours, Agent")


class HoldsBack(Middleware):
    """Hold the text of each model call back until all of it is there, and hand it on in one piece."""

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> AsyncIterator[Event | End[ModelResponse]]:
        held = ""
        async for event in next():
            if isinstance(event, TextDelta):
                held += event.text
                continue
            if isinstance(event, End) and held:
                yield TextDelta(held)
            yield event


class Approval(Middleware):
    """Refuse each tool that nobody has allowed.

    Args:
        allowed: The names of the tools that may be called.
    """

    def __init__(self, allowed: list[str] | None = None) -> None:
        self.allowed = allowed or []

    async def tool(self, ctx: ToolContext, next: Next[ToolResult]) -> ToolResult:
        if ctx.call.name not in self.allowed:
            return ctx.deny("nobody has allowed that")
        return await next()
