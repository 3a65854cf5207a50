"""Not good enough, go on: `continue_turn` inside the loop, `next.again` around it."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import pytest

from agent_express import (
    Agent,
    Answer,
    End,
    Events,
    Limits,
    Message,
    ModelContext,
    ModelResponse,
    Next,
    SessionContext,
    ToolContext,
    ToolResult,
    TurnContext,
    tool,
)
from agent_express.errors import HookError, TurnError
from agent_express.events import Restarted, TurnContinued, TurnStarted
from agent_express.testing import FunctionModel, ScriptedModel, assert_events, call, check_history, text_of

Passing = Next[ModelResponse]


@tool
async def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


def told(message: str, times: int = 1) -> Any:
    """A model hook that sends the model back to work *times* times."""
    left = [message] * times

    async def guard(ctx: ModelContext, next: Passing) -> ModelResponse:
        response = await next()
        if left:
            ctx.continue_turn(left.pop())
        return response

    return guard


async def reviews(ctx: TurnContext, next: Next[None]) -> None:
    """A turn hook that asks for one more round."""
    await next()
    await next.again("shorter")


def texts(model: ScriptedModel | FunctionModel, request: int = -1) -> list[str]:
    return [message.text for message in model.requests[request].messages]


async def run(*hooks: Any, model: Any, limits: Limits | None = None) -> Answer[str]:
    answer = await Agent(model, tools=[add], limits=limits).use(*hooks).run("hi")
    for request in model.requests:
        check_history(request.messages)
    return answer


# --- continue_turn: inside the loop -------------------------------------------------------------


async def test_continue_turn_makes_the_loop_take_the_message_and_go_on() -> None:
    model = ScriptedModel("draft", "final")
    answer = await run(told("shorter"), model=model)
    assert answer.text == "final"
    assert texts(model) == ["hi", "draft", "shorter"]


async def test_the_message_carries_its_origin_and_the_draft_stays_marked_superseded() -> None:
    async with Agent(ScriptedModel("draft", "final")).use(told("shorter")) as agent, agent.session() as session:
        await session.run("hi")
        assert [(message.text, message.origin, message.mark) for message in session.history] == [
            ("hi", "", ""),
            ("draft", "", "superseded"),
            ("shorter", "guard", ""),
            ("final", "", ""),
        ]
        check_history(session.history)


async def test_a_continuation_is_an_event_and_the_stream_says_restarted() -> None:
    agent = Agent(ScriptedModel("draft", "final")).use(told("shorter"))
    async with agent, agent.session() as session, session.stream("hi") as stream:
        events = [event async for event in stream]
    assert_events(events, Restarted("guard", 2, "turn"))
    assert_events(
        stream.answer.events,
        TurnContinued("guard", 1, Message("user", "shorter", origin="guard")),
        Restarted("guard", 2, "turn"),
    )
    assert text_of(events) == "final"


async def test_the_message_follows_the_results_of_open_calls() -> None:
    model = ScriptedModel([call("add", a=1)], "done")
    await run(told("and hurry"), model=model)
    assert [message.role for message in model.requests[1].messages] == ["user", "assistant", "tool", "user"]
    assert texts(model)[-1] == "and hurry"


async def test_a_tool_and_a_tool_hook_can_continue_the_turn_too() -> None:
    @tool
    async def remind(ctx: ToolContext) -> str:
        """Remind."""
        ctx.continue_turn("from the tool")
        return "reminded"

    async def hook(ctx: ToolContext, next: Next[ToolResult]) -> ToolResult:
        result = await next()
        ctx.continue_turn("from the hook")
        return result

    model = ScriptedModel([call("remind")], "done")
    await Agent(model, tools=[remind]).run("hi")
    assert texts(model)[-1] == "from the tool"
    model = ScriptedModel([call("add", a=1)], "done")
    await Agent(model, tools=[add]).use(hook).run("hi")
    assert texts(model)[-1] == "from the hook"


async def test_of_several_continuations_of_one_step_none_is_lost() -> None:
    async def hook(ctx: ToolContext, next: Next[ToolResult]) -> ToolResult:
        ctx.continue_turn(f"mind {ctx.args['a']}")
        return await next()

    model = ScriptedModel([call("add", a=1), call("add", a=2)], "done")
    answer = await run(hook, model=model)
    assert texts(model)[-2:] == ["mind 1", "mind 2"]
    assert answer.text == "done"


async def test_continue_turn_after_the_loop_says_what_a_turn_hook_writes_instead() -> None:
    async def late(ctx: TurnContext, next: Next[None]) -> None:
        await next()
        ctx.continue_turn("more")

    with pytest.raises(HookError) as caught:
        await run(late, model=ScriptedModel("done"))
    assert str(caught.value) == ("late: continue_turn() after the loop has ended; write `await next.again(message)`")


async def test_continue_turn_before_the_loop_does_not_say_that_it_has_ended() -> None:
    async def early(ctx: TurnContext, next: Next[None]) -> None:
        ctx.continue_turn("more")

    with pytest.raises(HookError, match=r"^early: continue_turn\(\) before the loop"):
        await run(early, model=ScriptedModel())


# --- next.again: around the loop ----------------------------------------------------------------


async def test_next_again_with_a_message_shows_the_model_the_draft_and_takes_the_last_answer() -> None:
    model = ScriptedModel("draft", "final")
    answer = await run(reviews, model=model)
    assert answer.text == "final"
    assert texts(model) == ["hi", "draft", "shorter"]
    assert_events(answer.events, TurnContinued("reviews", 1, Message("user", "shorter", origin="reviews")))
    assert_events(answer.events, Restarted("reviews", 2, "turn"))


async def test_next_again_without_a_message_takes_the_draft_out_first() -> None:
    async def reruns(ctx: TurnContext, next: Next[None]) -> None:
        await next()
        await next.again()

    model = ScriptedModel([call("add", a=1)], "draft", "final")
    async with Agent(model, tools=[add]).use(reruns) as agent, agent.session() as session:
        answer = await session.run("hi")
        assert [message.role for message in session.history] == ["user", "assistant", "tool", "assistant"]
        check_history(session.history)
    assert answer.text == "final"
    assert model.requests[1].messages == model.requests[2].messages


async def test_a_streaming_turn_hook_drops_the_end_it_saw_and_iterates_again() -> None:
    async def reviews_live(ctx: TurnContext, next: Next[None]) -> Events[Any]:
        async for event in next():
            if not isinstance(event, End):
                yield event
        async for event in next.again("shorter"):
            yield event

    agent = Agent(ScriptedModel("a draft", "final")).use(reviews_live)
    async with agent, agent.session() as session, session.stream("hi") as stream:
        events = [event async for event in stream]
    assert (stream.answer.text, text_of(events)) == ("final", "final")
    assert_events(events, Restarted("reviews_live", 2, "turn"))


async def test_a_message_that_is_a_message_keeps_its_parts() -> None:
    async def reviews_at_length(ctx: TurnContext, next: Next[None]) -> None:
        await next()
        await next.again(Message("user", "shorter", origin="the boss"))

    async with Agent(ScriptedModel("draft", "final")).use(reviews_at_length) as agent, agent.session() as session:
        await session.run("hi")
        assert session.history[2] == Message("user", "shorter", origin="the boss")


# --- what both share ----------------------------------------------------------------------------


async def test_a_continuation_opens_no_new_turn() -> None:
    async with Agent(ScriptedModel("draft", "final", "next")).use(told("more")) as agent, agent.session() as session:
        await session.run("hi")
        await session.run("again")
        assert [event.index for event in session.log.of(TurnStarted)] == [0, 1]


@pytest.mark.parametrize("how", ["continue_turn", "again"])
async def test_continuations_are_limited_and_the_limit_names_the_middleware(how: str) -> None:
    async def insists(ctx: TurnContext, next: Next[None]) -> None:
        await next()
        while how == "again":
            await next.again("more")

    async def nags(ctx: ModelContext, next: Passing) -> ModelResponse:
        if how == "continue_turn":
            ctx.continue_turn("more")
        return await next()

    model = FunctionModel(lambda request: "no")
    by = "insists" if how == "again" else "nags"
    with pytest.raises(TurnError) as caught:
        await run(insists, nags, model=model, limits=Limits(max_continuations=3))
    assert str(caught.value) == (f"{by}: the turn was continued 3 times, which is its limit (max_continuations)")
    assert len(model.requests) == 4


async def test_eight_continuations_are_allowed_by_default_whoever_asks_for_them() -> None:
    model = FunctionModel(lambda request: "no")
    answer = await run(reviews, told("more", times=7), model=model)
    assert [event.n for event in answer.events if isinstance(event, TurnContinued)] == list(range(1, 9))
    with pytest.raises(TurnError, match="the turn was continued 8 times"):
        await run(reviews, told("more", times=8), model=FunctionModel(lambda request: "no"))


async def test_a_recorded_final_answer_that_nothing_superseded_is_not_asked_for_again() -> None:
    fails = [ValueError("after the answer")]

    async def retry(ctx: TurnContext, next: Next[None]) -> None:
        with suppress(ValueError):
            return await next()
        return await next()

    async def stumbles(ctx: TurnContext, next: Next[None]) -> None:
        await next()
        if fails:
            raise fails.pop()

    model = ScriptedModel("the answer")
    answer = await run(retry, stumbles, model=model)
    assert (answer.text, len(model.requests)) == ("the answer", 1)


async def test_usage_and_steps_count_over_all_rounds_of_a_turn() -> None:
    answer = await run(reviews, told("more"), model=ScriptedModel("one", "two", "three"))
    assert answer.usage.model_calls == 3


async def test_the_history_of_the_next_turn_shows_whose_words_were_whose() -> None:
    seen: list[list[str]] = []

    async def look(ctx: SessionContext, next: Next[None]) -> None:
        await next()
        seen.append([message.origin or message.role for message in ctx.history])

    async with Agent(ScriptedModel("draft", "final")).use(look, reviews) as agent, agent.session() as session:
        await session.run("hi")
    assert seen == [["user", "assistant", "reviews", "assistant"]]
