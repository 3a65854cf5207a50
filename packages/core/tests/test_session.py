"""A session: one conversation, one turn at a time, whoever holds a handle on it."""

from __future__ import annotations

import asyncio
import contextvars
from typing import Any

import pytest

from agent_express import (
    Agent,
    End,
    Event,
    Message,
    Middleware,
    ModelContext,
    ModelResponse,
    Next,
    SessionContext,
    TextDelta,
    ToolCall,
    ToolContext,
    ToolResult,
    TurnContext,
    tool,
)
from agent_express.errors import (
    ExpressError,
    InputError,
    SessionBusyError,
    SessionClosedError,
    SessionForbiddenError,
    TooLateError,
    UseError,
)
from agent_express.events import (
    Failed,
    SessionClosed,
    SessionIdentified,
    SessionOpened,
    ToolStarted,
    TurnEnded,
    UserSaid,
)
from agent_express.messages import File, Image, Opaque, Settings, Text
from agent_express.testing import (
    FunctionModel,
    Say,
    ScriptedModel,
    assert_events,
    call,
    check_history,
    like,
    names,
    no_leaks,
)

Passing = Next[ModelResponse]


class Noted(Event, type="session-test:noted"):
    text: str = ""


@tool
async def noop() -> str:
    """Do nothing."""
    return "done"


class Held:
    """A model that answers when it is released, and says when it was asked."""

    def __init__(self, *replies: Any) -> None:
        self.asked, self.release = asyncio.Event(), asyncio.Event()
        self.replies = list(replies or ("released",))

        async def reply(request: Any) -> Any:
            self.asked.set()
            await self.release.wait()
            return self.replies.pop(0)

        self.model = FunctionModel(reply)


# --- what is said -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("hi", (Message("user", "hi"),)),
        (Message("user", "hi"), (Message("user", "hi"),)),
        ([Text("what is this?"), Image(url="https://x/y.png")], None),
        ([Message("user", "a"), Message("assistant", "b"), Message("user", "c")], None),
        ([Image(data=b"png")], None),
    ],
    ids=["text", "message", "parts", "messages", "a picture alone"],
)
async def test_input_is_text_parts_or_messages(given: Any, said: Any) -> None:
    model = ScriptedModel("ok")
    async with Agent(model) as agent, agent.session() as session:
        await session.run(given)
        assert session.history[:-1] == model.requests[0].messages
    parts = not isinstance(given, str | Message) and not isinstance(given[0], Message)
    assert model.requests[0].messages == (said or ((Message("user", given),) if parts else tuple(given)))


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        ("", "the input is empty: hand in text, parts, or messages whose last is the user's"),
        (" \n ", "the input is empty"),
        ([], "the input is empty"),
        (Message("user"), "the input is empty"),
        (Message("assistant", "hi"), "the last message of the input is of role 'assistant', expected the user's"),
        (
            [Message("assistant", [ToolCall("1", "noop")]), Message("user", "hi")],
            "the input holds tool calls: a session makes its own",
        ),
        (
            [Message("tool", [ToolResult("x", call_id="1")]), Message("user", "hi")],
            "the input holds tool calls: a session makes its own",
        ),
        ([File(name="a\x00b", url="u")], "the input holds a NUL character"),
        ([Opaque("odd", object())], "the input holds what JSON cannot"),
        ("a\x00b", "the input holds a NUL character or a lone surrogate, which no store takes: remove it"),
        ("a\ud800b", "the input holds a NUL character or a lone surrogate, which no store takes: remove it"),
    ],
)
async def test_input_that_is_empty_or_that_no_store_can_hold_is_refused_before_the_turn(
    given: Any, complaint: str
) -> None:
    async with Agent(ScriptedModel("ok")) as agent, agent.session() as session:
        with pytest.raises(InputError, match=complaint):
            await session.run(given)
        assert names(session.log) == ["SessionOpened"]
        assert (await session.run("fine")).text == "ok"


async def test_an_input_of_5_megabytes_is_sent_as_it_is() -> None:
    model = ScriptedModel("ok")
    text = "ä" * 2_500_000
    await Agent(model).run(text)
    assert model.requests[0].messages[0].text == text


async def test_model_settings_and_metadata_can_be_given_for_one_turn() -> None:
    seen: list[Any] = []

    async def look(ctx: ModelContext, next: Passing) -> ModelResponse:
        seen.append((ctx.model.name, ctx.request.settings.temperature, dict(ctx.metadata)))
        return await next()

    usual, other = ScriptedModel("one", name="usual"), ScriptedModel("two", name="other")
    async with Agent(usual).use(look) as agent, agent.session() as session:
        await session.run("hi", model=other, settings=Settings(temperature=0.5), metadata={"a": 1})
        await session.run("hi")
    assert seen == [("other", 0.5, {"a": 1}), ("usual", None, {})]


# --- one turn at a time -------------------------------------------------------------------------


async def test_a_second_turn_is_refused_while_one_runs() -> None:
    held = Held()
    async with Agent(held.model) as agent, agent.session("s1") as session:
        first = asyncio.create_task(session.run("one"))
        await held.asked.wait()
        with pytest.raises(SessionBusyError) as caught:
            await session.run("two")
        assert str(caught.value) == 'session s1 is running a turn: wait for it, or run with on_busy="wait"'
        held.release.set()
        assert (await first).text == "released"


async def test_a_second_turn_may_wait_and_turns_run_in_the_order_of_their_calls() -> None:
    held = Held("one", "two", "three")
    async with Agent(held.model) as agent, agent.session() as session:
        turns = [asyncio.create_task(session.run(f"turn {n}", on_busy="wait")) for n in range(3)]
        await held.asked.wait()
        held.release.set()
        assert [(await turn).text for turn in turns] == ["one", "two", "three"]
        assert [event.message.text for event in session.log.of(UserSaid)] == ["turn 0", "turn 1", "turn 2"]
        check_history(session.history)


async def test_a_waiting_turn_can_be_cancelled_and_the_next_one_runs() -> None:
    held = Held("one", "three")
    async with Agent(held.model) as agent, agent.session() as session:
        first, second, third = (asyncio.create_task(session.run(n, on_busy="wait")) for n in "123")
        await held.asked.wait()
        second.cancel()
        held.release.set()
        assert [(await turn).text for turn in (first, third)] == ["one", "three"]
        assert second.cancelled()


async def test_a_turn_that_waits_for_its_own_session_is_told_so() -> None:
    async with Agent(ScriptedModel("never", "never")) as agent, agent.session() as session:

        async def waits(ctx: TurnContext, next: Next[None]) -> None:
            await session.run("inside", on_busy="wait")

        turn = asyncio.create_task(session.run("outside", use=[waits]))
        for _ in range(50):
            await asyncio.sleep(0)
        hangs = not turn.done()
        turn.cancel()
        result = (await asyncio.gather(turn, return_exceptions=True))[0]
        assert not hangs
        assert isinstance(result, SessionBusyError)


async def test_on_busy_takes_error_or_wait() -> None:
    async with Agent(ScriptedModel()) as agent, agent.session() as session:
        with pytest.raises(UseError, match='on_busy is "error" or "wait", got \'queue\''):
            await session.run("hi", on_busy="queue")  # type: ignore[call-overload]


async def test_one_instance_serves_two_sessions_at_once_and_ending_one_touches_nothing_in_the_other() -> None:
    seen: list[str] = []
    held = Held("one", "two")

    class Keeps(Middleware):
        async def session(self, ctx: SessionContext, next: Next[None]) -> None:
            ctx.resources["who"] = ctx.session_id
            await next()
            seen.append(f"{ctx.session_id} left")

        async def model(self, ctx: ModelContext, next: Passing) -> ModelResponse:
            response = await next()
            seen.append(f"{ctx.session_id} sees {ctx.resources['who']}")
            return response

    async with Agent(held.model).use(Keeps()) as agent, agent.session("a") as a:
        turn = asyncio.create_task(a.run("hi"))
        await held.asked.wait()
        async with agent.session("b"):
            seen.append("b opened")
        held.release.set()
        assert (await turn).text == "one"
    assert seen == ["b opened", "b left", "a sees a", "a left"]


async def test_of_a_hundred_parallel_sessions_one_hides_a_tool_and_the_others_keep_theirs() -> None:
    everyone_there = asyncio.Barrier(100)

    async def hides(ctx: ModelContext, next: Passing) -> ModelResponse:
        if ctx.session_id == "7":
            ctx.remove_tools("noop")
            ctx.add_system_message("no tools")
        await everyone_there.wait()
        return await next()

    model = FunctionModel(lambda request: f"{len(request.tools)} {request.system_text}")
    async with Agent(model, tools=[noop]).use(hides) as agent:

        async def turn(number: int) -> str:
            async with agent.session(str(number)) as session:
                return (await session.run("hi")).text

        answers = await asyncio.gather(*map(turn, range(100)))
    assert [number for number, text in enumerate(answers) if text != "1 "] == [7]
    assert answers[7] == "0 no tools"


# --- handles ------------------------------------------------------------------------------------


async def test_opening_an_id_that_is_open_gives_a_handle_on_the_same_session() -> None:
    seen: list[str] = []

    async def look(ctx: SessionContext, next: Next[None]) -> None:
        seen.append("entered")
        await next()
        seen.append("left")

    async with Agent(ScriptedModel("one", "two")).use(look) as agent:
        async with agent.session("s1") as first:
            await first.run("hi")
            async with agent.session("s1") as second:
                assert second.history == first.history
                await second.run("hi")
            assert seen == ["entered"]
            assert len(first.history) == 4
        assert seen == ["entered", "left"]


async def test_the_session_is_left_by_the_last_handle_whichever_was_first() -> None:
    async with Agent(ScriptedModel("still here")) as agent:
        first, second = agent.session("s1"), agent.session("s1")
        await first.__aenter__()
        await second.__aenter__()
        await first.__aexit__(None, None, None)
        assert (await second.run("hi")).text == "still here"
        await second.__aexit__(None, None, None)


async def test_one_handle_is_entered_once() -> None:
    async with Agent(ScriptedModel()) as agent, agent.session() as session:
        with pytest.raises(UseError, match="entered"):
            await session.__aenter__()


async def test_a_second_handle_waits_until_the_session_hooks_are_entered() -> None:
    gate, seen = asyncio.Event(), list[str]()

    async def slow(ctx: SessionContext, next: Next[None]) -> None:
        seen.append("entering")
        await gate.wait()
        ctx.resources["ready"] = True
        await next()

    async with Agent(ScriptedModel()).use(slow) as agent:

        async def opens() -> bool:
            async with agent.session("s1") as session:
                return "ready" in session.resources

        both = asyncio.gather(opens(), opens())
        await asyncio.sleep(0)
        gate.set()
        assert all(await both)
    assert seen == ["entering"]


async def test_a_session_that_was_closed_can_be_opened_again() -> None:
    async with Agent(ScriptedModel("one", "two")) as agent:
        for text in ("one", "two"):
            async with agent.session("s1") as session:
                assert (await session.run("hi")).text == text


@pytest.mark.parametrize("when", ["before", "after"])
async def test_a_handle_that_is_not_open_says_how_to_open_it(when: str) -> None:
    async with Agent(ScriptedModel()) as agent:
        session = agent.session("s1")
        if when == "after":
            async with session:
                pass
        with pytest.raises(SessionClosedError) as caught:
            await session.run("hi")
        assert str(caught.value) == ("session s1 is not open: write `async with agent.session('s1') as session`")


async def test_a_session_of_an_agent_that_is_not_open_says_how_to_open_it() -> None:
    with pytest.raises(UseError) as caught:
        await Agent(ScriptedModel(), name="helper").session().__aenter__()
    assert str(caught.value) == (
        "agent 'helper' is not open: write `async with agent:` around it, or call agent.run(...)"
    )


# --- who is talking -----------------------------------------------------------------------------


def login(user_id: str | None, *scopes: str) -> Any:
    async def login(ctx: SessionContext, next: Next[None]) -> None:
        ctx.identify(user_id, scopes)
        await next()

    return login


async def test_a_session_hook_says_who_is_talking_and_what_he_may_do() -> None:
    seen: list[Any] = []

    async def look(ctx: TurnContext, next: Next[None]) -> None:
        seen.append((ctx.user_id, sorted(ctx.scopes)))
        await next()

    agent = Agent(ScriptedModel("ok")).use(login("ann", "write", "read"), look)
    async with agent, agent.session() as session:
        await session.run("hi")
        assert session.user_id == "ann"
        assert_events(
            session.log, SessionOpened(session.id, "agent", None), SessionIdentified("ann", ("read", "write"))
        )
    assert seen == [("ann", ["read", "write"])]


async def test_an_open_session_of_another_user_is_forbidden() -> None:
    async with Agent(ScriptedModel()) as agent, agent.session("s1", user_id="ann"):
        with pytest.raises(SessionForbiddenError, match="session s1 belongs to another user than 'bob'"):
            await agent.session("s1", user_id="bob").__aenter__()
        async with agent.session("s1", user_id="ann") as same:
            assert same.user_id == "ann"


async def test_identifying_as_another_user_than_the_session_was_opened_for_is_forbidden() -> None:
    async with Agent(ScriptedModel()).use(login("bob")) as agent:
        with pytest.raises(SessionForbiddenError, match="session s1 belongs to another user than 'bob'"):
            await agent.session("s1", user_id="ann").__aenter__()


async def test_who_is_talking_is_said_once() -> None:
    async with Agent(ScriptedModel()).use(login("ann"), named_login("ann")) as agent:
        with pytest.raises(TooLateError, match=r"second: who is talking was said already \(session s1\)"):
            await agent.session("s1").__aenter__()


def named_login(user_id: str) -> Any:
    async def second(ctx: SessionContext, next: Next[None]) -> None:
        ctx.identify(user_id)
        await next()

    return second


@pytest.mark.parametrize("when", ["after next", "in a turn"])
async def test_who_is_talking_is_said_before_next_of_a_session_hook_only(when: str) -> None:
    said: list[str] = []

    def identifies(ctx: SessionContext) -> None:
        with pytest.raises(TooLateError) as caught:
            ctx.identify("ann")
        said.append(str(caught.value).partition(" (")[0].partition(": ")[2])

    async def on_session(ctx: SessionContext, next: Next[None]) -> None:
        await next()
        if when == "after next":
            identifies(ctx)

    async def on_turn(ctx: TurnContext, next: Next[None]) -> None:
        if when == "in a turn":
            identifies(ctx)
        await next()

    await Agent(ScriptedModel("ok")).use(on_session, on_turn).run("hi")
    assert said == ["who is talking can be said in a session hook before next() only"]


# --- session hooks that end or fail -------------------------------------------------------------


async def test_a_session_hook_that_fails_before_next_is_raised_at_opening_and_the_id_is_free_again() -> None:
    broken = [True]

    async def connects(ctx: SessionContext, next: Next[None]) -> None:
        if broken:
            raise ConnectionError("no database")
        await next()

    async with no_leaks(), Agent(ScriptedModel("ok")).use(connects) as agent:
        with pytest.raises(ConnectionError, match="no database"):
            await agent.session("s1").__aenter__()
        broken.clear()
        async with agent.session("s1") as session:
            assert (await session.run("hi")).text == "ok"


class Drops(Middleware):
    """A session hook that ends when *ends* is set, by an error or by returning."""

    def __init__(self, error: Exception | None) -> None:
        self.ends, self.error = asyncio.Event(), error

    async def session(self, ctx: SessionContext, next: Next[None]) -> None:
        rest = asyncio.create_task(next())
        await self.ends.wait()
        rest.cancel()
        await asyncio.gather(rest, return_exceptions=True)
        if self.error is not None:
            raise self.error


@pytest.mark.parametrize("error", [ConnectionError("lost the database"), None], ids=["fails", "returns"])
async def test_a_session_hook_that_ends_cancels_and_awaits_the_running_turn(error: Exception | None) -> None:
    seen: list[str] = []

    async def watch(ctx: TurnContext, next: Next[None]) -> None:
        try:
            await next()
        finally:
            seen.append("turn unwound")

    held, drops = Held(), Drops(error)
    async with Agent(held.model).use(drops, watch) as agent, agent.session("s1") as session:
        turn = asyncio.create_task(session.run("hi"))
        await held.asked.wait()
        drops.ends.set()
        with pytest.raises(SessionClosedError, match="session s1 is closed: a session hook ended"):
            await turn
        assert seen == ["turn unwound"]
        assert session.log.of(TurnEnded)[0].status == "failed"
        with pytest.raises(SessionClosedError, match="session s1 is closed"):
            await session.run("again")


async def test_after_a_session_hook_failed_a_turn_is_refused_with_its_failure_as_the_cause() -> None:
    lost, unwound = ConnectionError("lost the database"), asyncio.Event()

    async def outer(ctx: SessionContext, next: Next[None]) -> None:
        try:
            await next()
        finally:
            unwound.set()

    drops = Drops(lost)
    async with Agent(ScriptedModel()).use(outer, drops) as agent, agent.session() as session:
        drops.ends.set()
        await unwound.wait()
        await asyncio.sleep(0)
        with pytest.raises(SessionClosedError, match="lost the database") as caught:
            await session.run("hi")
        assert caught.value.__cause__ is lost


async def test_a_failure_in_the_after_part_of_a_session_hook_is_raised_to_whoever_leaves() -> None:
    async def flushes(ctx: SessionContext, next: Next[None]) -> None:
        await next()
        raise OSError("disk full")

    async with Agent(ScriptedModel("ok")).use(flushes) as agent:
        session = await agent.session().__aenter__()
        assert (await session.run("hi")).text == "ok"
        with pytest.raises(OSError, match="disk full"):
            await session.__aexit__(None, None, None)


async def test_a_session_hook_may_keep_a_task_group_and_a_time_out_open() -> None:
    ticks: list[str] = []

    async def background(ctx: SessionContext, next: Next[None]) -> None:
        async with asyncio.timeout(60), asyncio.TaskGroup() as group:
            ticker = group.create_task(asyncio.Event().wait())
            await next()
            ticker.cancel()
            ticks.append("stopped")

    async with no_leaks():
        await Agent(ScriptedModel("ok")).use(background).run("hi")
    assert ticks == ["stopped"]


async def test_turns_run_in_the_callers_context_and_do_not_see_that_of_a_session_hook() -> None:
    request: contextvars.ContextVar[str] = contextvars.ContextVar("request", default="none")
    seen: list[str] = []

    async def sets(ctx: SessionContext, next: Next[None]) -> None:
        request.set("of the session hook")
        ctx.resources["request"] = "handed on"
        await next()

    async def look(ctx: TurnContext, next: Next[None]) -> None:
        seen.append(f"{request.get()}, {ctx.resources['request']}")
        await next()

    async with Agent(ScriptedModel("a", "b")).use(sets, look) as agent, agent.session() as session:
        await session.run("hi")
        request.set("of the caller")
        await session.run("hi")
    assert seen == ["none, handed on", "of the caller, handed on"]


# --- closing ------------------------------------------------------------------------------------


async def test_leaving_a_session_ends_its_running_turn_first() -> None:
    seen: list[str] = []
    held = Held()

    async def look(ctx: SessionContext, next: Next[None]) -> None:
        await next()
        seen.append("session left")

    async def watch(ctx: TurnContext, next: Next[None]) -> None:
        try:
            await next()
        finally:
            seen.append("turn unwound")

    async with no_leaks(), Agent(held.model).use(look, watch) as agent:
        async with agent.session("s1") as session:
            turn = asyncio.create_task(session.run("hi"))
            await held.asked.wait()
        with pytest.raises(SessionClosedError, match="session s1 is closed: it was closed"):
            await turn
    assert seen == ["turn unwound", "session left"]


async def test_leaving_the_agent_closes_open_sessions_all_of_them_even_if_one_fails() -> None:
    left: list[str] = []

    async def flushes(ctx: SessionContext, next: Next[None]) -> None:
        await next()
        left.append(ctx.session_id)
        if ctx.session_id in "ab":
            raise OSError(f"disk of {ctx.session_id} full")

    agent = await Agent(ScriptedModel()).use(flushes).__aenter__()
    for session_id in "abc":
        await agent.session(session_id).__aenter__()
    with pytest.raises(ExceptionGroup) as caught:
        await agent.__aexit__(None, None, None)
    assert sorted(left) == ["a", "b", "c"]
    assert sorted(str(error) for error in caught.value.exceptions) == ["disk of a full", "disk of b full"]


async def test_a_session_whose_agent_was_closed_runs_nothing_and_is_closed_once() -> None:
    agent = await Agent(ScriptedModel("never")).__aenter__()
    session = await agent.session("s1").__aenter__()
    log = session.log
    await agent.__aexit__(None, None, None)
    with pytest.raises(SessionClosedError, match="session s1 is"):
        await session.run("hi")
    await session.__aexit__(None, None, None)
    assert len(log.of(SessionClosed)) == 1


# --- defer --------------------------------------------------------------------------------------


def defers(*work: Any) -> Any:
    async def remembers(ctx: TurnContext, next: Next[None]) -> None:
        for fn in work:
            ctx.defer(fn)
        await next()

    return remembers


def notes(seen: list[str], *texts: str) -> list[Any]:
    def note(text: str) -> Any:
        async def work() -> None:
            await asyncio.sleep(0)
            seen.append(text)

        return work

    return [note(text) for text in texts]


async def test_deferred_work_runs_after_the_answer_was_delivered_in_order() -> None:
    seen: list[str] = []
    agent = Agent(ScriptedModel("answer")).use(defers(*notes(seen, "first", "second")))
    async with agent, agent.session() as session, session.stream("hi") as stream:
        async for item in stream:
            if isinstance(item, End):
                seen.append("answer delivered")
    assert seen == ["answer delivered", "first", "second"]


async def test_deferred_work_does_not_wait_for_the_session_to_close() -> None:
    done = asyncio.Event()

    async def work() -> None:
        done.set()

    async with Agent(ScriptedModel("answer")).use(defers(work)) as agent, agent.session() as session:
        assert (await session.run("hi")).text == "answer"
        await done.wait()
        assert "SessionClosed" not in names(session.log)


async def test_the_next_turn_does_not_wait_for_deferred_work() -> None:
    release, seen = asyncio.Event(), list[str]()

    async def slow() -> None:
        await release.wait()
        seen.append("deferred")

    async with Agent(ScriptedModel("one", "two")).use(defers(slow)) as agent, agent.session() as session:
        await session.run("hi")
        await session.run("again")
        assert seen == []
        release.set()
    assert seen == ["deferred", "deferred"]


async def test_deferred_work_is_drained_when_the_session_closes() -> None:
    seen: list[str] = []
    await Agent(ScriptedModel("answer")).use(defers(*notes(seen, "first", "second"))).run("hi")
    assert seen == ["first", "second"]


async def test_deferred_work_that_fails_is_logged_by_name_and_the_rest_is_done() -> None:
    seen: list[str] = []

    async def fails() -> None:
        raise ValueError("boom")

    agent = Agent(ScriptedModel("answer")).use(defers(fails, *notes(seen, "second")))
    async with agent, agent.session() as session:
        log = session.log
        await session.run("hi")
    assert seen == ["second"]
    assert_events(log, Failed("remembers", "deferred: ValueError: boom"), SessionClosed())


async def test_deferred_work_of_a_failed_turn_is_done_too() -> None:
    seen: list[str] = []
    agent = Agent(ScriptedModel(ValueError("boom"))).use(defers(*notes(seen, "deferred")))
    async with agent, agent.session() as session:
        with pytest.raises(ValueError, match="boom"):
            await session.run("hi")
    assert seen == ["deferred"]


async def test_work_that_a_session_hook_defers_in_its_after_part_is_done() -> None:
    seen: list[str] = []

    async def remembers(ctx: SessionContext, next: Next[None]) -> None:
        await next()
        for work in notes(seen, "at the end"):
            ctx.defer(work)

    await Agent(ScriptedModel("answer")).use(remembers).run("hi")
    assert seen == ["at the end"]


async def test_deferred_work_is_bounded() -> None:
    async def floods(ctx: TurnContext, next: Next[None]) -> None:
        for _ in range(1000):
            ctx.defer(noop)
        with pytest.raises(ExpressError, match="1,000 deferred functions are waiting already; do less per turn"):
            ctx.defer(noop)
        await next()

    assert (await Agent(ScriptedModel("ok")).use(floods).run("hi")).text == "ok"


async def test_draining_has_a_limit_after_which_work_is_cancelled_and_logged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent_express.live.DRAIN_SECONDS", 0.01)

    async def hangs() -> None:
        await asyncio.Event().wait()

    async with no_leaks(), Agent(ScriptedModel("answer")).use(defers(hangs)) as agent, agent.session() as session:
        log = session.log
        await session.run("hi")
    assert_events(log, Failed("remembers", "deferred: cancelled when the session closed"), SessionClosed())


# --- emit outside of a turn ---------------------------------------------------------------------


async def test_a_durable_event_outside_of_a_turn_goes_to_the_log_and_a_delta_is_dropped() -> None:
    class Emits(Middleware):
        events = (Noted,)

        async def session(self, ctx: SessionContext, next: Next[None]) -> None:
            await ctx.emit(Noted("before"))
            await ctx.emit(TextDelta("nobody hears"))
            await next()
            await ctx.emit(Noted("after"))

    async with Agent(ScriptedModel("ok")).use(Emits()) as agent, agent.session() as session:
        log = session.log
        await session.run("hi")
    assert_events(log, Noted("before"), like(TurnEnded), Noted("after"))
    assert "TextDelta" not in names(log)


# --- the stream ---------------------------------------------------------------------------------


async def test_a_stream_does_nothing_before_it_is_entered() -> None:
    model = ScriptedModel("ok")
    async with Agent(model) as agent, agent.session() as session:
        stream = session.stream("hi")
        with pytest.raises(
            UseError, match=r"a stream is entered first: `async with session\.stream\(text\) as events:`"
        ):
            await anext(stream)
        with pytest.raises(UseError, match="the stream has not ended: read it to its End first"):
            stream.answer
        assert model.requests == []
        async with stream as events:
            assert [type(item).__name__ async for item in events][-1] == "End"
        with pytest.raises(UseError, match="a stream is entered once"):
            await stream.__aenter__()


async def test_the_last_item_of_a_stream_is_the_end_with_the_answer_that_the_stream_has_too() -> None:
    async with Agent(ScriptedModel("hello")) as agent, agent.session() as session:
        async with session.stream("hi") as stream:
            *_, last = [item async for item in stream]
        assert isinstance(last, End)
        assert last.result is stream.answer
        assert (last.status, stream.answer.text) == ("completed", "hello")


async def test_a_stream_shows_each_step_of_a_turn_in_its_order() -> None:
    agent = Agent(ScriptedModel([call("noop")], "hello"), tools=[noop])
    async with agent, agent.session() as session, session.stream("hi") as stream:
        shown = names([item async for item in stream])
    steps = ["TurnStarted", "UserSaid", "ModelCalled", "ToolCallDelta", "ModelResponded", "ToolCalled", "ToolReturned"]
    steps += ["ModelCalled", "TextDelta", "ModelResponded", "TurnEnded", "End"]
    assert [name for name in shown if name in steps] == steps


async def test_a_failure_is_raised_in_the_reader_of_a_stream() -> None:
    agent = Agent(ScriptedModel(Say("half", error=ValueError("boom"))))
    async with agent, agent.session() as session, session.stream("hi") as stream:
        with pytest.raises(ValueError, match="boom"):
            async for _ in stream:
                pass


async def test_leaving_a_stream_early_cancels_the_turn_and_the_session_goes_on() -> None:
    async with no_leaks(), Agent(ScriptedModel(Say("a b c"), "fine")) as agent, agent.session() as session:
        async with session.stream("hi") as stream:
            async for item in stream:
                if isinstance(item, TextDelta):
                    break
        assert session.log.of(TurnEnded)[0].status == "cancelled"
        assert (await session.run("again")).text == "fine"


async def test_a_turn_cancelled_before_an_answer_leaves_the_users_message_and_the_text_marked_interrupted() -> None:
    said = asyncio.Event()

    async def listens(ctx: ModelContext, next: Passing) -> Any:
        async for event in next():
            yield event
            if event == TextDelta(" upon"):
                said.set()

    model = ScriptedModel(Say("Once upon a time", delay=asyncio.Event(), delay_after=2), "fine")
    async with Agent(model).use(listens) as agent, agent.session() as session:
        turn = asyncio.create_task(session.run("tell"))
        await said.wait()
        turn.cancel()
        await asyncio.wait([turn])
        assert [(message.text, message.mark) for message in session.history] == [
            ("tell", ""),
            ("Once upon", "interrupted"),
        ]
        assert (await session.run("go on")).text == "fine"
        check_history(model.requests[1].messages)


async def test_a_tool_that_ran_when_the_turn_was_cancelled_is_answered_as_unknown() -> None:
    running = asyncio.Event()

    @tool
    async def pays(ctx: ToolContext) -> str:
        """Pay."""
        running.set()
        await asyncio.Event().wait()
        return ""

    async with Agent(ScriptedModel([call("pays")], "fine"), tools=[pays]) as agent, agent.session() as session:
        turn = asyncio.create_task(session.run("hi"))
        await running.wait()
        turn.cancel()
        await asyncio.wait([turn])
        assert_events(session.log, like(ToolStarted), like(TurnEnded, status="cancelled"))
        check_history(session.history)
        assert (await session.run("again")).text == "fine"
