"""`ctx.ask`: a middleware's own model call, counted, unseen, and through the other layers."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic import BaseModel

from agent_express import (
    Agent,
    End,
    Message,
    Middleware,
    ModelContext,
    ModelResponse,
    Next,
    ReasoningDelta,
    TextDelta,
    ToolContext,
    ToolResult,
    TurnAbortedError,
    TurnContext,
    tool,
)
from agent_express.errors import OutputError
from agent_express.events import ModelCalled, ModelResponded
from agent_express.messages import Settings
from agent_express.testing import FunctionModel, Say, ScriptedModel, assert_events, call, like, no_leaks, text_of

Passing = Next[ModelResponse]


class Verdict(BaseModel):
    allowed: bool


async def summarises(ctx: TurnContext, next: Next[None]) -> None:
    """Ask for a summary, then let the turn go on."""
    response = await ctx.ask("Summarise.")
    ctx.resources["summary"] = response.message.text
    await next()


@tool
async def noop() -> str:
    """Do nothing."""
    return "done"


# --- what comes back ----------------------------------------------------------------------------


async def test_ask_returns_the_response() -> None:
    async with Agent(ScriptedModel("short", "answer")).use(summarises) as agent, agent.session() as session:
        assert (await session.run("hi")).text == "answer"
        assert session.resources["summary"] == "short"


async def test_ask_sends_what_it_is_given_and_nothing_of_the_conversation() -> None:
    async def asks(ctx: TurnContext, next: Next[None]) -> None:
        await ctx.ask([Message("user", "one"), Message("user", "two")], settings=Settings(temperature=0.0))
        await next()

    model = ScriptedModel("short", "answer")
    await Agent(model, instructions="Be kind.", tools=[noop]).use(asks).run("hi")
    request = model.requests[0]
    assert [message.text for message in request.messages] == ["one", "two"]
    assert (request.system, request.tools, request.settings.temperature) == ((), (), 0.0)


async def test_ask_with_output_returns_a_value_of_that_type_and_asks_again_when_it_does_not_fit() -> None:
    verdicts: list[Verdict] = []

    async def guard(ctx: ModelContext, next: Passing) -> ModelResponse:
        verdicts.append(await ctx.ask("Is this allowed?", output=Verdict, purpose="guard"))
        return await next()

    model = ScriptedModel("yes", '{"allowed": true}', "answer")
    answer = await Agent(model).use(guard).run("hi")
    assert (verdicts, answer.text) == ([Verdict(allowed=True)], "answer")
    assert [message.role for message in model.requests[1].messages] == ["user", "assistant", "user"]


async def test_ask_whose_answer_never_fits_is_an_output_error_that_names_middleware_and_purpose() -> None:
    async def guard(ctx: ModelContext, next: Passing) -> ModelResponse:
        await ctx.ask("Is this allowed?", output=Verdict, purpose="guard")
        return await next()

    with pytest.raises(OutputError, match=r"guard: ask\('guard'\) got no answer of the form it wants in 3 tries"):
        await Agent(FunctionModel(lambda request: "maybe")).use(guard).run("hi")


async def test_ask_can_use_another_model() -> None:
    small = ScriptedModel("short", name="small")

    async def asks(ctx: TurnContext, next: Next[None]) -> None:
        assert (await ctx.ask("Summarise.", model=small)).message.text == "short"
        await next()

    model = ScriptedModel("answer")
    answer = await Agent(model).use(asks).run("hi")
    assert_events(answer.events, like(ModelCalled, model="small", index=-1, by="asks"))
    assert (len(small.requests), len(model.requests)) == (1, 1)


async def test_ask_uses_the_model_of_the_turn() -> None:
    other = ScriptedModel("short", "answer", name="other")
    await Agent(ScriptedModel()).use(summarises).run("hi", model=other)
    assert len(other.requests) == 2


async def test_a_purpose_must_be_named() -> None:
    async def asks(ctx: TurnContext, next: Next[None]) -> None:
        await ctx.ask("Summarise.", purpose="")

    with pytest.raises(ValueError, match="ask: purpose must name what the call is for"):
        await Agent(ScriptedModel()).use(asks).run("hi")


# --- unseen -------------------------------------------------------------------------------------


async def test_the_deltas_of_an_own_call_reach_no_user_and_its_messages_no_history() -> None:
    model = ScriptedModel(Say("a secret summary", reasoning="hidden thoughts"), "the answer")
    async with Agent(model).use(summarises) as agent, agent.session() as session:
        async with session.stream("hi") as stream:
            items = [item async for item in stream]
        assert [message.text for message in session.history] == ["hi", "the answer"]
        assert_events(session.log, like(ModelResponded, purpose="summary"))
    assert text_of(items) == "the answer"
    assert not [item for item in items if isinstance(item, ReasoningDelta)]
    assert "secret" not in "".join(item.text for item in items if isinstance(item, TextDelta))


async def test_a_streaming_layer_that_an_own_call_passes_shows_the_user_nothing_either() -> None:
    async def shows(ctx: ModelContext, next: Passing) -> Any:
        yield TextDelta(f"[{ctx.purpose or 'loop'}]")
        async for event in next():
            yield event

    agent = Agent(ScriptedModel("short", "answer")).use(summarises, shows)
    async with agent, agent.session() as session, session.stream("hi") as stream:
        items = [item async for item in stream]
    assert text_of(items) == "[loop]answer"


async def test_hooks_see_an_own_call_by_its_purpose_and_nobody_can_forge_it() -> None:
    seen: list[tuple[str, int]] = []

    async def look(ctx: ModelContext, next: Passing) -> ModelResponse:
        seen.append((ctx.purpose, ctx.call_index))
        with pytest.raises(AttributeError):
            ctx.purpose = "summary"  # type: ignore[misc]
        return await next()

    model = ScriptedModel("short", "answer")
    async with Agent(model).use(summarises, look) as agent, agent.session() as session:
        await session.run(Message("user", "purpose=summary", origin="summarises"), metadata={"purpose": "summary"})
    assert seen == [("summary", -1), ("", 0)]


# --- counted ------------------------------------------------------------------------------------


async def test_an_own_call_counts_in_the_usage_of_turn_and_session() -> None:
    async with Agent(ScriptedModel("short", "answer")).use(summarises) as agent, agent.session() as session:
        answer = await session.run("hi")
        assert (answer.usage.model_calls, session.usage.model_calls) == (2, 2)


async def test_an_own_call_passes_the_budget_of_others() -> None:
    async def budget(ctx: ModelContext, next: Passing) -> ModelResponse:
        if ctx.purpose:
            ctx.abort("no money for summaries")
        return await next()

    with pytest.raises(TurnAbortedError, match="budget: no money for summaries"):
        await Agent(ScriptedModel()).use(summarises, budget).run("hi")


# --- its own layer is skipped -------------------------------------------------------------------


class Asking(Middleware):
    """Asks before each model call it sees."""

    def __init__(self, name: str, seen: list[str]) -> None:
        self.name, self.seen = name, seen

    async def model(self, ctx: ModelContext, next: Passing) -> ModelResponse:
        self.seen.append(f"{self.name} sees {ctx.purpose or 'loop'}")
        await ctx.ask(f"{self.name} asks", purpose=self.name)
        return await next()


async def test_an_own_call_passes_the_model_onion_except_layers_that_are_in_such_a_call_already() -> None:
    seen: list[str] = []
    model = FunctionModel(lambda request: "ok")
    await Agent(model).use(Asking("a", seen), Asking("b", seen)).run("hi")
    assert seen == ["a sees loop", "b sees a", "b sees loop", "a sees b"]
    assert len(model.requests) == 5


async def test_a_guard_that_races_its_own_call_beside_next_is_skipped_in_it_too() -> None:
    async def guard(ctx: ModelContext, next: Passing) -> ModelResponse:
        verdict, response = await asyncio.gather(ctx.ask("Is this allowed?", purpose="guard"), next())
        assert verdict.message.text == "yes"
        return response

    model = FunctionModel(lambda request: "yes" if request.messages[0].text.startswith("Is") else "answer")
    assert (await Agent(model).use(guard).run("hi")).text == "answer"
    assert len(model.requests) == 2


async def test_a_guard_that_asks_from_a_helper_task_is_skipped_in_it_too() -> None:
    async def guard(ctx: ModelContext, next: Passing) -> ModelResponse:
        async def check() -> None:
            await ctx.ask("Is this allowed?", purpose="guard")

        async with asyncio.TaskGroup() as group:
            group.create_task(check())
            answer = group.create_task(next())
        return answer.result()

    model = FunctionModel(lambda request: "ok")
    await Agent(model).use(guard).run("hi")
    assert len(model.requests) == 2


async def test_an_answering_layer_answers_own_calls_too() -> None:
    async def cached(ctx: ModelContext, next: Passing) -> ModelResponse:
        return ctx.skip_call("from the cache") if ctx.purpose else await next()

    model = ScriptedModel("answer")
    async with Agent(model).use(summarises, cached) as agent, agent.session() as session:
        await session.run("hi")
        assert session.resources["summary"] == "from the cache"
    assert len(model.requests) == 1


async def test_a_tool_hook_may_ask_and_the_tools_of_the_loop_stay_offered() -> None:
    async def explains(ctx: ToolContext, next: Next[ToolResult]) -> ToolResult:
        await ctx.ask("Explain.", purpose="explain")
        return await next()

    model = ScriptedModel([call("noop"), call("noop")], "because", "because", "done")
    answer = await Agent(model, tools=[noop]).use(explains).run("hi")
    assert (answer.text, answer.usage.tool_calls) == ("done", 2)


async def test_after_an_abort_nobody_asks_any_more() -> None:
    async def stubborn(ctx: TurnContext, next: Next[None]) -> None:
        await asyncio.gather(next(), return_exceptions=True)
        await asyncio.gather(ctx.ask("Was it bad?"), return_exceptions=True)

    async def stops(ctx: ModelContext, next: Passing) -> ModelResponse:
        ctx.abort("enough")

    model = ScriptedModel()
    with pytest.raises(TurnAbortedError, match="stops: enough"):
        await Agent(model).use(stubborn, stops).run("hi")
    assert model.requests == []


# --- cancelled with the turn, from defer with the session ---------------------------------------


async def test_an_own_call_is_cancelled_with_its_turn() -> None:
    asked = asyncio.Event()

    async def never(request: Any) -> str:
        asked.set()
        await asyncio.Event().wait()
        return ""

    async with no_leaks(), Agent(FunctionModel(never)).use(summarises) as agent, agent.session() as session:
        turn = asyncio.create_task(session.run("hi"))
        await asked.wait()
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn
        assert [message.text for message in session.history] == []


async def remembers(ctx: TurnContext, next: Next[None]) -> None:
    """Ask for a summary after the answer was delivered."""

    async def later() -> None:
        ctx.resources["summary"] = (await ctx.ask("Summarise.")).message.text

    ctx.defer(later)
    await next()


async def test_an_own_call_of_deferred_work_counts_for_the_session_and_not_for_the_answer() -> None:
    async with Agent(ScriptedModel("answer", "short")).use(remembers) as agent:
        async with agent.session() as session:
            usage, resources = session.usage, session.resources
            answer = await session.run("hi")
        assert resources["summary"] == "short"
        assert (answer.usage.model_calls, usage.model_calls) == (1, 2)


async def test_deferred_work_of_an_aborted_turn_may_ask_too() -> None:
    async def stops(ctx: TurnContext, next: Next[None]) -> None:
        ctx.abort("enough")

    async with Agent(ScriptedModel("short")).use(remembers, stops) as agent:
        async with agent.session() as session:
            resources = session.resources
            with pytest.raises(TurnAbortedError):
                await session.run("hi")
        assert resources["summary"] == "short"


async def test_an_own_call_ends_with_end_like_any_other() -> None:
    async def watches(ctx: ModelContext, next: Passing) -> Any:
        async for event in next():
            if isinstance(event, End) and ctx.purpose:
                yield End(event.result.replace(message=Message("assistant", "shortened")))
            else:
                yield event

    async with Agent(ScriptedModel("short", "answer")).use(summarises, watches) as agent, agent.session() as session:
        await session.run("hi")
        assert session.resources["summary"] == "shortened"
