"""Limits: steps, time, batches, parallel tools; and that budgets count every real call."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from agent_express import (
    Agent,
    Answer,
    Limits,
    Middleware,
    ModelContext,
    ModelResponse,
    Next,
    ToolContext,
    ToolResult,
    TurnContext,
    tool,
)
from agent_express.errors import ProviderUnavailableError, TurnAbortedError, TurnTimeoutError
from agent_express.events import Failed, MessageInterrupted, ToolReturned, TurnEnded
from agent_express.testing import FunctionModel, Say, ScriptedModel, assert_events, call, check_history, like, no_leaks

Passing = Next[ModelResponse]


@tool
async def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


def tireless(request: Any) -> Any:
    """A model that calls a tool whenever it may."""
    return "at last" if request.settings.tool_choice == "none" else [call("add", a=1)]


async def run(model: Any, limits: Limits, *hooks: Any) -> Answer[str]:
    return await Agent(model, tools=[add], limits=limits).use(*hooks).run("hi")


# --- steps --------------------------------------------------------------------------------------


async def test_the_last_step_is_sent_with_tools_that_may_not_be_chosen_and_its_answer_is_a_limit() -> None:
    model = FunctionModel(tireless)
    answer = await run(model, Limits(max_steps=3))
    assert [request.settings.tool_choice for request in model.requests] == [None, None, "none"]
    assert [len(request.tools) for request in model.requests] == [1, 1, 1]
    assert (answer.text, answer.status, answer.limit) == ("at last", "limit", "max_steps")


async def test_a_limit_is_one_end_event_with_the_reason_and_no_error() -> None:
    answer = await run(FunctionModel(tireless), Limits(max_steps=2))
    [ended] = [event for event in answer.events if isinstance(event, TurnEnded)]
    assert ended.status == "limit"
    assert ended.reason is not None
    assert "max_steps" in ended.reason
    assert not [event for event in answer.events if isinstance(event, Failed)]


async def test_calls_made_in_spite_of_the_limit_are_answered_and_the_answer_says_what_happened() -> None:
    body_runs: list[int] = []

    @tool
    async def work() -> str:
        """Work."""
        body_runs.append(1)
        return "worked"

    model = FunctionModel(lambda request: [call("work")])
    async with Agent(model, tools=[work], limits=Limits(max_steps=2)) as agent, agent.session() as session:
        answer = await session.run("hi")
        check_history(session.history)
    assert (answer.text, answer.status) == ("Stopped after 2 steps without an answer.", "limit")
    assert len(body_runs) == 1


async def test_a_limit_reached_in_turn_1_leaves_turn_2_all_its_steps() -> None:
    model = FunctionModel(tireless)
    async with Agent(model, tools=[add], limits=Limits(max_steps=2)) as agent, agent.session() as session:
        for _ in range(2):
            assert (await session.run("hi")).status == "limit"
        check_history(session.history)
    assert len(model.requests) == 4


async def test_an_answer_before_the_last_step_is_no_limit() -> None:
    answer = await run(ScriptedModel([call("add", a=1)], "2"), Limits(max_steps=3))
    assert (answer.status, answer.limit) == ("completed", None)


async def test_going_on_at_the_last_step_ends_in_a_limit_and_not_in_an_error() -> None:
    async def nags(ctx: ModelContext, next: Passing) -> ModelResponse:
        ctx.continue_turn("more")
        return await next()

    answer = await Agent(ScriptedModel("one", "two"), limits=Limits(max_steps=2)).use(nags).run("hi")
    assert (answer.text, answer.status) == ("two", "limit")


async def test_a_retry_does_not_count_as_a_step() -> None:
    async def retry(ctx: ModelContext, next: Passing) -> ModelResponse:
        with suppress(ProviderUnavailableError):
            return await next()
        return await next()

    answer = await run(ScriptedModel(ProviderUnavailableError("down"), "ok"), Limits(max_steps=1), retry)
    assert (answer.text, answer.usage.attempts) == ("ok", 2)


async def test_limits_of_one_run_replace_those_of_the_agent() -> None:
    async with Agent(FunctionModel(tireless), tools=[add], limits=Limits(max_steps=9)) as agent:
        answer = await agent.run("hi", limits=Limits(max_steps=1))
        assert answer.usage.model_calls == 1


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"max_steps": 0}, "Limits: max_steps must be at least 1, got 0"),
        ({"max_parallel_tools": 0}, "Limits: max_parallel_tools must be at least 1, got 0"),
        ({"max_batch": 0}, "Limits: max_batch must be at least 1, got 0"),
        ({"max_continuations": -1}, "Limits: max_continuations must be at least 0, got -1"),
        ({"max_output_retries": -1}, "Limits: max_output_retries must be at least 0, got -1"),
        ({"timeout": 0}, "Limits: timeout must be more than 0 seconds, got 0"),
        ({"timeout": float("nan")}, "Limits: timeout must be more than 0 seconds, got nan"),
    ],
)
def test_a_limit_that_makes_no_sense_is_refused(limits: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        Limits(**limits)


# --- batches and parallel tools -----------------------------------------------------------------


async def test_a_batch_above_the_limit_is_refused_before_it_starts_and_each_call_is_answered() -> None:
    seen: list[str] = []

    @tool
    async def work(n: int) -> str:
        """Work."""
        raise AssertionError("it ran")

    async def look(ctx: ToolContext, next: Next[ToolResult]) -> ToolResult:
        seen.append(ctx.call.name)
        return await next()

    model = ScriptedModel([call("work", n=n) for n in range(8)], "done")
    answer = await Agent(model, tools=[work], limits=Limits(max_batch=6)).use(look).run("hi")
    returned = [event for event in answer.events if isinstance(event, ToolReturned)]
    assert [event.how for event in returned] == ["refused"] * 8
    assert {event.result.text for event in returned} == {"not run: 8 calls at once, the limit is 6; make fewer"}
    assert len(seen) == 8
    check_history(model.requests[1].messages)


async def test_a_batch_of_exactly_the_limit_runs() -> None:
    answer = await run(ScriptedModel([call("add", a=n) for n in range(6)], "done"), Limits(max_batch=6))
    assert [event.how for event in answer.events if isinstance(event, ToolReturned)] == ["ran"] * 6


async def test_no_more_tools_run_at_once_than_allowed() -> None:
    running, most = 0, 0

    @tool
    async def work() -> str:
        """Work."""
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(3):
            await asyncio.sleep(0)
        running -= 1
        return "worked"

    model = ScriptedModel([call("work")] * 7, "done")
    await Agent(model, tools=[work], limits=Limits(max_parallel_tools=3)).run("hi")
    assert most == 3


async def test_as_many_tools_run_at_once_as_are_allowed() -> None:
    both = asyncio.Barrier(2)

    @tool
    async def meet() -> str:
        """Meet the other."""
        await both.wait()
        return "met"

    model = ScriptedModel([call("meet")] * 4, "done")
    answer = await Agent(model, tools=[meet], limits=Limits(max_parallel_tools=2)).run("hi")
    assert answer.usage.tool_calls == 4


# --- time ---------------------------------------------------------------------------------------


async def test_a_turn_that_takes_too_long_is_cancelled_awaited_and_raises_with_the_limit() -> None:
    seen: list[str] = []

    async def watch(ctx: ModelContext, next: Passing) -> ModelResponse:
        try:
            return await next()
        finally:
            seen.append("unwound")

    model = ScriptedModel(Say("Once upon a time", delay=asyncio.Event(), delay_after=2), "fine")
    async with no_leaks(), Agent(model).use(watch) as agent, agent.session("s1") as session:
        with pytest.raises(TurnTimeoutError) as caught:
            await session.run("tell", limits=Limits(timeout=0.01))
        assert str(caught.value) == "turn 0 of session s1 took longer than 0.01 seconds"
        assert seen == ["unwound"]
        assert_events(session.log, like(MessageInterrupted), like(TurnEnded, status="timeout"))
        assert [(message.text, message.mark) for message in session.history] == [
            ("tell", ""),
            ("Once upon", "interrupted"),
        ]
        assert (await session.run("go on")).text == "fine"


async def test_a_hook_that_swallows_the_cancellation_of_the_time_limit_releases_no_answer() -> None:
    async def stubborn(ctx: TurnContext, next: Next[None]) -> None:
        with suppress(BaseException):
            await next()
        ctx.output = "late"

    model = ScriptedModel(Say("x", delay=asyncio.Event()))
    async with Agent(model).use(stubborn) as agent, agent.session() as session:
        with pytest.raises(TurnTimeoutError):
            await session.run("hi", limits=Limits(timeout=0.01))
        assert session.log.of(TurnEnded)[0].status == "timeout"


async def test_a_hook_sees_in_finally_that_the_time_limit_ended_the_turn() -> None:
    seen: list[str] = []

    async def watch(ctx: TurnContext, next: Next[None]) -> None:
        try:
            await next()
        finally:
            seen.append(ctx.status)

    with pytest.raises(TurnTimeoutError):
        await run(ScriptedModel(Say("x", delay=asyncio.Event())), Limits(timeout=0.01), watch)
    assert seen == ["timeout"]


async def test_a_time_out_of_a_hooks_own_is_not_taken_for_the_turns() -> None:
    async def impatient(ctx: TurnContext, next: Next[None]) -> None:
        async with asyncio.timeout(0):
            await next()

    with pytest.raises(TimeoutError) as caught:
        await run(ScriptedModel(Say("x", delay=asyncio.Event())), Limits(timeout=60), impatient)
    assert not isinstance(caught.value, TurnTimeoutError)


async def test_calls_that_were_open_when_the_time_was_up_are_answered() -> None:
    @tool
    async def waits() -> str:
        """Wait."""
        await asyncio.Event().wait()
        return ""

    model = ScriptedModel([call("waits"), call("add", a=1)], "fine")
    limits = Limits(timeout=0.01)
    async with Agent(model, tools=[waits, add]) as agent, agent.session() as session:
        with pytest.raises(TurnTimeoutError):
            await session.run("hi", limits=limits)
        check_history(session.history)
        [returned] = [event for event in session.log.of(ToolReturned) if event.name == "waits"]
        assert returned.how == "unknown"
        assert "whether it took effect is unknown" in returned.result.text
        assert (await session.run("again")).text == "fine"


# --- budgets ------------------------------------------------------------------------------------


class CallBudget(Middleware):
    """Abort before the call that would be one too many; reads what the core counted."""

    def __init__(self, calls: int) -> None:
        self.calls = calls

    async def model(self, ctx: ModelContext, next: Passing) -> ModelResponse:
        if ctx.session_usage.attempts >= self.calls:
            ctx.abort(f"{self.calls} calls are spent")
        return await next()


async def test_a_retry_inside_a_budget_of_one_counts_the_real_calls() -> None:
    async def retry(ctx: ModelContext, next: Passing) -> ModelResponse:
        with suppress(ProviderUnavailableError):
            return await next()
        return await next()

    model = ScriptedModel(ProviderUnavailableError("down"), "never sent")
    with pytest.raises(TurnAbortedError, match="1 calls are spent"):
        await Agent(model).use(retry, CallBudget(1)).run("hi")
    assert len(model.requests) == 1


async def test_calls_of_a_nested_agent_and_of_a_middleware_count_in_the_budget_once() -> None:
    async def asks(ctx: TurnContext, next: Next[None]) -> None:
        await ctx.ask("summarise")
        await ctx.run_agent(child, "work")
        await next()

    child = Agent(ScriptedModel("child"), name="child")
    model = ScriptedModel("summary", "answer", "never sent")
    async with Agent(model).use(asks, CallBudget(3)) as agent, agent.session() as session:
        answer = await session.run("hi")
        assert answer.usage.attempts == session.usage.attempts == 3
        with pytest.raises(TurnAbortedError, match="3 calls are spent"):
            await session.run("again")
