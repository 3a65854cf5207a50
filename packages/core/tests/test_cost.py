"""What a turn costs, in Python functions entered: a number without noise, the same on every machine of one Python."""

from __future__ import annotations

import gc
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from types import FrameType

import pytest

from agent_express import (
    Agent,
    End,
    Event,
    Message,
    ModelContext,
    ModelRequest,
    ModelResponse,
    Next,
    Session,
    ToolCall,
    ToolContext,
    ToolResult,
    TurnContext,
    Usage,
    named,
    tool,
)

TURN = 300
"""Calls that a turn of two model calls and one tool call may make."""
STREAM = 100
"""And what a stream, which hands each event from one task to another, may add."""
MIDDLEWARE = 15
"""And a middleware with a turn, a model and a tool hook: four hook calls."""


class AtOnce:
    """A model that asks for one tool call and then answers, without a wait."""

    name = "fake:at-once"

    async def stream(self, request: ModelRequest) -> AsyncIterator[Event | End[ModelResponse]]:
        asked = request.messages[-1].role == "user"
        said = [ToolCall("c0", "lookup", '{"q": "x"}')] if asked else "done"
        yield End(ModelResponse(Message("assistant", said), Usage(10, 10)))


@tool
async def lookup(q: str) -> str:
    return "ok:" + q


class Idle:
    async def turn(self, ctx: TurnContext, next: Next[None]) -> None:
        return await next()

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        return await next()

    async def tool(self, ctx: ToolContext, next: Next[ToolResult]) -> ToolResult:
        return await next()


async def run(session: Session) -> None:
    assert (await session.run("hi")).text == "done"


async def stream(session: Session) -> None:
    async with session.stream("hi") as events:
        async for _ in events:
            pass
    assert events.answer.text == "done"


async def counted(work: Callable[[], Awaitable[None]]) -> int:
    """How many Python functions *work* enters; a coroutine that goes on counts again."""
    calls = 0

    def note(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event == "call"

    before = sys.getprofile()
    gc.disable()  # finalizers of other people's objects are no calls of ours
    sys.setprofile(note)
    try:
        await work()
    finally:
        sys.setprofile(before)
        gc.enable()
    return calls


async def calls_of_a_turn(how: Callable[[Session], Awaitable[None]], middleware: int = 0) -> int:
    """Of a turn in a session of its own, opening and closing it included; the first one, which fills caches, is not."""
    agent = Agent(AtOnce(), instructions="be brief", tools=[lookup])
    agent.use([named(f"idle-{n}", Idle()) for n in range(middleware)])

    async def work() -> None:
        async with agent.session() as session:
            await how(session)

    async with agent:
        await work()
        return await counted(work)


async def test_a_turn_stays_within_its_function_calls() -> None:
    assert await calls_of_a_turn(run) <= TURN


async def test_a_stream_stays_within_its_function_calls() -> None:
    assert await calls_of_a_turn(stream) <= TURN + STREAM


@pytest.mark.parametrize("how", [run, stream])
async def test_a_middleware_adds_no_more_than_its_function_calls(how: Callable[[Session], Awaitable[None]]) -> None:
    bare, stacked = await calls_of_a_turn(how), await calls_of_a_turn(how, 10)
    assert stacked - bare <= 10 * MIDDLEWARE


@pytest.mark.parametrize("how", [run, stream])
async def test_the_number_is_the_same_at_every_turn(how: Callable[[Session], Awaitable[None]]) -> None:
    assert len({await calls_of_a_turn(how) for _ in range(5)}) == 1
