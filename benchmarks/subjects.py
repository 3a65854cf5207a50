"""What is measured of the framework: an agent that does what the floors do, and middleware that does nothing."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any

from pydantic import BaseModel

from agent_express import (
    Agent,
    End,
    Event,
    Events,
    Message,
    ModelRequest,
    ModelResponse,
    TextDelta,
    ToolCall,
    Usage,
    named,
    tool,
)
from agent_express.typing import Usable
from benchmarks.floors import Level, lookup
from benchmarks.measure import Work

Hooks = Mapping[str, Callable[..., Any]]


class FakeModel:
    """Answers a user with tool calls and anything else with "done", at once.

    Args:
        calls: Tool calls of the first answer.
    """

    name = "fake:at-once"

    def __init__(self, calls: int = 1) -> None:
        wanted = tuple([ToolCall(f"c{n}", "lookup", '{"q": "x"}') for n in range(calls)])
        self._wanted = End(ModelResponse(Message("assistant", wanted), Usage(10, 10), "tool_calls"))
        self._done = End(ModelResponse(Message("assistant", "done"), Usage(10, 10)))

    async def stream(self, request: ModelRequest) -> AsyncIterator[Event | End[ModelResponse]]:
        """One answer."""
        yield self._wanted if request.messages[-1].role == "user" else self._done


class Walker:
    """Takes *steps* tool calls one after the other, then answers."""

    name = "fake:walks"

    def __init__(self, steps: int) -> None:
        self._steps = steps
        self._wanted = [
            End(ModelResponse(Message("assistant", [ToolCall(f"c{n}", "lookup", '{"q": "x"}')]), Usage(10, 10)))
            for n in range(steps)
        ]
        self._done = End(ModelResponse(Message("assistant", "done"), Usage(10, 10)))

    async def stream(self, request: ModelRequest) -> AsyncIterator[Event | End[ModelResponse]]:
        """One answer."""
        taken = len(request.messages) // 2  # after the user's message, each step adds a call and its result
        yield self._wanted[taken] if taken < self._steps else self._done


class Talker:
    """Says *deltas* pieces of text and suspends before each, as a model behind a socket does."""

    name = "fake:talks"

    def __init__(self, deltas: int) -> None:
        self._deltas = deltas
        self._done = End(ModelResponse(Message("assistant", "done"), Usage(10, 10)))

    async def stream(self, request: ModelRequest) -> AsyncIterator[Event | End[ModelResponse]]:
        """One answer."""
        for _ in range(self._deltas):
            await asyncio.sleep(0)
            yield TextDelta("tok ")
        yield self._done


class Gate:
    """Holds back all who come, until it is opened."""

    def __init__(self) -> None:
        self._opened = asyncio.Event()
        self._arrived = asyncio.Condition()
        self._waiting = 0

    async def passed(self) -> None:
        """Wait until the gate is open."""
        async with self._arrived:
            self._waiting += 1
            self._arrived.notify_all()
        await self._opened.wait()

    async def reached(self, count: int) -> None:
        """Wait until *count* wait at the gate."""
        async with self._arrived:
            await self._arrived.wait_for(lambda: self._waiting >= count)

    def open(self) -> None:
        """Let all pass."""
        self._opened.set()

    def close(self) -> None:
        """Hold back whoever comes from now on."""
        self._opened.clear()
        self._waiting = 0


class Waiter:
    """Answers once the gate is open."""

    name = "fake:waits"

    def __init__(self, gate: Gate) -> None:
        self._gate = gate
        self._done = End(ModelResponse(Message("assistant", "done"), Usage(10, 10)))

    async def stream(self, request: ModelRequest) -> AsyncIterator[Event | End[ModelResponse]]:
        """One answer."""
        await self._gate.passed()
        yield self._done


async def _awaits(self: object, ctx: object, next: Callable[[], Awaitable[Any]]) -> Any:
    return await next()


async def _streams(self: object, ctx: object, next: Callable[[], AsyncIterator[Any]]) -> Events[Any]:
    async for event in next():
        yield event


def idlers(layers: int, levels: Sequence[Level], *, streaming: bool = False) -> list[Any]:
    """Middleware that does nothing on each of *levels*."""
    kind: Any = type("Idler", (), dict.fromkeys(levels, _streams if streaming else _awaits))
    return [named(f"idler-{number}", kind()) for number in range(layers)]


class Count(BaseModel):
    """A state of one number."""

    n: int = 0


class Counter:
    """Changes its state once per step."""

    state = Count

    async def model(self, ctx: Any, next: Callable[[], Awaitable[Any]]) -> Any:
        """Count, then go on."""
        ctx.state[self].n += 1
        return await next()


def agent(*use: Usable, model: Any = None) -> Agent:
    """An agent with the tool and the instructions of the floors."""
    return Agent(model or FakeModel(), instructions="be brief", tools=[tool(lookup)], use=use)


def turns(agent: Agent) -> Work:
    """A turn by `run`, in a session of its own."""

    async def work() -> object:
        return await agent.run("hi")

    return work


def session_turns(agent: Agent) -> Work:
    """A turn by `run` with the session written out."""

    async def work() -> object:
        async with agent.session() as session:
            return await session.run("hi")

    return work


def streamed_turns(agent: Agent) -> Work:
    """A turn by `stream`, in a session of its own."""

    async def work() -> object:
        seen = 0
        async with agent.session() as session, session.stream("hi") as events:
            async for _ in events:
                seen += 1
        return seen

    return work


def sessions(agent: Agent) -> Work:
    """A session, opened and closed."""

    async def work() -> object:
        async with agent.session() as session:
            return session.id

    return work
