"""`next`: what a layer may do with everything further in."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from pydantic import BaseModel

from agent_express import (
    Agent,
    Answer,
    End,
    Events,
    Message,
    Middleware,
    ModelContext,
    ModelResponse,
    Next,
    SessionContext,
    TextDelta,
    Tool,
    ToolContext,
    ToolResult,
    TurnAbortedError,
    TurnContext,
    named,
    tool,
)
from agent_express.errors import (
    HookError,
    MissingEndError,
    NextCalledTwiceError,
    NextForgottenError,
    ProviderUnavailableError,
    UseError,
    WrongResultError,
)
from agent_express.events import Answered, ModelCalled, Recovered, Restarted, ToolRan
from agent_express.testing import FunctionModel, ScriptedModel, assert_events, call, like, names, text_of

Hook = Callable[..., Any]
Passing = Next[ModelResponse]


@tool
def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


class Layers:
    """A middleware with all four onion hooks that notes when it is entered and left."""

    def __init__(self, name: str, seen: list[str]) -> None:
        self.name, self.seen = name, seen

    async def _pass(self, level: str, next: Next[Any]) -> Any:
        self.seen.append(f"{level} {self.name}")
        result = await next()
        self.seen.append(f"{level} {self.name} left")
        return result

    async def session(self, ctx: SessionContext, next: Next[None]) -> None:
        await self._pass("session", next)

    async def turn(self, ctx: TurnContext, next: Next[None]) -> None:
        await self._pass("turn", next)

    async def model(self, ctx: ModelContext, next: Passing) -> Any:
        return await self._pass("model", next)

    async def tool(self, ctx: ToolContext, next: Next[ToolResult]) -> Any:
        return await self._pass("tool", next)


class Retry(Middleware):
    """Call next() up to *tries* times."""

    def __init__(self, tries: int = 3) -> None:
        self.tries = tries

    async def model(self, ctx: ModelContext, next: Passing) -> ModelResponse:
        for _ in range(self.tries - 1):
            with suppress(Exception):
                return await next()
        return await next()


def down(times: int, *then: Any) -> ScriptedModel:
    """A model that is unavailable *times* times."""
    return ScriptedModel(*[ProviderUnavailableError("down")] * times, *then)


async def run(*hooks: Any, model: Any = None, tools: tuple[Tool, ...] = ()) -> Answer[str]:
    return await Agent(model or ScriptedModel("ok"), tools=tools).use(*hooks).run("hi")


# --- order and short-circuits -------------------------------------------------------------------


async def test_the_order_of_registration_is_outside_in_for_every_hook_alike() -> None:
    seen: list[str] = []
    model = ScriptedModel([call("add", a=1)], "done")
    async with Agent(model, tools=[add]).use(Layers("a", seen), Layers("b", seen)) as agent, agent.session() as session:
        await session.run("hi")
    model_call = ["model a", "model b", "model b left", "model a left"]
    assert seen == [
        "session a",
        "session b",
        "turn a",
        "turn b",
        *model_call,
        *[step.replace("model", "tool") for step in model_call],
        *model_call,
        "turn b left",
        "turn a left",
        "session b left",
        "session a left",
    ]


async def test_not_calling_next_in_a_model_hook_answers_and_layers_outside_still_see_it() -> None:
    seen: list[str] = []

    async def cached(ctx: ModelContext, next: Passing) -> ModelResponse:
        return ModelResponse(Message("assistant", "cached"))

    model = ScriptedModel()
    answer = await run(Layers("outer", seen), cached, Layers("inner", seen), model=model)
    assert answer.text == "cached"
    assert [each for each in seen if each.startswith("model")] == ["model outer", "model outer left"]
    assert_events(answer.events, Answered("model", "cached"))
    assert model.requests == []


async def test_not_calling_next_in_a_tool_hook_answers_and_nothing_further_in_runs() -> None:
    seen: list[str] = []

    async def cached(ctx: ToolContext, next: Next[ToolResult]) -> ToolResult:
        return ToolResult("from the cache")

    model = ScriptedModel([call("add", a=1)], "done")
    answer = await run(Layers("outer", seen), cached, Layers("inner", seen), model=model, tools=(add,))
    assert [each for each in seen if each.startswith("tool")] == ["tool outer", "tool outer left"]
    assert "ToolRan" not in names(answer.events)
    assert_events(answer.events, Answered("tool", "cached"))


async def test_a_turn_hook_that_sets_the_output_answers_without_the_model() -> None:
    async def greeting(ctx: TurnContext, next: Next[None]) -> None:
        ctx.output = Message("assistant", "hello yourself")

    answer = await run(greeting, model=ScriptedModel())
    assert answer.text == "hello yourself"
    assert_events(answer.events, Answered("turn", "greeting"))


async def test_a_turn_hook_that_neither_awaits_next_nor_answers_is_named() -> None:
    async def quiet(ctx: TurnContext, next: Next[None]) -> None:
        pass

    with pytest.raises(NextForgottenError) as caught:
        await run(quiet)
    assert str(caught.value) == "quiet.turn neither awaited next() nor set ctx.output: is an `await` missing?"


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")
async def test_a_turn_hook_that_calls_next_without_await_is_named() -> None:
    async def hasty(ctx: TurnContext, next: Next[None]) -> None:
        next()  # type: ignore[unused-awaitable]

    with pytest.raises(NextForgottenError, match=r"hasty\.turn neither awaited next\(\)"):
        await run(hasty)


async def test_a_session_hook_that_returns_without_next_is_named() -> None:
    async def quiet(ctx: SessionContext, next: Next[None]) -> None:
        pass

    async with Agent(ScriptedModel()).use(quiet) as agent:
        with pytest.raises(NextForgottenError, match=r"quiet\.session returned without calling next\(\)"):
            await agent.session().__aenter__()


# --- calling next more than once ----------------------------------------------------------------


@pytest.mark.parametrize("level", ["turn", "model", "tool"])
async def test_next_after_it_succeeded_names_the_middleware_and_says_how_to_repeat(level: str) -> None:
    async def twice(self: object, ctx: Any, next: Next[Any]) -> Any:
        await next()
        return await next()

    hook = type("Twice", (), {level: twice})()
    with pytest.raises(NextCalledTwiceError) as caught:
        await run(hook, model=ScriptedModel([call("add", a=1)], "done", "more"), tools=(add,))
    assert str(caught.value) == (
        f"twice.{level}: next() has succeeded: call it once, or write `await next.again()` to repeat it on purpose"
    )


async def test_next_while_it_runs_names_the_middleware() -> None:
    async def both(ctx: ModelContext, next: Passing) -> ModelResponse:
        first, _ = await asyncio.gather(next(), next())
        return first

    with pytest.raises(NextCalledTwiceError, match=r"both\.model: next\(\) is still running"):
        await run(both, model=ScriptedModel("one", "two"))


async def test_again_while_next_runs_is_refused_too() -> None:
    async def both(ctx: ModelContext, next: Passing) -> ModelResponse:
        first, _ = await asyncio.gather(next(), next.again())
        return first

    with pytest.raises(NextCalledTwiceError, match=r"both\.model: next\(\) is still running"):
        await run(both, model=ScriptedModel("one", "two"))


async def test_next_may_be_called_again_after_it_failed_and_the_stream_says_so() -> None:
    async with Agent(down(2, "up")).use(Retry()) as agent, agent.session() as session, session.stream("hi") as stream:
        events = [event async for event in stream]
    assert_events(events, Restarted("retry", 2), Restarted("retry", 3), TextDelta("up"))
    assert text_of(events) == "up"


async def test_next_again_repeats_on_purpose_after_a_success_and_the_stream_says_so() -> None:
    async def better(ctx: ModelContext, next: Passing) -> ModelResponse:
        await next()
        return await next.again()

    answer = await run(better, model=ScriptedModel("draft", "final"))
    assert answer.text == "final"
    assert_events(answer.events, Restarted("better", 2, "model"))


async def test_a_message_to_next_again_is_for_turn_hooks() -> None:
    async def wrong(ctx: ModelContext, next: Passing) -> ModelResponse:
        await next()
        return await next.again("better!")

    with pytest.raises(HookError, match=r"wrong\.model: next\.again\(message\) is for turn hooks"):
        await run(wrong, model=ScriptedModel("one", "two"))


async def test_a_repeated_model_call_runs_all_inner_layers_again() -> None:
    seen: list[str] = []
    await run(Retry(), Layers("inner", seen), model=down(1, "up"))
    assert [each for each in seen if each.startswith("model")] == ["model inner", "model inner", "model inner left"]


async def test_a_repeated_tool_call_runs_all_inner_layers_again() -> None:
    seen: list[str] = []

    async def twice(ctx: ToolContext, next: Next[ToolResult]) -> ToolResult:
        await next()
        return await next.again()

    model = ScriptedModel([call("add", a=1)], "done")
    await run(twice, Layers("inner", seen), model=model, tools=(add,))
    assert seen.count("tool inner") == 2


async def test_a_repeated_turn_goes_on_from_the_log_and_repeats_no_recorded_step() -> None:
    ran: list[int] = []

    @tool
    async def count(n: int) -> int:
        """Count."""
        ran.append(n)
        return n

    async def retry(ctx: TurnContext, next: Next[None]) -> None:
        with suppress(ProviderUnavailableError):
            return await next()
        return await next()

    model = ScriptedModel([call("count", n=1)], ProviderUnavailableError("down"), "done")
    answer = await run(retry, model=model, tools=(count,))
    assert (answer.text, ran) == ("done", [1])
    assert model.requests[1].messages == model.requests[2].messages
    assert_events(answer.events, Restarted("retry", 2, "turn"))


# --- the baseline -------------------------------------------------------------------------------


async def test_a_retry_around_memory_sends_the_memory_once() -> None:
    async def memory(ctx: ModelContext, next: Passing) -> ModelResponse:
        ctx.add_system_message("Ann likes tea.")
        ctx.add_message("(remember the tea)")
        ctx.transform_system(lambda text: f"{text}!")
        return await next()

    model = down(2, "up")
    await run(Retry(), memory, model=model)
    for request in model.requests:
        assert request.system_text == "Ann likes tea.!"
        assert [message.text for message in request.messages] == ["hi", "(remember the tea)"]


async def test_what_a_layer_changes_between_two_tries_stays_and_what_inner_layers_changed_does_not() -> None:
    spare = ScriptedModel("from the spare", name="spare")

    async def fallback(ctx: ModelContext, next: Passing) -> ModelResponse:
        with suppress(ProviderUnavailableError):
            return await next()
        ctx.set_model(spare)
        return await next()

    async def inner(ctx: ModelContext, next: Passing) -> ModelResponse:
        ctx.add_message(f"asked of {ctx.model.name}")
        return await next()

    answer = await run(fallback, inner, model=down(1))
    assert answer.text == "from the spare"
    assert [message.text for message in spare.requests[0].messages] == ["hi", "asked of spare"]
    assert_events(answer.events, like(ModelCalled, model="scripted"), like(ModelCalled, model="spare", attempt=2))


async def test_changes_of_inner_layers_are_undone_on_success_too() -> None:
    seen: list[tuple[str, int]] = []

    async def outer(ctx: ModelContext, next: Passing) -> ModelResponse:
        response = await next()
        seen.append((ctx.model.name, len(ctx.messages)))
        return response

    async def inner(ctx: ModelContext, next: Passing) -> ModelResponse:
        ctx.set_model(ScriptedModel("ok", name="other"))
        ctx.add_message("more")
        return await next()

    await run(outer, inner, model=ScriptedModel())
    assert seen == [("scripted", 1)]


async def test_a_retried_tool_call_starts_with_the_arguments_that_its_layer_saw() -> None:
    seen: list[int] = []

    async def twice(ctx: ToolContext, next: Next[ToolResult]) -> ToolResult:
        await next()
        seen.append(ctx.args["a"])
        return await next.again()

    async def plus_ten(ctx: ToolContext, next: Next[ToolResult]) -> ToolResult:
        ctx.modify_args({"a": ctx.args["a"] + 10})
        return await next()

    @tool(idempotent=True)
    async def note(a: int) -> int:
        """Note a number."""
        seen.append(a)
        return a

    await run(twice, plus_ten, model=ScriptedModel([call("note", a=1)], "done"), tools=(note,))
    assert seen == [11, 1, 11]


async def test_skip_call_is_undone_with_the_baseline() -> None:
    tries: list[str] = []

    async def retry(ctx: ToolContext, next: Next[ToolResult]) -> ToolResult:
        with suppress(ValueError):
            return await next()
        return await next()

    async def flaky(ctx: ToolContext, next: Next[ToolResult]) -> ToolResult:
        tries.append("try")
        if len(tries) == 1:
            ctx.skip_call("stale")
            raise ValueError("cache broke")
        return await next()

    model = ScriptedModel([call("add", a=1)], "done")
    answer = await run(retry, flaky, model=model, tools=(add,))
    [ran] = [event for event in answer.events if isinstance(event, ToolRan)]
    assert ran.result.text == "2"


class Tries(BaseModel):
    n: int = 0


async def test_state_is_not_rolled_back_and_budgets_count_every_real_call() -> None:
    class Counter(Middleware):
        state = Tries

        async def model(self, ctx: ModelContext, next: Passing) -> ModelResponse:
            ctx.state[self].n += 1
            return await next()

    async with Agent(down(2, "up")).use(Retry(), Counter()) as agent, agent.session() as session:
        answer = await session.run("hi")
        assert session.state["counter"].n == 3
    assert (answer.usage.attempts, answer.usage.model_calls, answer.usage.failures) == (3, 1, 2)


# --- what a hook returns ------------------------------------------------------------------------


async def forgets_to_return(ctx: ModelContext, next: Passing) -> Any:
    await next()


async def returns_text(ctx: ModelContext, next: Passing) -> Any:
    return (await next()).message.text


async def forgets_await(ctx: ModelContext, next: Passing) -> Any:
    return next()


async def tool_returns_text(ctx: ToolContext, next: Next[ToolResult]) -> Any:
    return (await next()).text


async def turn_returns(ctx: TurnContext, next: Next[None]) -> Any:
    await next()
    return ctx.output


@pytest.mark.parametrize(
    ("hook", "message"),
    [
        (
            forgets_to_return,
            "forgets_to_return.model returned nothing, expected ModelResponse: end it with `return await next()`",
        ),
        (
            returns_text,
            "returns_text.model returned a str, expected ModelResponse: end it with `return await next()`",
        ),
        (
            forgets_await,
            "forgets_await.model returned next() without awaiting it: write `return await next()`",
        ),
        (
            tool_returns_text,
            "tool_returns_text.tool returned a str, expected ToolResult: end it with `return await next()`",
        ),
        (
            turn_returns,
            "turn_returns.turn returned a Message, expected None: a turn hook answers by setting ctx.output",
        ),
    ],
)
async def test_a_wrong_result_names_middleware_hook_and_the_likely_fix(hook: Hook, message: str) -> None:
    with pytest.raises(WrongResultError) as caught:
        await run(hook, model=ScriptedModel([call("add", a=1)], "done"), tools=(add,))
    assert str(caught.value) == message


async def test_a_hook_that_returns_while_next_still_runs_is_named() -> None:
    tasks: list[asyncio.Task[Any]] = []

    async def impatient(ctx: ModelContext, next: Passing) -> ModelResponse:
        tasks.append(asyncio.create_task(next()))
        await asyncio.sleep(0)
        return ModelResponse(Message("assistant", "me first"))

    with pytest.raises(NextForgottenError, match=r"impatient\.model returned while next\(\) was still running"):
        await run(impatient, model=ScriptedModel("a late answer"))
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_nothing_of_a_turn_starts_after_it_has_ended() -> None:
    ran: list[str] = []
    held = asyncio.Event()
    orphans: list[asyncio.Task[Any]] = []

    @tool
    async def pay() -> str:
        """Pay."""
        ran.append("paid")
        return "paid"

    async def careless(ctx: TurnContext, next: Next[None]) -> None:
        orphans.append(asyncio.create_task(next()))
        await asyncio.sleep(0)
        raise ValueError("boom")

    async def late(request: Any) -> Any:
        await held.wait()
        return [call("pay")] if len(model.requests) == 1 else "done"

    model = FunctionModel(late)
    async with Agent(model, tools=[pay]).use(careless) as agent, agent.session() as session:
        with pytest.raises(ValueError, match="boom"):
            await session.run("hi")
        held.set()
        await asyncio.wait(orphans)
        assert ran == []
        assert session.log[len(session.log) - 1].type == "turn:ended"


# --- next() is a native coroutine in a hook that returns ----------------------------------------


async def in_a_task(ctx: ModelContext, next: Passing) -> ModelResponse:
    return await asyncio.create_task(next())


async def in_a_group(ctx: ModelContext, next: Passing) -> ModelResponse:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(next())
    return task.result()


async def gathered(ctx: ModelContext, next: Passing) -> ModelResponse:
    response, _ = await asyncio.gather(next(), asyncio.sleep(0))
    return response


async def in_time(ctx: ModelContext, next: Passing) -> ModelResponse:
    async with asyncio.timeout(60):
        return await next()


async def waited_for(ctx: ModelContext, next: Passing) -> ModelResponse:
    return await asyncio.wait_for(next(), 60)


@pytest.mark.parametrize("hook", [in_a_task, in_a_group, gathered, in_time, waited_for])
async def test_next_can_be_put_into_tasks_groups_and_time_outs(hook: Hook) -> None:
    seen: list[str] = []
    answer = await run(Layers("outer", seen), hook, Layers("inner", seen), model=ScriptedModel("hello"))
    assert answer.text == "hello"
    assert seen.count("model inner left") == 1


async def test_a_time_out_around_next_is_a_time_out_error_in_the_hook_and_the_call_is_cancelled() -> None:
    cancelled: list[str] = []

    async def limited(ctx: ModelContext, next: Passing) -> ModelResponse:
        with suppress(TimeoutError):
            async with asyncio.timeout(0):
                return await next()
        return ctx.skip_call("too slow")

    async def forever(request: Any) -> str:
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.append("model")
        return ""

    assert (await run(limited, model=FunctionModel(forever))).text == "too slow"
    assert cancelled == ["model"]


@pytest.mark.filterwarnings("ignore:coroutine .* was never awaited:RuntimeWarning")
async def test_iterating_next_without_yielding_is_named() -> None:
    class Eager(Middleware):
        name = "retry"

        async def model(self, ctx: ModelContext, next: Passing) -> ModelResponse:
            async for event in next():
                if isinstance(event, End):
                    return event.result
            raise AssertionError

    with pytest.raises(HookError) as caught:
        await run(Eager())
    assert str(caught.value).startswith("retry.model iterates next() but does not yield")


# --- hooks that yield ---------------------------------------------------------------------------


async def test_next_of_a_streaming_hook_can_be_iterated_or_awaited() -> None:
    async def iterates(ctx: ModelContext, next: Passing) -> Events[ModelResponse]:
        async for event in next():
            yield event

    async def awaits(ctx: ModelContext, next: Passing) -> Events[ModelResponse]:
        yield End(await next())

    for hook in (iterates, awaits):
        agent = Agent(ScriptedModel("hel lo")).use(hook)
        async with agent, agent.session() as session, session.stream("hi") as stream:
            events = [event async for event in stream]
        assert (text_of(events), stream.answer.text) == ("hel lo", "hel lo")


async def test_next_of_a_streaming_hook_is_guarded_and_repeatable_like_any() -> None:
    async def again(ctx: ModelContext, next: Passing) -> Events[ModelResponse]:
        await next()
        async for event in next.again():
            yield event

    async def twice(ctx: ModelContext, next: Passing) -> Events[ModelResponse]:
        await next()
        async for event in next():
            yield event

    answer = await run(again, model=ScriptedModel("draft", "final"))
    assert answer.text == "final"
    assert_events(answer.events, Restarted("again", 2, "model"))
    with pytest.raises(NextCalledTwiceError, match=r"twice\.model: next\(\) has succeeded"):
        await run(twice, model=ScriptedModel("draft", "final"))


async def swallows_end(ctx: ModelContext, next: Passing) -> Events[ModelResponse]:
    async for event in next():
        if not isinstance(event, End):
            yield event


async def yields_after_end(ctx: ModelContext, next: Passing) -> Events[ModelResponse]:
    async for event in next():
        yield event
    yield TextDelta("one more thing")


async def yields_text(ctx: ModelContext, next: Passing) -> Any:
    yield "text"
    yield End(await next())


async def ends_with_text(ctx: ModelContext, next: Passing) -> Any:
    yield End((await next()).message.text)


async def turn_ends_with_text(ctx: TurnContext, next: Next[None]) -> Any:
    await next()
    yield End("text")


@pytest.mark.parametrize(
    ("hook", "error", "message"),
    [
        (swallows_end, MissingEndError, "swallows_end.model ended without End: pass on the one from next(), or yield"),
        (yields_after_end, WrongResultError, "yields_after_end.model yielded a TextDelta after its End"),
        (yields_text, WrongResultError, "yields_text.model yielded a str, expected an event or End"),
        (ends_with_text, WrongResultError, "ends_with_text.model returned a str, expected ModelResponse"),
        (turn_ends_with_text, WrongResultError, "a turn hook's End holds a Message, got a str"),
    ],
)
async def test_a_streaming_hook_that_breaks_its_contract_is_named(
    hook: Hook, error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=re.escape(message)):
        await run(hook)


async def test_an_end_of_ones_own_answers_and_nothing_further_in_runs() -> None:
    async def cached(ctx: ModelContext, next: Passing) -> Events[ModelResponse]:
        yield TextDelta("cached")
        yield End(ModelResponse(Message("assistant", "cached")))

    model = ScriptedModel()
    answer = await run(cached, model=model)
    assert (answer.text, model.requests) == ("cached", [])


# --- failures on their way out ------------------------------------------------------------------


@pytest.mark.parametrize("failing", ["model", "tool hook"])
async def test_a_failure_reaches_the_after_part_of_every_turn_hook_once_and_then_the_caller(failing: str) -> None:
    seen: list[str] = []

    class Watch:
        def __init__(self, name: str) -> None:
            self.name = name

        async def turn(self, ctx: TurnContext, next: Next[None]) -> None:
            try:
                await next()
            except ValueError as error:
                seen.append(f"{self.name}: {error}")
                raise

    async def breaks(ctx: ToolContext, next: Next[ToolResult]) -> ToolResult:
        raise ValueError("boom")

    model = ScriptedModel(ValueError("boom")) if failing == "model" else ScriptedModel([call("add", a=1)])
    with pytest.raises(ValueError, match="boom"):
        await run(Watch("outer"), Watch("inner"), breaks, model=model, tools=(add,))
    assert seen == ["inner: boom", "outer: boom"]


async def test_a_failure_is_the_original_exception_with_a_note_naming_session_turn_and_layer() -> None:
    boom = KeyError("boom")

    async def breaks(ctx: ModelContext, next: Passing) -> ModelResponse:
        raise boom

    async with Agent(ScriptedModel()).use(breaks) as agent, agent.session("s1") as session:
        with pytest.raises(KeyError) as caught:
            await session.run("hi")
    assert caught.value is boom
    assert boom.__notes__ == ["in breaks.model", "in turn 0 of session s1"]


async def test_a_failure_that_a_hook_caught_and_did_not_pass_on_is_logged_with_its_name() -> None:
    async def calm(ctx: ModelContext, next: Passing) -> ModelResponse:
        try:
            return await next()
        except ProviderUnavailableError:
            return ModelResponse(Message("assistant", "come back later"))

    answer = await run(calm, model=down(1))
    assert answer.text == "come back later"
    assert_events(answer.events, Recovered("model", "calm", "ProviderUnavailableError: down"))


async def test_from_an_exception_group_control_flow_comes_out_first() -> None:
    async def guarded(ctx: ModelContext, next: Passing) -> ModelResponse:
        async def fails() -> None:
            raise ValueError("boom")

        async def stops() -> None:
            ctx.abort("not today")

        async with asyncio.TaskGroup() as group:
            group.create_task(fails())
            group.create_task(stops())
        return await next()

    with pytest.raises(TurnAbortedError, match="not today"):
        await run(guarded)


async def test_from_an_exception_group_without_control_flow_the_first_failure_comes_out() -> None:
    async def grouped(ctx: ModelContext, next: Passing) -> ModelResponse:
        raise ExceptionGroup("several", [ExceptionGroup("inner", [ValueError("first")]), KeyError("second")])

    with pytest.raises(ValueError, match="first"):
        await run(grouped)


# --- the observer -------------------------------------------------------------------------------


class Watching:
    """An observer that notes what it is told."""

    def __init__(self) -> None:
        self.seen: list[str] = []

    def entered(self, level: str, name: str, ctx: Any) -> None:
        self.seen.append(f"> {level} {name}")

    def left(self, level: str, name: str, ctx: Any, error: BaseException | None) -> None:
        self.seen.append(f"< {level} {name}" + (f" {type(error).__name__}" if error else ""))


async def test_an_observer_is_told_of_each_hook_by_level_and_name() -> None:
    observer, seen = Watching(), list[str]()
    model = ScriptedModel([call("add", a=1)], "done")
    agent = Agent(model, tools=[add]).use(Layers("a", seen), streaming).observe(observer)
    await agent.run("hi")
    model_call = ["> model a", "> model streaming", "< model streaming", "< model a"]
    tool_call = ["> tool a", "< tool a"]
    assert observer.seen == [
        "> session a",
        "> turn a",
        *model_call,
        *tool_call,
        *model_call,
        "< turn a",
        "< session a",
    ]


async def streaming(ctx: ModelContext, next: Passing) -> Events[ModelResponse]:
    async for event in next():
        yield event


async def test_an_observer_is_told_how_a_hook_failed() -> None:
    observer = Watching()

    async def breaks(ctx: ModelContext, next: Passing) -> ModelResponse:
        raise KeyError("boom")

    with pytest.raises(KeyError):
        await Agent(ScriptedModel()).use(named("outer", streaming), breaks).observe(observer).run("hi")
    assert observer.seen == ["> model outer", "> model breaks", "< model breaks KeyError", "< model outer KeyError"]


async def test_an_observer_is_chosen_before_the_agent_opens() -> None:
    async with Agent(ScriptedModel()) as agent:
        with pytest.raises(UseError, match=r"observe\(\) comes before `async with agent`"):
            agent.observe(Watching())
