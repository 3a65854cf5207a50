"""Slow clients, late emitters, and what a streaming hook makes of its End."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from packages.core.tests.stacks import Noted
from packages.core.tests.stepping import ended, give_way, nothing_lost

from agent_express import (
    Agent,
    End,
    Events,
    Limits,
    Message,
    ModelContext,
    ModelRequest,
    ModelResponse,
    Next,
    TextDelta,
    ToolContext,
    ToolResult,
    TurnContext,
    tool,
)
from agent_express.errors import EventError, MissingEndError, RateLimitError, UseError
from agent_express.events import ModelCalled, ModelResponded
from agent_express.middleware import Usable
from agent_express.stream import ROOM
from agent_express.testing import FunctionModel, Say, ScriptedModel, call, check_history, names, no_leaks, text_of

OWN = ModelResponse(Message("assistant", "own"))


async def passes(ctx: ModelContext, next: Next[ModelResponse]) -> Events[ModelResponse]:
    async for event in next():
        yield event


async def passes_too(ctx: ModelContext, next: Next[ModelResponse]) -> Events[ModelResponse]:
    async for event in next():
        yield event


# --- slow clients ---------------------------------------------------------------------------------


@pytest.mark.parametrize("hooks", [0, 1, 2])
async def test_a_model_runs_ahead_of_a_client_that_does_not_read_by_a_bounded_number_of_events(hooks: int) -> None:
    made: list[int] = []

    async def endless(request: ModelRequest) -> AsyncIterator[Any]:
        while len(made) < 20 * ROOM:  # far more than it may make
            made.append(len(made))
            yield TextDelta(f"{len(made)} ")
            await asyncio.sleep(0)

    agent = Agent(FunctionModel(endless), use=[passes, passes_too][:hooks])
    async with agent, agent.session() as session, no_leaks(), session.stream("go") as events:
        await anext(events)
        before = -1
        while before != len(made):
            before = len(made)
            await give_way(50)
        # Each channel holds so many, and its reader may have taken as many out of it.
        assert ROOM <= len(made) <= (2 * ROOM + 1) * (hooks + 1)
        seen = [await anext(events) for _ in range(5 * ROOM)]
        texts = [int(event.text) for event in seen if isinstance(event, TextDelta)]
        assert texts == list(range(texts[0], texts[0] + len(texts)))


async def test_many_senders_share_a_channel_that_nobody_reads_and_lose_nothing_once_somebody_does() -> None:
    senders, each = 20, 50
    sent: list[str] = []

    @tool
    async def talk(ctx: ToolContext, n: int) -> str:
        """Say many things."""
        for k in range(each):
            await ctx.emit(TextDelta(f"{n}.{k}"))
            sent.append(f"{n}.{k}")
        return "said"

    model = ScriptedModel([call("talk", n=n) for n in range(senders)], "Done.")
    limits = Limits(max_batch=senders, max_parallel_tools=senders)
    agent = Agent(model, tools=[talk], limits=limits)
    async with agent, agent.session() as session, no_leaks(), session.stream("go") as events:
        seen: list[Any] = []
        while not any(isinstance(event, ModelResponded) for event in seen):
            seen.append(await anext(events))
        await give_way(100)
        assert len(sent) <= 2 * ROOM + senders
        seen += [event async for event in events]
    texts = [event.text for event in seen if isinstance(event, TextDelta) and "." in event.text[:-1]]
    for n in range(senders):
        assert [text for text in texts if text.startswith(f"{n}.")] == [f"{n}.{k}" for k in range(each)]


# --- after the end --------------------------------------------------------------------------------


async def test_what_a_background_task_emits_after_the_end_reaches_no_stream_and_hurts_nobody() -> None:
    go_on = asyncio.Event()
    tasks: list[asyncio.Task[None]] = []

    class StartsOne:
        events = (Noted,)

        async def turn(self, ctx: TurnContext, next: Next[None]) -> None:
            if not tasks:
                tasks.append(asyncio.create_task(self.late(ctx)))
            await next()

        async def late(self, ctx: TurnContext) -> None:
            await go_on.wait()
            for _ in range(3 * ROOM):
                await ctx.emit(TextDelta("late"))
            await ctx.emit(Noted("late too"))

    with nothing_lost():
        async with Agent(ScriptedModel("One.", "Two.")).use(StartsOne()) as agent, agent.session() as session:
            async with session.stream("go") as events:
                seen = [event async for event in events]
                go_on.set()
                await tasks[0]
                with pytest.raises(StopAsyncIteration):
                    await anext(events)
            async with session.stream("again") as events:
                seen += [event async for event in events]
            assert session.log.of(Noted) == [Noted("late too")]
            check_history(session.history)
    assert text_of(seen) == "One.Two."
    assert Noted("late too") not in seen


async def test_the_events_of_a_run_inside_a_tool_are_no_events_of_this_turn() -> None:
    other = Agent(ScriptedModel("Foreign words."), name="other")

    @tool
    async def asks() -> str:
        """Run another agent, on its own."""
        return (await other.run("?")).text

    agent = Agent(ScriptedModel([call("asks")], "My words."), tools=[asks]).use(passes)
    async with agent, agent.session() as session, session.stream("go") as events:
        seen = [event async for event in events]
    assert text_of(seen) == "My words."
    assert names(seen).count("TurnStarted") == names(seen).count("TurnEnded") == 1
    assert len([event for event in seen if isinstance(event, ModelCalled)]) == 2


# --- what a hook makes of its End -----------------------------------------------------------------


async def turn_replaces(ctx: TurnContext, next: Next[Any]) -> Events[Any]:
    async for event in next():
        yield End(Message("assistant", "own")) if isinstance(event, End) else event


async def model_replaces(ctx: ModelContext, next: Next[ModelResponse]) -> Events[ModelResponse]:
    async for event in next():
        yield End(OWN) if isinstance(event, End) else event


@pytest.mark.parametrize("hook", [turn_replaces, model_replaces])
async def test_an_end_that_a_hook_replaces_is_the_answer_the_caller_and_the_history_have(hook: Usable) -> None:
    async with Agent(FunctionModel(lambda _: "The model's words.")).use(hook) as agent, agent.session() as session:
        async with session.stream("go") as events:
            seen = [event async for event in events]
        assert events.answer.text == "own"
        assert isinstance(seen[-1], End)
        assert seen[-1].result is events.answer
        assert session.history[-1].text == "own"
        check_history(session.history)


async def drops_turn(ctx: TurnContext, next: Next[Any]) -> Events[Any]:
    async for event in next():
        if not isinstance(event, End):
            yield event


async def drops_model(ctx: ModelContext, next: Next[ModelResponse]) -> Events[ModelResponse]:
    async for event in next():
        if not isinstance(event, End):
            yield event


async def drops_tool(ctx: ToolContext, next: Next[ToolResult]) -> Events[ToolResult]:
    async for event in next():
        if not isinstance(event, End):
            yield event


@pytest.mark.parametrize("hook", [drops_turn, drops_model, drops_tool])
async def test_a_hook_without_an_end_is_named(hook: Callable[..., Any]) -> None:
    @tool
    async def look() -> str:
        """Look."""
        return "seen"

    agent = Agent(ScriptedModel([call("look")], "Done."), tools=[look]).use(hook)
    async with agent, agent.session() as session, no_leaks():
        with pytest.raises(MissingEndError, match=hook.__name__):
            await session.run("go")
        check_history(session.history)


async def test_an_end_is_yielded_not_emitted() -> None:
    async def emits(ctx: TurnContext, next: Next[None]) -> None:
        await next()
        end: Any = End(Message("assistant", "own"))
        await ctx.emit(end)

    async with Agent(ScriptedModel("Fine.")).use(emits) as agent:
        with pytest.raises(EventError, match="yielding End"):
            await agent.run("go")


async def test_a_streaming_turn_hook_sends_the_model_back_with_next_again() -> None:
    async def insists(ctx: TurnContext, next: Next[Any]) -> Events[Any]:
        async for event in next():
            if not isinstance(event, End):
                yield event
        async for event in next.again("Shorter."):
            yield event

    model = ScriptedModel("A long draft.", "Short.")
    async with Agent(model).use(insists) as agent, agent.session() as session, no_leaks():
        async with session.stream("go") as events:
            seen = [event async for event in events]
        assert events.answer.text == "Short."
        assert text_of(seen) == "Short."
        assert names(seen).count("End") == 1
        assert [(message.text, message.mark) for message in session.history] == [
            ("go", ""),
            ("A long draft.", "superseded"),
            ("Shorter.", ""),
            ("Short.", ""),
        ]


async def test_a_stream_fails_in_its_reader_after_everything_that_came_before() -> None:
    model = ScriptedModel(Say("Hel lo", error=RateLimitError("slow down")))
    async with Agent(model) as agent, agent.session() as session, session.stream("go") as events:
        seen: list[Any] = []
        got = await ended(asyncio.create_task(collect(events, seen)))
        assert isinstance(got, RateLimitError)
        assert names(seen)[-3:] == ["TextDelta", "TextDelta", "TurnEnded"]
        with pytest.raises(UseError, match="has not ended"):
            _ = events.answer


async def collect(events: AsyncIterator[Any], seen: list[Any]) -> None:
    async for event in events:
        seen.append(event)
