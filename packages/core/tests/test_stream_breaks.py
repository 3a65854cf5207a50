"""Streams that break off, stand still, are left, dropped, or held up; and what a streaming hook makes of its End."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncIterator
from typing import Any

import pytest
from packages.core.tests.stepping import give_way, until

from agent_express import (
    Agent,
    End,
    Event,
    Events,
    Message,
    ModelContext,
    ModelRequest,
    ModelResponse,
    Next,
    TextDelta,
    TurnEnded,
)
from agent_express.errors import (
    ProviderUnavailableError,
    RateLimitError,
    UseError,
    WrongResultError,
)
from agent_express.events import Restarted
from agent_express.middleware import Usable
from agent_express.stream import ROOM
from agent_express.testing import FunctionModel, Say, ScriptedModel, check_history, no_leaks, text_of

OWN = ModelResponse(Message("assistant", "own"))


def long_answer(pieces: int = 1_000) -> FunctionModel:
    """A model that always says as much."""
    return FunctionModel(lambda _: Say([f"{n} " for n in range(pieces)]))


async def passes(ctx: ModelContext, next: Next[ModelResponse]) -> Events[ModelResponse]:
    async for event in next():
        yield event


# --- models that break off ------------------------------------------------------------------------


async def stream_of(kind: str) -> AsyncIterator[Any]:
    """What a broken model yields."""
    yield TextDelta("Hel")
    match kind:
        case "raises":
            raise RateLimitError("slow down")
        case "stops":
            return
        case "yields text":
            yield "lo"
        case "yields None":
            yield None
        case "yields a response":
            yield OWN
        case "ends with text":
            yield End("lo")
        case _:
            yield End(None)


BROKEN: dict[str, type[Exception]] = {
    "raises": RateLimitError,
    "stops": ProviderUnavailableError,
    "yields text": WrongResultError,
    "yields None": WrongResultError,
    "yields a response": WrongResultError,
    "ends with text": WrongResultError,
    "ends with None": WrongResultError,
}


@pytest.mark.parametrize("how", ["run", "stream"])
@pytest.mark.parametrize("hooks", [[], [passes], [passes, passes]], ids=["bare", "one hook", "two hooks"])
@pytest.mark.parametrize(("kind", "error"), BROKEN.items(), ids=BROKEN)
async def test_a_broken_model_fails_by_its_own_name_however_it_is_called(
    kind: str, error: type[Exception], hooks: list[Usable], how: str
) -> None:
    model = FunctionModel(lambda request: "Fine." if len(request.messages) > 1 else stream_of(kind), name="acme:broken")
    async with Agent(model, use=hooks[:1]).use([twin(each) for each in hooks[1:]]) as agent, agent.session() as session:
        async with no_leaks():
            with pytest.raises(error) as caught:
                if how == "run":
                    await session.run("go")
                else:
                    async with session.stream("go") as events:
                        async for event in events:
                            assert isinstance(event, Event | End)
            if kind != "raises":
                assert "acme:broken" in str(caught.value)
        assert [each.status for each in session.log.of(TurnEnded)] == ["failed"]
        assert (await session.run("again")).text == "Fine."
        check_history(session.history)


def twin(hook: Any) -> Usable:
    """The same hook once more, under another name."""

    async def passes_too(ctx: ModelContext, next: Next[ModelResponse]) -> Events[ModelResponse]:
        async for event in hook(ctx, next):
            yield event

    return passes_too


async def test_a_retry_after_a_broken_stream_tells_the_client_to_discard_what_it_has() -> None:
    async def retry(ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        try:
            return await next()
        except RateLimitError:
            return await next()

    model = ScriptedModel(Say("Hel lo", error=RateLimitError("slow down"), fail_after=1), "Hello you")
    async with Agent(model).use(retry) as agent, agent.session() as session, session.stream("go") as events:
        seen = [event async for event in events]
    assert text_of(seen) == "Hello you"
    assert [event for event in seen if isinstance(event, Restarted)] == [Restarted("retry", 2, "model")]


async def test_a_model_whose_stream_is_no_generator_will_do() -> None:
    class Plain:
        def __init__(self) -> None:
            self.items: list[Any] = [TextDelta("Hi"), End(ModelResponse(Message("assistant", "Hi")))]

        def __aiter__(self) -> Plain:
            return self

        async def __anext__(self) -> Any:
            if not self.items:
                raise StopAsyncIteration
            return self.items.pop(0)

    class Model:
        name = "acme:plain"

        def stream(self, request: ModelRequest) -> Plain:
            return Plain()

    async with Agent(Model()) as agent:
        assert (await agent.run("go")).text == "Hi"


# --- leaving and dropping -------------------------------------------------------------------------


async def test_leaving_the_block_closes_the_providers_stream_before_the_next_line() -> None:
    model = long_answer()
    async with Agent(model).use(passes) as agent, agent.session() as session, no_leaks():
        async with session.stream("go") as events:
            async for event in events:
                if isinstance(event, TextDelta):
                    break
            assert model.open_streams == 1
        assert model.open_streams == 0
        assert [each.status for each in session.log.of(TurnEnded)] == ["cancelled"]


async def test_an_error_in_the_clients_block_comes_out_of_it_and_the_turn_is_cancelled() -> None:
    model = long_answer()
    async with Agent(model) as agent, agent.session() as session, no_leaks():
        with pytest.raises(ZeroDivisionError):
            async with session.stream("go") as events:
                async for _ in events:
                    raise ZeroDivisionError
        assert model.open_streams == 0
        assert (await session.run("again", model=ScriptedModel("Fine."))).text == "Fine."


async def test_a_streaming_hook_that_breaks_off_closes_what_is_further_in_when_it_says_its_end() -> None:
    trail: list[str] = []

    async def cut(ctx: ModelContext, next: Next[ModelResponse]) -> Events[ModelResponse]:
        async for event in next():
            if isinstance(event, TextDelta):
                yield event
                break
        yield End(OWN)
        trail.append(f"outer ends, {model.open_streams} open")

    async def inner(ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        try:
            return await next()
        finally:
            trail.append("inner ends")

    model = long_answer()
    async with Agent(model).use(cut, inner) as agent, agent.session() as session, no_leaks():
        assert (await session.run("go")).text == "own"
    assert trail == ["inner ends", "outer ends, 0 open"]


@pytest.mark.parametrize("read", [0, 1, 5])
async def test_a_stream_that_is_dropped_without_being_left_frees_the_session(read: int) -> None:
    model = long_answer()
    async with Agent(model).use(passes) as agent, agent.session() as session:
        events = session.stream("go")
        await events.__aenter__()
        for _ in range(read):
            await anext(events)
        await give_way(3)
        del events
        gc.collect()
        answer = await session.run("again", model=ScriptedModel("Fine."), on_busy="wait")
        assert answer.text == "Fine."
        assert model.open_streams == 0
        assert [each.status for each in session.log.of(TurnEnded)] == ["cancelled", "completed"]
        check_history(session.history)


async def test_a_stream_has_one_reader() -> None:
    go_on = asyncio.Event()
    model = ScriptedModel(Say("a b", delay=go_on, delay_after=1))
    async with Agent(model) as agent, agent.session() as session, no_leaks(), session.stream("go") as events:
        while not isinstance(await anext(events), TextDelta):
            pass
        first = asyncio.ensure_future(anext(events))
        await give_way(3)
        second = asyncio.ensure_future(anext(events))
        await give_way(3)
        go_on.set()
        await until(lambda: first.done() and second.done())
        assert await first == TextDelta(" b")
        with pytest.raises(UseError, match="one reader"):
            await second


async def test_a_stream_that_is_never_entered_does_nothing() -> None:
    model = ScriptedModel("Fine.")
    async with Agent(model) as agent, agent.session() as session, no_leaks():
        stream = session.stream("go")
        with pytest.raises(UseError, match="entered first"):
            await anext(stream)
        assert len(session.log.of(TurnEnded)) == 0
        assert (await session.run("go")).text == "Fine."


async def test_clean_up_that_emits_much_does_not_wait_for_a_client_that_has_left() -> None:
    async def chatty(ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        try:
            return await next()
        finally:
            for _ in range(5 * ROOM):
                await ctx.emit(TextDelta("bye "))

    model = ScriptedModel(Say("a b", delay=asyncio.Event(), delay_after=1))
    async with Agent(model).use(chatty) as agent, agent.session() as session, no_leaks():
        leaving = asyncio.create_task(leave_on_text(session.stream("go")))
        await until(leaving.done)
        assert await leaving == "left"


async def test_clean_up_that_emits_much_does_not_wait_for_a_hook_that_broke_off() -> None:
    async def cut(ctx: ModelContext, next: Next[ModelResponse]) -> Events[ModelResponse]:
        async for event in next():
            if isinstance(event, TextDelta):
                break
        yield End(OWN)

    async def chatty(ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        try:
            return await next()
        finally:
            for _ in range(5 * ROOM):
                await ctx.emit(TextDelta("bye "))

    async with Agent(long_answer()).use(cut, chatty) as agent, agent.session() as session, no_leaks():
        running = asyncio.create_task(session.run("go"))
        await until(running.done)
        assert (await running).text == "own"


async def leave_on_text(stream: Any) -> str:
    async with stream as events:
        async for event in events:
            if isinstance(event, TextDelta):
                break
    return "left"
