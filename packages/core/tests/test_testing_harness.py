"""The harness: one middleware alone in a real agent."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated, Any, assert_type

import pytest
from pydantic import BaseModel

from agent_express import (
    AgentContext,
    End,
    Event,
    Limits,
    Message,
    Middleware,
    ModelContext,
    ModelRequest,
    ModelResponse,
    Next,
    Order,
    SessionContext,
    TextDelta,
    Tool,
    ToolContext,
    ToolError,
    ToolResult,
    ToolReturned,
    TurnAbortedError,
    TurnContext,
    TurnEnded,
    Usage,
    named,
    scope,
    tool,
)
from agent_express.errors import RateLimitError, StateError, UseError
from agent_express.events import Recovered, Restarted, ToolCalled
from agent_express.messages import Section, ToolDef
from agent_express.testing import (
    Harness,
    Say,
    ScriptedModel,
    ScriptError,
    assert_events,
    call,
    like,
    names,
    no_leaks,
    text_of,
)


class Used(BaseModel):
    tokens: int = 0
    this_turn: Annotated[int, scope("turn")] = 0


class TokenBudget(Middleware):
    state = Used

    def __init__(self, limit: int) -> None:
        self.limit = limit

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        used = ctx.state[self].tokens
        if used >= self.limit:
            ctx.abort(f"{used} of {self.limit} tokens used")
        response = await next()
        ctx.state[self].tokens += response.usage.total_tokens or 0
        ctx.state[self].this_turn += 1
        return response


class Retry(Middleware):
    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        try:
            return await next()
        except RateLimitError:
            return await next()


class Shout(Middleware):
    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> AsyncIterator[Event | End[ModelResponse]]:
        async for event in next():
            if isinstance(event, TextDelta):
                yield TextDelta(event.text.upper())
            elif isinstance(event, End):
                message = event.result.message
                yield End(event.result.replace(message=message.with_text(message.text.upper())))
            else:
                yield event


class Gate(Middleware):
    def __init__(self) -> None:
        self.seen: list[str] = []

    async def tool(self, ctx: ToolContext, next: Next[ToolResult]) -> ToolResult:
        self.seen.append(ctx.call.name)
        if ctx.call.name == "delete":
            return ctx.deny("nothing is deleted here")
        try:
            return await next()
        except ToolError as error:
            return ToolResult(f"broken: {error.error}")


# --- turn ---------------------------------------------------------------------------------------


async def test_a_turn_answers_as_the_model_was_told_and_leaves_typed_state() -> None:
    budget = TokenBudget(10)
    async with Harness(budget) as harness:
        answer = await harness.turn("hi", answer=Say("hello", usage=Usage(9, 4)))
        assert answer.text == "hello"
        assert assert_type(harness.state, Used).tokens == 13
        assert harness.state.this_turn == 0
        with pytest.raises(TurnAbortedError, match="13 of 10 tokens used"):
            await harness.turn("again")
        assert [request.messages[-1].text for request in harness.requests] == ["hi"]
        assert_events(harness.log, like(TurnEnded, status="completed"), like(TurnEnded, status="aborted"))
    assert harness.state.tokens == 13
    assert [message.role for message in harness.history] == ["user", "assistant", "user"]


async def test_a_turn_can_take_several_answers_and_real_tools() -> None:
    @tool
    async def weather(city: str) -> str:
        return f"12 °C in {city}"

    async with Harness(Gate(), tools=[weather], instructions="be brief") as harness:
        answer = await harness.turn("Oslo?", answers=[[call("weather", city="Oslo")], "It is 12 °C."])
        assert answer.text == "It is 12 °C."
        assert_events(harness.events, ToolCalled, like(ToolReturned, name="weather", how="ran"), TurnEnded, End)
        assert harness.requests[0].system_text == "be brief"
        assert [each.name for each in harness.requests[1].tools] == ["weather"]


async def test_events_are_those_a_client_sees_in_their_order() -> None:
    async with Harness(Shout()) as harness:
        answer = await harness.turn("hi", answer="so quiet")
    assert names(harness.events) == [
        "TurnStarted",
        "UserSaid",
        "ModelCalled",
        "TextDelta",
        "TextDelta",
        "ModelResponded",
        "TurnEnded",
        "End",
    ]
    assert text_of(harness.events) == answer.text == "SO QUIET"


async def test_more_model_calls_than_answers_say_what_was_asked() -> None:
    async with Harness(Gate()) as harness:
        with pytest.raises(ScriptError, match=r"called once more than there are answers; .*1 tool result"):
            await harness.turn("hi", answer=[call("look")])


async def test_all_hooks_of_the_middleware_run() -> None:
    trace: list[str] = []

    class Everything(Middleware):
        async def init(self, ctx: AgentContext) -> None:
            trace.append("init")

        async def dispose(self) -> None:
            trace.append("dispose")

        async def session(self, ctx: SessionContext, next: Next[None]) -> None:
            trace.append(f"session {ctx.user_id} {ctx.metadata['tenant']} {ctx.resources[str]} {ctx.credentials}")
            await next()
            trace.append("session over")

        async def turn(self, ctx: TurnContext, next: Next[None]) -> None:
            trace.append("turn")
            await next()

    options: dict[str, Any] = {"metadata": {"tenant": "acme"}, "resources": {str: "db"}, "credentials": "c"}
    async with Harness(Everything(), user_id="ada", **options) as harness:
        await harness.turn()
    assert trace == ["init", "session ada acme db c", "turn", "session over", "dispose"]


# --- model --------------------------------------------------------------------------------------


async def test_a_model_call_gives_the_response_as_the_middleware_made_it() -> None:
    async with Harness(Shout()) as harness:
        response = await harness.model("hi", responds=[Say("quiet", usage=Usage(1, 2))])
    assert response == ModelResponse(Message("assistant", "QUIET"), Usage(1, 2))
    assert harness.requests[0].messages == (Message("user", "hi"),)


async def test_a_failing_model_is_called_again_by_a_retry() -> None:
    async with Harness(Retry()) as harness:
        response = await harness.model("hi", responds=[RateLimitError("slow down"), "fine"])
        assert response.message.text == "fine"
        assert len(harness.requests) == 2
        assert_events(harness.events, like(Restarted, by="retry", attempt=2))
        with pytest.raises(RateLimitError, match="really"):
            await harness.model("hi", responds=[RateLimitError("slow down"), RateLimitError("really")])


async def test_a_whole_request_reaches_the_middleware_as_it_was_written() -> None:
    seen: list[ModelRequest] = []

    async def spy(ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        seen.append(ctx.request)
        ctx.add_system_message("added")
        return await next()

    request = ModelRequest(
        ScriptedModel(),
        (Message("user", "one"), Message("assistant", "two"), Message("user", "three")),
        (Section("instructions", "from the test"),),
        (ToolDef("look"),),
    )
    async with Harness(spy, instructions="the agent's own") as harness:
        await harness.model(request)
    assert seen == [request.replace(model=harness.llm)]
    assert harness.requests[0].system_text == "from the test\n\nadded"
    assert harness.requests[0].messages == request.messages


async def test_tool_calls_of_a_response_are_given_back_and_not_run() -> None:
    gate = Gate()
    async with Harness(gate) as harness:
        response = await harness.model("hi", responds=[["Let me look.", call("look", at="it")]])
    assert [each.parsed() for each in response.message.tool_calls] == [{"at": "it"}]
    assert gate.seen == []
    assert len(harness.requests) == 1


async def test_a_middleware_that_answers_the_turn_itself_has_no_model_call_to_show() -> None:
    async def cached(ctx: TurnContext, next: Next[None]) -> None:
        ctx.output = Message("assistant", "from the cache")

    async with Harness(cached) as harness:
        with pytest.raises(ScriptError, match="the turn ended without a model call"):
            await harness.model("hi")
        assert (await harness.turn("hi")).text == "from the cache"


async def test_a_middlewares_own_model_call_takes_an_answer_too_and_is_not_the_one_given_back() -> None:
    async def judged(ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        if not ctx.purpose:
            verdict = await ctx.ask("is it fine?", purpose="guard")
            if verdict.message.text != "yes":
                ctx.abort("not fine")
        return await next()

    async with Harness(judged) as harness:
        assert (await harness.model("hi", responds=["yes", "hello"])).message.text == "hello"
        with pytest.raises(TurnAbortedError, match="not fine"):
            await harness.model("hi", responds=["no"])


# --- tool ---------------------------------------------------------------------------------------


async def test_a_made_up_tool_takes_the_arguments_it_is_called_with() -> None:
    async with Harness(Gate()) as harness:
        result = await harness.tool(
            "weather", {"city": "Oslo", "days": [1, 2]}, returns=lambda city, days: f"{city} {days}"
        )
    assert (result.text, result.name, result.is_error) == ("Oslo [1, 2]", "weather", False)


async def test_a_body_returns_a_value_raises_or_waits() -> None:
    async def later() -> dict[str, int]:
        await asyncio.sleep(0)
        return {"n": 1}

    async with Harness(Gate()) as harness:
        assert (await harness.tool("look")).text == "ok"
        assert (await harness.tool("look", returns="seen")).text == "seen"
        assert (await harness.tool("look", returns=later)).text == '{"n":1}'
        assert (await harness.tool("look", returns=OSError("no disk"))).text == "broken: no disk"
        assert_events(harness.log, like(Recovered, level="tool", by="gate"))


async def test_a_denied_tool_does_not_run() -> None:
    ran: list[str] = []
    async with Harness(Gate()) as harness:
        result = await harness.tool("delete", {"path": "/"}, returns=lambda path: ran.append(path))
        assert (result.is_error, result.text) == (True, "nothing is deleted here")
        assert_events(harness.events, like(ToolReturned, name="delete", how="denied", by="gate"))
    assert ran == []


async def test_a_real_tool_keeps_its_schema_its_flags_and_its_own_middleware_with_or_without_its_body() -> None:
    inner = Gate()

    @tool(read_only=True, use=[named("inner", inner)])
    def look(city: str, days: int = 3) -> str:
        return f"{city} for {days} days"

    async def result(args: dict[str, Any], **options: Any) -> ToolResult:
        async with Harness(Gate()) as harness:
            return await harness.tool(look, args, **options)

    assert (await result({"city": "Oslo"})).text == "Oslo for 3 days"
    assert (await result({"city": "Oslo"}, returns=lambda **args: args)).text == '{"city":"Oslo","days":3}'
    refused = await result({"town": "Oslo"})
    assert refused.is_error
    assert "city" in refused.text
    assert inner.seen == ["look", "look", "look"]


async def test_tools_of_the_middleware_and_of_the_agent_are_called_by_name() -> None:
    class Notes(Middleware):
        def __init__(self) -> None:
            self.kept: list[str] = []

        @tool
        async def keep(self, text: str) -> str:
            self.kept.append(text)
            return "kept"

        @property
        def tools(self) -> tuple[Tool, ...]:
            return (self.keep,)

    @tool
    async def clock() -> str:
        return "noon"

    notes = Notes()
    async with Harness(notes, tools=[clock]) as harness:
        assert (await harness.tool("keep", {"text": "a"})).text == "kept"
        assert (await harness.tool("clock")).text == "noon"
        with pytest.raises(UseError, match="the agent has a tool 'clock' with a body of its own: leave returns out"):
            await harness.tool("clock", returns="midnight")
    assert notes.kept == ["a"]


# --- opening, state, order ----------------------------------------------------------------------


async def test_a_harness_is_opened_first() -> None:
    harness = Harness(Gate())
    with pytest.raises(UseError, match="the harness is not open: write `async with Harness"):
        await harness.turn()


async def test_an_agent_that_cannot_be_opened_leaves_nothing_open() -> None:
    class Broken(Middleware):
        async def session(self, ctx: SessionContext, next: Next[None]) -> None:
            raise OSError("no database")

    harness = Harness(Broken())
    with pytest.raises(OSError, match="no database"):
        async with harness:
            raise AssertionError("not reached")
    with pytest.raises(UseError):
        harness.agent._open_runtime()


async def test_a_closed_harness_leaves_nothing_behind() -> None:
    async with no_leaks(), Harness(Shout()) as harness:
        await harness.turn("hi", answers=[[call("look")], "done"])
        await harness.model("hi")
        await harness.tool("look")
        with pytest.raises(RateLimitError):
            await harness.turn("hi", answer=Say("half an", error=RateLimitError("gone"), fail_after=1))
    assert harness.llm.open_streams == 0


async def test_a_middleware_without_state_has_none_to_show() -> None:
    async with Harness(Gate()) as harness:
        with pytest.raises(StateError, match="no state of Gate"):
            _ = harness.state


async def test_state_is_found_under_another_name_too() -> None:
    async with Harness(named("budget-user", TokenBudget(10))) as harness:
        await harness.turn(answer=Say("ok", usage=Usage(1, 1)))
        assert harness.state.tokens == 2


async def test_what_a_middleware_requires_stands_inside_of_it() -> None:
    class Needy(Gate):
        name = "needy"
        order = Order(outside=["token-budget"], requires=["token-budget"])

    budget = TokenBudget(10)
    async with Harness(Needy(), inside=[budget], limits=Limits(max_steps=3)) as harness:
        await harness.turn(answer=Say("ok", usage=Usage(1, 1)))
        assert harness.session.state[budget].tokens == 2


async def test_turns_can_be_run_through_the_session_with_all_its_options() -> None:
    class City(BaseModel):
        name: str

    async with Harness(Gate()) as harness:
        harness.script('{"name": "Oslo"}')
        answer = await harness.session.run("which city?", output=City)
    assert answer.output == City(name="Oslo")


async def test_a_middleware_that_breaks_the_history_is_found_out() -> None:
    async def talks_twice(ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        ctx.compact(ctx.history[-1], Message("assistant", "a summary in the wrong voice"))
        return await next()

    async with Harness(talks_twice) as harness:
        with pytest.raises(AssertionError, match="the assistant speaks first, expected the user"):
            await harness.turn("hi")
