"""One turn: model, tools, model, answer; and what hooks may make of its tool calls."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import Any

import pytest

from agent_express import (
    Agent,
    Answer,
    Message,
    Middleware,
    ModelContext,
    ModelResponse,
    Next,
    Session,
    Tool,
    ToolCall,
    ToolContext,
    ToolError,
    ToolResult,
    TurnAbortedError,
    TurnContext,
    Usage,
    tool,
)
from agent_express.errors import HookError, TooLateError, TurnError
from agent_express.events import (
    Answered,
    Failed,
    ModelResponded,
    Recovered,
    Restarted,
    ToolCalled,
    ToolRan,
    ToolReturned,
    ToolStarted,
    TurnEnded,
    UserSaid,
    dump,
)
from agent_express.testing import FunctionModel, Say, ScriptedModel, assert_events, call, check_history, like, no_leaks

Passing = Next[ModelResponse]
Around = Next[ToolResult]


@tool
async def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


@tool
async def breaks(why: str = "boom") -> str:
    """Break."""
    raise LookupError(why)


class Body:
    """A tool that notes each run of its body."""

    def __init__(self, name: str = "work", **flags: Any) -> None:
        self.runs: list[dict[str, Any]] = []

        async def body(n: int = 0) -> str:
            self.runs.append({"n": n})
            return f"did {n}"

        self.tool: Tool = tool(name=name, description="Work.", **flags)(body)


def results(answer: Answer[Any]) -> list[ToolReturned]:
    return [event for event in answer.events if isinstance(event, ToolReturned)]


def result_parts(message: Message) -> list[ToolResult]:
    return [part for part in message.parts if isinstance(part, ToolResult)]


async def run(*hooks: Any, model: Any, tools: list[Tool]) -> Answer[str]:
    """Run one turn; every request must be one that any provider takes."""
    answer = await Agent(model, tools=tools).use(*hooks).run("hi")
    for request in model.requests:
        check_history(request.messages)
    return answer


# --- the loop -----------------------------------------------------------------------------------


async def test_without_tool_calls_the_first_response_is_the_answer() -> None:
    answer = await run(model=ScriptedModel("hello"), tools=[])
    assert (answer.text, answer.output, str(answer), answer.status) == ("hello", "hello", "hello", "completed")


async def test_the_users_message_is_logged_when_the_core_is_reached() -> None:
    seen: list[int] = []

    async def look(ctx: TurnContext, next: Next[None]) -> None:
        seen.append(len(ctx.history))
        await next()
        seen.append(len(ctx.history))

    await run(look, model=ScriptedModel("ok"), tools=[])
    assert seen == [0, 2]


async def test_tools_are_run_and_their_results_sent_until_the_model_answers() -> None:
    model = ScriptedModel([call("add", a=1)], [call("add", a=2, b=2)], "5")
    answer = await run(model=model, tools=[add])
    assert answer.text == "5"
    assert [part.text for part in result_parts(model.requests[1].messages[-1])] == ["2"]
    assert [part.text for part in result_parts(model.requests[2].messages[-1])] == ["4"]


async def test_a_response_is_logged_as_the_outermost_hook_returned_it() -> None:
    async def masks(ctx: ModelContext, next: Passing) -> ModelResponse:
        response = await next()
        return response.replace(message=response.message.with_text("***"))

    async with Agent(ScriptedModel("secret")).use(masks) as agent, agent.session() as session:
        answer = await session.run("hi")
        assert session.history[-1].text == answer.text == "***"
        assert session.log.of(ModelResponded)[0].response.message.text == "***"


async def test_tools_of_one_batch_run_in_parallel_and_results_stand_in_the_order_of_the_calls() -> None:
    finished: list[int] = []
    turnstile = [asyncio.Event() for _ in range(3)]
    turnstile[2].set()

    @tool
    async def reverse(n: int) -> str:
        """Finish in reverse order."""
        await turnstile[n].wait()
        finished.append(n)
        if n:
            turnstile[n - 1].set()
        return f"result {n}"

    model = ScriptedModel([call("reverse", n=n) for n in range(3)], "done")
    await run(model=model, tools=[reverse])
    assert finished == [2, 1, 0]
    assert [part.text for part in result_parts(model.requests[1].messages[-1])] == ["result 0", "result 1", "result 2"]


async def test_a_tool_that_is_not_concurrent_runs_alone_between_its_neighbours() -> None:
    running: list[str] = []
    most: dict[str, int] = {}

    def busy(name: str, **flags: Any) -> Tool:
        async def body() -> str:
            running.append(name)
            await asyncio.sleep(0)
            for each in running:
                most[each] = max(most.get(each, 0), len(running))
            running.remove(name)
            return name

        return tool(name=name, description=name, **flags)(body)

    model = ScriptedModel([call("free"), call("free"), call("alone"), call("free"), call("free")], "done")
    await run(model=model, tools=[busy("free"), busy("alone", concurrent=False)])
    assert most == {"free": 2, "alone": 1}


async def test_text_before_a_tool_call_in_one_answer_does_not_keep_the_tool_from_running() -> None:
    body = Body()
    model = ScriptedModel(Say("Let me see.", calls=[call("work", n=1)]), "done")
    assert (await run(model=model, tools=[body.tool])).text == "done"
    assert body.runs == [{"n": 1}]


# --- calls that fail ----------------------------------------------------------------------------


async def test_a_failing_tool_is_an_error_result_and_its_siblings_finish() -> None:
    body = Body()
    model = ScriptedModel([call("work", n=1), call("breaks"), call("work", n=2)], "done")
    answer = await run(model=model, tools=[body.tool, breaks])
    assert [(event.how, event.result.text) for event in results(answer)] == [
        ("ran", "did 1"),
        ("failed", "LookupError: boom"),
        ("ran", "did 2"),
    ]
    assert [part.is_error for part in result_parts(model.requests[1].messages[-1])] == [False, True, False]


@pytest.mark.parametrize(
    ("args", "text"),
    [
        ('{"a": ', "the arguments of 'add' are not a JSON object; you wrote: {\"a\": "),
        ("[1]", "the arguments of 'add' are not a JSON object; you wrote: [1]"),
        ('{"a": NaN}', "the arguments of 'add' are not a JSON object; you wrote: {\"a\": NaN}"),
        ('{"a": "x"}', "arguments of 'add' do not fit: a: Input should be a valid integer, unable to parse string"),
        ("", "arguments of 'add' do not fit: a: Field required"),
    ],
)
async def test_arguments_that_do_not_parse_or_validate_are_an_error_result_for_that_call_only(
    args: str, text: str
) -> None:
    batch = ModelResponse(Message("assistant", [ToolCall("1", "add", args), ToolCall("2", "add", '{"a": 1}')]))
    model = ScriptedModel(batch, "done")
    answer = await run(model=model, tools=[add])
    assert [event.how for event in results(answer)] == ["invalid", "ran"]
    assert results(answer)[0].result.text.startswith(text)


@pytest.mark.parametrize(
    "args", ['{"s": "\\u0000"}', '{"s": "\\ud800"}', '{"x": 1e999}', '{"s": "\ud800"}', '{"s": "\x00"}', "\x00"]
)
async def test_whatever_a_model_writes_as_arguments_the_log_can_be_stored(args: str) -> None:
    @tool
    async def note(s: str = "", x: float = 0) -> str:
        """Note."""
        return "noted"

    model = ScriptedModel(ModelResponse(Message("assistant", [ToolCall("1", "note", args)])), "done")
    answer = await run(model=model, tools=[note])
    assert [dump(event)["type"] for event in answer.events] == [event.type for event in answer.events]


@pytest.mark.parametrize("text", ["a\x00b", "a\ud800b"], ids=["nul", "surrogate"])
async def test_whatever_a_model_says_the_log_can_be_stored(text: str) -> None:
    answer = await run(model=ScriptedModel(ModelResponse(Message("assistant", text))), tools=[])
    assert answer.text[0] + answer.text[-1] == "ab"
    assert [dump(event)["type"] for event in answer.events] == [event.type for event in answer.events]


async def test_an_unknown_tool_goes_through_the_hooks_and_is_an_error_result_that_says_what_there_is() -> None:
    seen: list[tuple[str, Any]] = []

    async def look(ctx: ToolContext, next: Around) -> ToolResult:
        seen.append((ctx.call.name, ctx.tool))
        return await next()

    answer = await run(look, model=ScriptedModel([call("subtract", a=1)], "done"), tools=[add])
    [event] = results(answer)
    assert seen == [("subtract", None)]
    assert (event.how, event.result.text) == ("no_tool", "there is no tool 'subtract'; there are: add")


async def test_a_hook_may_answer_for_an_unknown_tool() -> None:
    async def pretends(ctx: ToolContext, next: Around) -> ToolResult:
        return ctx.skip_call("41") if ctx.tool is None else await next()

    answer = await run(pretends, model=ScriptedModel([call("subtract")], "done"), tools=[add])
    assert [(event.how, event.by, event.result.text) for event in results(answer)] == [("skipped", "pretends", "41")]


@pytest.mark.parametrize("ids", [("", ""), ("call_0", "call_0"), ("", "call_0"), ("call_1", "")])
async def test_empty_and_repeated_call_ids_are_made_unique_and_both_results_kept(ids: tuple[str, str]) -> None:
    calls = [ToolCall(each, "add", f'{{"a": {n}}}') for n, each in enumerate(ids)]
    model = ScriptedModel(ModelResponse(Message("assistant", calls)), "done")
    await run(model=model, tools=[add])
    found = [each.id for each in model.requests[1].messages[1].tool_calls]
    assert len(set(found)) == 2
    assert [(part.call_id, part.text) for part in result_parts(model.requests[1].messages[2])] == list(
        zip(found, ["1", "2"], strict=True)
    )


# --- ToolError: catching and repeating ----------------------------------------------------------


async def test_a_hook_can_catch_a_tool_error_and_answer_instead() -> None:
    async def calm(ctx: ToolContext, next: Around) -> ToolResult:
        try:
            return await next()
        except ToolError as error:
            return ToolResult(f"try later ({error.tool}: {error.error})")

    answer = await run(calm, model=ScriptedModel([call("breaks")], "done"), tools=[breaks])
    assert [(event.result.text, event.result.is_error) for event in results(answer)] == [
        ("try later (breaks: boom)", False)
    ]
    assert_events(answer.events, Recovered("tool", "calm", "ToolError: LookupError: boom"))


async def test_a_hook_that_answers_a_failure_with_an_error_result_leaves_the_call_failed() -> None:
    async def rewords(ctx: ToolContext, next: Around) -> ToolResult:
        try:
            return await next()
        except ToolError:
            return ToolResult("it did not work", is_error=True)

    answer = await run(rewords, model=ScriptedModel([call("breaks")], "done"), tools=[breaks])
    assert [(event.how, event.result.text) for event in results(answer)] == [("failed", "it did not work")]


class RetryTool(Middleware):
    """Run the tool again after a failure."""

    async def tool(self, ctx: ToolContext, next: Around) -> ToolResult:
        with suppress(ToolError):
            return await next()
        return await next()


@pytest.mark.parametrize(
    ("flags", "runs"),
    [({}, 1), ({"idempotent": True}, 2), ({"read_only": True}, 2)],
    ids=["plain", "idempotent", "read"],
)
async def test_a_repeat_runs_the_body_of_an_idempotent_tool_only(flags: dict[str, Any], runs: int) -> None:
    ran: list[str] = []

    async def pay() -> str:
        ran.append("pay")
        if len(ran) == 1:
            raise ConnectionError("lost")
        return "paid"

    answer = await run(RetryTool(), model=ScriptedModel([call("pay")], "done"), tools=[tool(**flags)(pay)])
    assert len(ran) == runs
    assert [event.result.is_error for event in results(answer)] == [runs == 1]


async def test_a_repeat_wraps_the_hooks_around_the_recorded_outcome() -> None:
    body, seen = Body(), list[str]()

    async def twice(ctx: ToolContext, next: Around) -> ToolResult:
        await next()
        return await next.again()

    async def look(ctx: ToolContext, next: Around) -> ToolResult:
        seen.append((await next()).text)
        return ToolResult("from the hook")

    answer = await run(twice, look, model=ScriptedModel([call("work", n=1)], "done"), tools=[body.tool])
    assert (body.runs, seen) == ([{"n": 1}], ["did 1", "did 1"])
    assert [event.result.text for event in results(answer)] == ["from the hook"]


async def test_that_a_tool_ran_is_recorded_before_the_after_parts_of_the_hooks() -> None:
    body = Body()

    async def fails_after(ctx: ToolContext, next: Around) -> ToolResult:
        await next()
        raise ValueError("after the fact")

    agent = Agent(ScriptedModel([call("work")], "ok"), tools=[body.tool]).use(fails_after)
    async with agent, agent.session() as session:
        with pytest.raises(ValueError, match="after the fact"):
            await session.run("hi")
        assert_events(session.log, like(ToolRan), like(ToolReturned, how="withheld"))
        [result] = result_parts(session.history[-1])
    assert result.text == "it ran; its result was withheld: the turn failed"


async def test_a_turn_that_is_repeated_after_a_hook_failed_runs_no_recorded_body_again() -> None:
    body, tries = Body(), list[int]()

    async def retry(ctx: TurnContext, next: Next[None]) -> None:
        with suppress(ValueError):
            return await next()
        return await next()

    async def fails_once(ctx: ToolContext, next: Around) -> ToolResult:
        result = await next()
        tries.append(1)
        if len(tries) == 1:
            raise ValueError("after the fact")
        return result

    answer = await run(retry, fails_once, model=ScriptedModel([call("work", n=1)], "done"), tools=[body.tool])
    assert (body.runs, len(tries)) == ([{"n": 1}], 2)
    assert [event.result.text for event in results(answer)] == ["did 1"]


class Limited:
    """Gives up on next() once, when the body says that it is running, and calls it again."""

    def __init__(self, level: str, running: asyncio.Event) -> None:
        self.level, self.running = level, running

    async def _twice(self, next: Next[Any]) -> Any:
        first = asyncio.create_task(next())
        await self.running.wait()
        first.cancel()
        await asyncio.wait([first])
        return await next()

    async def turn(self, ctx: TurnContext, next: Next[None]) -> None:
        await (self._twice(next) if self.level == "turn" else next())

    async def tool(self, ctx: ToolContext, next: Around) -> ToolResult:
        return await self._twice(next) if self.level == "tool" else await next()


@pytest.mark.parametrize("level", ["tool", "turn"])
@pytest.mark.parametrize(("flags", "starts"), [({}, 1), ({"idempotent": True}, 2)], ids=["plain", "idempotent"])
async def test_a_body_that_was_cut_off_does_not_start_again(level: str, flags: dict[str, Any], starts: int) -> None:
    running, started = asyncio.Event(), list[str]()

    async def pay() -> str:
        started.append("pay")
        if len(started) == 1:
            running.set()
            await asyncio.Event().wait()
        return "paid"

    model = ScriptedModel([call("pay")], "done")
    answer = await run(Limited(level, running), model=model, tools=[tool(**flags)(pay)])
    assert (answer.text, len(started)) == ("done", starts)
    [event] = results(answer)
    assert event.result.is_error == (starts == 1)
    assert ("unknown" in event.result.text) == (starts == 1)


async def test_a_body_runs_with_the_arguments_that_were_logged_as_started() -> None:
    body = Body()

    async def doubles(ctx: ToolContext, next: Around) -> ToolResult:
        ctx.modify_args({"n": ctx.args["n"] * 2})
        return await next()

    answer = await run(doubles, doubles_again, model=ScriptedModel([call("work", n=1)], "done"), tools=[body.tool])
    assert body.runs == [{"n": 4}]
    assert_events(answer.events, like(ToolCalled, args={"n": 1}), like(ToolStarted, args={"n": 4}))


async def doubles_again(ctx: ToolContext, next: Around) -> ToolResult:
    ctx.modify_args({"n": ctx.args["n"] * 2})
    return await next()


async def test_modified_arguments_are_validated_again() -> None:
    async def wrong(ctx: ToolContext, next: Around) -> ToolResult:
        with pytest.raises(HookError, match="modify_args: arguments of 'work' do not fit: n: Input should be a valid"):
            ctx.modify_args({"n": "many"})
        return await next()

    body = Body()
    await run(wrong, model=ScriptedModel([call("work", n=1)], "done"), tools=[body.tool])
    assert body.runs == [{"n": 1}]


async def test_modified_arguments_get_their_defaults_too() -> None:
    seen: list[Any] = []

    async def shortens(ctx: ToolContext, next: Around) -> ToolResult:
        ctx.modify_args({"a": 5})
        seen.append(dict(ctx.args))
        return await next()

    await run(shortens, model=ScriptedModel([call("add", a=1, b=7)], "done"), tools=[add])
    assert seen == [{"a": 5, "b": 1}]


# --- deny, skip, too late -----------------------------------------------------------------------


async def test_deny_refuses_the_call_with_an_error_result_and_the_name_of_the_middleware() -> None:
    body = Body()

    async def sundays(ctx: ToolContext, next: Around) -> ToolResult:
        return ctx.deny("not on Sundays")

    answer = await run(sundays, model=ScriptedModel([call("work")], "done"), tools=[body.tool])
    [event] = results(answer)
    assert (event.how, event.by, event.result.is_error, event.result.text) == (
        "denied",
        "sundays",
        True,
        "not on Sundays",
    )
    assert body.runs == []


async def test_next_after_deny_gives_the_refusal_and_runs_nothing() -> None:
    body, seen = Body(), list[str]()

    async def sundays(ctx: ToolContext, next: Around) -> ToolResult:
        ctx.deny("not on Sundays")
        return await next()

    async def inner(ctx: ToolContext, next: Around) -> ToolResult:
        seen.append("inner")
        return await next()

    answer = await run(sundays, inner, model=ScriptedModel([call("work")], "done"), tools=[body.tool])
    assert [event.result.text for event in results(answer)] == ["not on Sundays"]
    assert (body.runs, seen) == ([], [])


async def test_no_hook_turns_a_refusal_into_a_success_but_it_may_change_its_words() -> None:
    async def softens(ctx: ToolContext, next: Around) -> ToolResult:
        result = await next()
        return result.replace(parts=ToolResult(f"Sorry: {result.text}").parts)

    async def overrules(ctx: ToolContext, next: Around) -> ToolResult:
        await next()
        return ToolResult("all is well")

    async def sundays(ctx: ToolContext, next: Around) -> ToolResult:
        return ctx.deny("closed")

    texts = []
    for outer in (softens, overrules):
        answer = await run(outer, sundays, model=ScriptedModel([call("work")], "done"), tools=[Body().tool])
        texts += [(event.how, event.result.is_error, event.result.text) for event in results(answer)]
    assert texts == [("denied", True, "Sorry: closed"), ("denied", True, "closed")]


async def test_a_refusal_stands_through_a_retry_of_an_outer_layer() -> None:
    body, tries = Body(), list[int]()

    async def insists(ctx: ToolContext, next: Around) -> ToolResult:
        await next()
        return await next.again()

    async def once(ctx: ToolContext, next: Around) -> ToolResult:
        tries.append(1)
        return ctx.deny("no") if len(tries) == 1 else await next()

    answer = await run(insists, once, model=ScriptedModel([call("work")], "done"), tools=[body.tool])
    assert (body.runs, [event.how for event in results(answer)]) == ([], ["denied"])


async def test_skip_call_answers_in_place_of_the_call_with_the_name_of_the_middleware() -> None:
    body = Body()

    async def cached(ctx: ToolContext, next: Around) -> ToolResult:
        return ctx.skip_call("from the cache")

    answer = await run(cached, model=ScriptedModel([call("work")], "done"), tools=[body.tool])
    assert [(event.how, event.by, event.result.text) for event in results(answer)] == [
        ("skipped", "cached", "from the cache")
    ]
    assert body.runs == []


async def test_a_hook_that_answers_by_itself_is_logged_as_such() -> None:
    async def cached(ctx: ToolContext, next: Around) -> ToolResult:
        return ToolResult("from the cache")

    answer = await run(cached, model=ScriptedModel([call("work")], "done"), tools=[Body().tool])
    assert_events(answer.events, Answered("tool", "cached"), like(ToolReturned, how="answered", by="cached"))


@pytest.mark.parametrize("what", ["deny", "skip_call"])
async def test_deny_and_skip_after_the_call_began_are_too_late(what: str) -> None:
    async def late(ctx: ToolContext, next: Around) -> ToolResult:
        result = await next()
        with pytest.raises(TooLateError) as caught:
            getattr(ctx, what)("too late")
        assert str(caught.value) == (f"late: {what}() after tool 'work' had started; return another result instead")
        return result

    answer = await run(late, model=ScriptedModel([call("work")], "done"), tools=[Body().tool])
    assert [event.how for event in results(answer)] == ["ran"]


async def test_a_body_that_denies_its_own_call_is_too_late() -> None:
    @tool
    async def regrets(ctx: ToolContext) -> str:
        """Regret."""
        ctx.deny("never mind")
        return "done"

    answer = await run(model=ScriptedModel([call("regrets")], "done"), tools=[regrets])
    [event] = results(answer)
    assert event.how == "failed"
    assert event.result.text.startswith("TooLateError: tool")


# --- a failing middleware is no failing tool ----------------------------------------------------


async def test_an_exception_in_a_tool_hook_ends_the_turn_and_cancels_and_awaits_siblings() -> None:
    seen: list[str] = []
    sibling_runs = asyncio.Event()

    @tool
    async def waits() -> str:
        """Wait."""
        sibling_runs.set()
        try:
            await asyncio.Event().wait()
        finally:
            seen.append("sibling cancelled")
        return ""

    async def crashes(ctx: ToolContext, next: Around) -> ToolResult:
        if ctx.call.name == "add":
            await sibling_runs.wait()
            raise RuntimeError("guard crashed")
        return await next()

    agent = Agent(ScriptedModel([call("waits"), call("add", a=1)]), tools=[waits, add]).use(crashes)
    async with no_leaks(), agent, agent.session() as session:
        with pytest.raises(RuntimeError, match="guard crashed"):
            await session.run("hi")
        seen.append("turn ended")
        check_history(session.history)
    assert seen == ["sibling cancelled", "turn ended"]


async def test_after_a_failed_turn_every_call_has_a_result_and_the_next_turn_works() -> None:
    async def crashes(ctx: ToolContext, next: Around) -> ToolResult:
        raise RuntimeError("guard crashed")

    model = ScriptedModel([call("add", a=1), call("add", a=2)], "fine")
    async with Agent(model, tools=[add]).use(crashes) as agent, agent.session() as session:
        with pytest.raises(RuntimeError):
            await session.run("hi")
        assert (await session.run("again")).text == "fine"
    check_history(model.requests[1].messages)
    assert [part.text for part in result_parts(model.requests[1].messages[2])] == ["not run: the turn failed"] * 2


async def test_a_turn_whose_model_failed_leaves_the_users_message_and_the_next_turn_works() -> None:
    model = ScriptedModel(ConnectionError("down"), "fine")
    async with Agent(model) as agent, agent.session() as session:
        with pytest.raises(ConnectionError):
            await session.run("first")
        assert (await session.run("second")).text == "fine"
    assert [message.text for message in model.requests[1].messages] == ["first", "second"]


# --- abort --------------------------------------------------------------------------------------


async def aborts_turn(ctx: TurnContext, next: Next[None]) -> None:
    ctx.abort("enough")


async def aborts_model(ctx: ModelContext, next: Passing) -> ModelResponse:
    ctx.abort("enough")


async def aborts_tool(ctx: ToolContext, next: Around) -> ToolResult:
    ctx.abort("enough")


@pytest.mark.parametrize("hook", [aborts_turn, aborts_model, aborts_tool])
async def test_abort_ends_the_turn_with_one_event_of_reason_and_middleware(hook: Any) -> None:
    agent = Agent(ScriptedModel([call("add", a=1)], "fine"), tools=[add]).use(hook)
    async with agent, agent.session() as session:
        with pytest.raises(TurnAbortedError) as caught:
            await session.run("hi")
        assert (caught.value.reason, caught.value.by) == ("enough", hook.__name__)
        [ended] = session.log.of(TurnEnded)
        assert (ended.status, ended.reason, ended.by) == ("aborted", "enough", hook.__name__)
        assert session.log.of(Failed) == []
        check_history(session.history)


async def swallows_all(ctx: Any, next: Next[Any]) -> Any:
    results = await asyncio.gather(next(), return_exceptions=True)
    return results[0] if isinstance(results[0], ModelResponse | ToolResult) else None


async def shields(ctx: Any, next: Next[Any]) -> Any:
    try:
        return await asyncio.shield(asyncio.ensure_future(next()))
    except BaseException:
        return ModelResponse(Message("assistant", "nothing happened"))


async def repeats(ctx: Any, next: Next[Any]) -> Any:
    try:
        return await next()
    except BaseException:
        return await next()


async def answers_instead(ctx: Any, next: Next[Any]) -> Any:
    try:
        return await next()
    except BaseException:
        return ModelResponse(Message("assistant", "all is well"))


@pytest.mark.parametrize("swallow", [swallows_all, shields, repeats, answers_instead])
async def test_whatever_a_hook_does_with_an_abort_nothing_starts_any_more_and_nothing_is_released(swallow: Any) -> None:
    body, aborted, late = Body(), list[str](), list[str]()

    async def stops(ctx: ModelContext, next: Passing) -> ModelResponse:
        response = await next()
        if not aborted:
            aborted.append("now")
            ctx.abort("enough")
        return response

    def reply(request: Any) -> Any:
        if aborted:
            late.append("model")
        return [call("work")]

    class Swallows:
        async def model(self, ctx: ModelContext, next: Passing) -> Any:
            return await swallow(ctx, next)

    agent = Agent(FunctionModel(reply), tools=[body.tool]).use(Swallows(), stops)
    async with agent, agent.session() as session:
        with pytest.raises(TurnAbortedError, match="enough"):
            await session.run("hi")
        assert session.log.of(TurnEnded)[0].status == "aborted"
    assert (late, body.runs) == ([], [])


async def test_nothing_restarts_after_an_abort() -> None:
    async with Agent(ScriptedModel("x")).use(repeats_model, aborts_model) as agent, agent.session() as session:
        with pytest.raises(TurnAbortedError):
            await session.run("hi")
        assert session.log.of(Restarted) == []


async def repeats_model(ctx: ModelContext, next: Passing) -> ModelResponse:
    with suppress(BaseException):
        return await next()
    return await next()


async def test_a_turn_hook_that_swallows_an_abort_and_sets_an_output_releases_nothing() -> None:
    async def stubborn(ctx: TurnContext, next: Next[None]) -> None:
        await asyncio.gather(next(), return_exceptions=True)
        ctx.output = Message("assistant", "all is well")

    async with Agent(ScriptedModel("x")).use(stubborn, aborts_model) as agent, agent.session() as session:
        with pytest.raises(TurnAbortedError, match="aborts_model: enough"):
            await session.run("hi")
        assert [message.role for message in session.history] == ["user"]


async def test_except_exception_does_not_meet_an_abort() -> None:
    async def broad(ctx: ModelContext, next: Passing) -> ModelResponse:
        try:
            return await next()
        except Exception as error:
            raise AssertionError("an abort is no failure") from error

    with pytest.raises(TurnAbortedError):
        await run(broad, aborts_model, model=ScriptedModel("x"), tools=[])


async def test_an_abort_in_one_of_two_parallel_tools_cancels_and_awaits_the_other() -> None:
    seen: list[str] = []
    sibling_runs = asyncio.Event()

    @tool
    async def waits() -> str:
        """Wait."""
        sibling_runs.set()
        try:
            await asyncio.Event().wait()
        finally:
            seen.append("cancelled")
        return ""

    async def stops(ctx: ToolContext, next: Around) -> ToolResult:
        if ctx.call.name == "add":
            await sibling_runs.wait()
            ctx.abort("enough")
        return await next()

    async with no_leaks():
        with pytest.raises(TurnAbortedError):
            await run(stops, model=ScriptedModel([call("waits"), call("add", a=1)]), tools=[waits, add])
    assert seen == ["cancelled"]


async def test_an_abort_in_the_body_of_a_tool_is_signed_by_the_tool() -> None:
    @tool
    async def stop(ctx: ToolContext) -> str:
        """Stop."""
        ctx.abort("enough")

    @tool
    def stop_in_a_thread(ctx: ToolContext) -> str:
        """Stop."""
        ctx.abort("enough")

    for each in (stop, stop_in_a_thread):
        with pytest.raises(TurnAbortedError) as caught:
            await run(model=ScriptedModel([call(each.name)]), tools=[each])
        assert each.name in caught.value.by


async def test_an_abort_in_a_task_of_a_hook_is_signed_by_the_first_layer_it_leaves() -> None:
    class Inner(Middleware):
        async def model(self, ctx: ModelContext, next: Passing) -> ModelResponse:
            return await next()

    async def guard(ctx: ModelContext, next: Passing) -> ModelResponse:
        async def check() -> None:
            ctx.abort("no")

        response, _ = await asyncio.gather(next(), check())
        return response

    async def outer(ctx: ModelContext, next: Passing) -> ModelResponse:
        return await next()

    with pytest.raises(TurnAbortedError) as caught:
        await run(outer, guard, Inner(), model=ScriptedModel("x"), tools=[])
    assert caught.value.by == "guard"


async def test_after_an_abort_the_next_turn_works() -> None:
    async def first_only(ctx: ModelContext, next: Passing) -> ModelResponse:
        if ctx.turn_index == 0:
            ctx.abort("enough")
        return await next()

    model = ScriptedModel("fine")
    async with Agent(model).use(first_only) as agent, agent.session() as session:
        with pytest.raises(TurnAbortedError):
            await session.run("hi")
        assert (await session.run("again")).text == "fine"
    check_history(model.requests[0].messages)


# --- the answer of record -----------------------------------------------------------------------


async def history_after(session: Session, text: str = "hi") -> list[str]:
    await session.run(text)
    return [message.text for message in session.history]


async def test_an_output_that_a_turn_hook_replaced_is_the_answer_of_record() -> None:
    async def masks(ctx: TurnContext, next: Next[None]) -> None:
        await next()
        assert ctx.output is not None
        ctx.output = ctx.output.with_text("***")

    model = ScriptedModel("secret", "bye")
    async with Agent(model).use(masks) as agent, agent.session() as session:
        assert await history_after(session) == ["hi", "***"]
        await session.run("more")
        assert session.log.of(ModelResponded)[0].response.message.text == "secret"
        assert [event.output.text for event in session.log.of(TurnEnded) if event.output] == ["***", "***"]
    assert [message.text for message in model.requests[1].messages] == ["hi", "***", "more"]


async def test_a_turn_answered_without_the_loop_is_in_the_history_like_any_other() -> None:
    async def greets(ctx: TurnContext, next: Next[None]) -> None:
        ctx.output = Message("assistant", "hello yourself")

    async with Agent(ScriptedModel()).use(greets) as agent, agent.session() as session:
        assert await history_after(session) == ["hi", "hello yourself"]
        assert_events(session.log, like(UserSaid), like(TurnEnded, output=Message("assistant", "hello yourself")))


async def test_deliver_changes_what_this_caller_gets_and_nothing_else() -> None:
    async def restores(ctx: TurnContext, next: Next[None]) -> None:
        await next()
        ctx.deliver("Dear Ann")

    async with Agent(ScriptedModel("Dear <name>")).use(restores) as agent, agent.session() as session:
        async with session.stream("hi") as stream:
            items = [item async for item in stream]
        assert stream.answer.text == "Dear Ann"
        assert getattr(items[-1], "result", None) is stream.answer
        assert session.history[-1].text == "Dear <name>"
        assert "Ann" not in str([dump(event) for event in session.log])


async def test_an_output_that_a_hook_took_away_is_an_error_that_says_so() -> None:
    async def takes(ctx: TurnContext, next: Next[None]) -> None:
        await next()
        ctx.output = None

    with pytest.raises(TurnError, match=r"the turn ended without an answer: a hook set ctx\.output to None"):
        await run(takes, model=ScriptedModel("x"), tools=[])


# --- usage --------------------------------------------------------------------------------------


async def test_usage_is_as_the_provider_reports_it_and_what_is_missing_is_not_counted_as_zero() -> None:
    batch = Say(calls=[call("add", a=1), call("breaks")], usage=Usage(10, 5, cache_read_tokens=4))
    model = ScriptedModel(batch, Say("done", usage=Usage()))
    answer = await run(model=model, tools=[add, breaks])
    usage = answer.usage
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == (10, 5, 15)
    assert (usage.model_calls, usage.attempts, usage.unreported) == (2, 2, 1)
    assert (usage.tool_calls, usage.failures) == (2, 1)
    assert usage.tokens == Usage(10, 5, cache_read_tokens=4)
    assert usage.tokens.cache_write_tokens is None


async def test_usage_of_a_turn_whose_model_reports_nothing_is_unknown() -> None:
    answer = await run(model=ScriptedModel(Say("done", usage=Usage())), tools=[])
    assert (answer.usage.tokens.total_tokens, answer.usage.unreported) == (None, 1)
