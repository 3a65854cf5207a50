"""Cancelled at every step: nothing is left, clean-up runs innermost first, the session goes on."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any

import pytest
from packages.core.tests.scene import Scene, check_next_turn, check_partial, check_tidy, endings
from packages.core.tests.stepping import Steps, ended, everywhere, give_way, nothing_lost, telling, until

from agent_express import (
    Agent,
    End,
    Event,
    Message,
    ModelContext,
    ModelResponse,
    Next,
    Session,
    ToolContext,
    ToolResult,
    ToolReturned,
    TurnContext,
    tool,
)
from agent_express.errors import ModelError, RateLimitError
from agent_express.events import Failed, ModelResponded, ToolStarted, TurnStarted
from agent_express.middleware import Usable
from agent_express.testing import ScriptedModel, call, check_history, no_leaks
from agent_express.typing import CancelToken


@dataclass
class Client:
    """Somebody who runs a turn, and what it has seen."""

    seen: list[Event] = field(default_factory=list)
    pauses: int = 0
    leave_after: int | None = None

    async def run(self, session: Session) -> str:
        return (await session.run("go")).text

    async def stream(self, session: Session) -> str:
        async with session.stream("go") as events:
            async for event in events:
                if not isinstance(event, End):
                    self.seen.append(event)
                if len(self.seen) == self.leave_after:
                    return "left"
                for _ in range(self.pauses):
                    await asyncio.sleep(0)
            return events.answer.text


How = Callable[[Client, Session], Coroutine[Any, Any, str]]
both_ways = pytest.mark.parametrize("how", [Client.run, Client.stream], ids=["run", "stream"])


@asynccontextmanager
async def quiet(scene: Scene) -> AsyncIterator[Session]:
    """A session in which a turn leaves nothing behind and after which another one works."""
    scene.reset()
    async with scene.agent.session() as session:
        with nothing_lost():
            async with no_leaks():
                yield session
        check_tidy(scene)
        await check_next_turn(scene, session)
    assert scene.trail.inside == []


def check_cancelled(session: Session, client: Client, got: object, *, may_be_late: bool) -> None:
    """Check what the log says of a turn whose task was cancelled.

    It may be late for the turn behind a stream: its answer stands, and the client is told of its cancellation only
    when it reads on.
    """
    assert isinstance(got, asyncio.CancelledError) or got == Scene.ANSWER
    if session.log.of(TurnStarted):
        [status] = endings(session)
        if got == Scene.ANSWER or (may_be_late and status == "completed"):
            assert status == "completed"
        else:
            assert status == "cancelled"
            check_partial(session, client.seen)


async def cancel_at(scene: Scene, how: How, client: Client, steps: Steps, *ks: int) -> None:
    """Run the turn and cancel its task at these steps."""
    async with quiet(scene) as session:
        answered: list[bool] = []
        with steps.watching():
            task = asyncio.create_task(how(client, session))
            steps.at(ks[0], lambda: answered.append(has_answered(session)))
            for k in ks:
                steps.at(k, task.cancel)
            got = await ended(task)
        check_cancelled(session, client, got, may_be_late=how is Client.stream and answered == [True])


def has_answered(session: Session) -> bool:
    """Whether the model has given its final answer."""
    return len([each for each in session.log.of(ModelResponded) if not each.purpose]) == 2


@pytest.mark.parametrize("pauses", [0, 3], ids=["quick", "slow"])
@both_ways
async def test_a_turn_cancelled_at_any_step_leaves_nothing_and_the_next_turn_works(how: How, pauses: int) -> None:
    scene = Scene()
    async with scene.agent:
        await everywhere("cancelled", lambda steps, k: cancel_at(scene, how, Client(pauses=pauses), steps, k))


@both_ways
@pytest.mark.parametrize("later", [1, 3, 7])
async def test_a_second_cancellation_during_the_clean_up_changes_nothing(how: How, later: int) -> None:
    scene = Scene()
    async with scene.agent:
        await everywhere(
            f"cancelled, and once more {later} steps later,",
            lambda steps, k: cancel_at(scene, how, Client(), steps, k, k + later if k else 0),
        )


async def test_a_turn_is_cancelled_at_any_step_although_events_wait_for_a_slow_client(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("agent_express.stream.ROOM", 1)
    scene = Scene()
    async with scene.agent:
        await everywhere("cancelled", lambda steps, k: cancel_at(scene, Client.stream, Client(pauses=1), steps, k))


@pytest.mark.parametrize("room", [64, 1], ids=["buffered", "unbuffered"])
async def test_a_client_that_leaves_after_any_event_finds_everything_closed(
    monkeypatch: pytest.MonkeyPatch, room: int
) -> None:
    monkeypatch.setattr("agent_express.stream.ROOM", room)
    scene, whole = Scene(), Client()
    async with scene.agent:
        async with quiet(scene) as session:
            await whole.stream(session)
        for k in range(1, len(whole.seen) + 1):
            with telling(f"left after event {k}, {whole.seen[k - 1]!r}"):
                client = Client(leave_after=k)
                async with quiet(scene) as session:
                    assert await client.stream(session) == "left"
                    assert endings(session) == ["completed" if k == len(whole.seen) else "cancelled"]
                    check_partial(session, client.seen)


async def test_a_stream_that_another_task_closes_at_any_step_is_closed_for_its_reader_too() -> None:
    scene = Scene()

    async def once(steps: Steps, k: int) -> None:
        async with quiet(scene) as session:
            stream = session.stream("go")
            closing: list[asyncio.Task[None]] = []

            async def read() -> None:
                async with stream as events:
                    async for _ in events:
                        pass

            def close() -> None:
                closing.append(asyncio.create_task(stream.__aexit__(None, None, None)))

            with steps.watching():
                steps.at(k, close)
                got = await ended(asyncio.create_task(read()))
                for task in closing:
                    assert await ended(task) is None
            assert endings(session) in ([], ["cancelled"], ["completed"])
            assert not isinstance(got, asyncio.CancelledError), "nobody cancelled the reader"

    async with scene.agent:
        await everywhere("closed", once)


async def test_a_whole_run_cancelled_at_any_step_opens_and_closes_everything_in_order() -> None:
    scene = Scene()

    async def once(steps: Steps, k: int) -> None:
        scene.reset()
        async with no_leaks():
            with steps.watching():
                task = asyncio.create_task(scene.agent.run("go"))
                steps.at(k, task.cancel)
                got = await ended(task)
        assert isinstance(got, asyncio.CancelledError) or str(got) == Scene.ANSWER
        check_tidy(scene)
        assert scene.trail.inside == []
        assert scene.opened.is_open == 0

    await everywhere("cancelled", once)


async def test_a_tool_that_raises_cancelled_error_of_its_own_has_failed() -> None:
    @tool
    async def flaky() -> str:
        """Give up on its own helper."""
        helper = asyncio.ensure_future(asyncio.sleep(60))
        helper.cancel()
        await helper
        return "never"

    model = ScriptedModel([call("flaky"), call("flaky")], "It failed.")
    async with Agent(model, tools=[flaky]) as agent, no_leaks():
        answer = await agent.run("go")
    assert answer.text == "It failed."
    assert [returned.how for returned in answer.events if isinstance(returned, ToolReturned)] == ["failed", "failed"]


@both_ways
async def test_a_turn_in_the_clean_up_of_a_cancelled_task_is_a_turn_like_any_other(how: How) -> None:
    scene = Scene()

    async def says_goodbye(session: Session) -> str:
        try:
            await asyncio.Event().wait()
        finally:
            goodbye.append(await how(Client(), session))
        return "unreachable"

    async with scene.agent:
        for k in range(2):  # undisturbed, and cancelled once more in the midst of it
            goodbye: list[str] = []
            async with quiet(scene) as session:
                task = asyncio.create_task(says_goodbye(session))
                await give_way(2)
                task.cancel()
                if k:
                    await until(lambda: scene.tries == 2)
                    task.cancel()
                assert isinstance(await ended(task), asyncio.CancelledError)
                assert endings(session) == [["completed"], ["cancelled"]][k]
            assert goodbye == [[Scene.ANSWER], []][k]


async def test_a_tool_in_a_thread_is_told_of_the_cancellation_and_nobody_waits_for_it() -> None:
    told, gone = threading.Event(), threading.Event()

    @tool
    def stubborn(token: CancelToken) -> str:
        """Work until it is told to stop, and a little longer."""
        while not token.wait(10):
            pass
        told.set()
        gone.wait(10)
        return "too late"

    with nothing_lost():
        async with Agent(ScriptedModel([call("stubborn")]), tools=[stubborn]) as agent, agent.session() as session:
            async with no_leaks():
                task = asyncio.create_task(session.run("go"))
                await until(lambda: bool(session.log.of(ToolStarted)))
                task.cancel()
                assert isinstance(await ended(task), asyncio.CancelledError)
            check_history(session.history)
            logged = len(session.log)
            assert [each.by for each in session.log.of(Failed)] == ["tool stubborn"]
            assert await asyncio.to_thread(told.wait, 10)
            gone.set()
            await give_way(20)
            assert len(session.log) == logged


async def no() -> None:
    await asyncio.sleep(0)
    raise LookupError("no")


async def guard_with_fallback(ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
    with suppress(ExceptionGroup):
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(next())
            tasks.create_task(no())
    return ModelResponse(Message("assistant", "No."))


async def retry(ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
    with suppress(ModelError):
        return await next()
    return await next()


async def in_a_group(ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
    async with asyncio.TaskGroup() as tasks:
        inner = tasks.create_task(next())
    return inner.result()


async def broken(ctx: ToolContext, next: Next[ToolResult]) -> ToolResult:
    raise LookupError("broken")


async def recover(ctx: TurnContext, next: Next[None]) -> None:
    try:
        await next()
    except LookupError:
        ctx.output = Message("assistant", "No.")


@pytest.mark.parametrize(
    ("stack", "answer"),
    [([guard_with_fallback], "No."), ([retry, in_a_group], "Yes."), ([recover, broken], "No.")],
    ids=["a guard beside the model", "a retry around a group", "a broken hook in a batch"],
)
@both_ways
async def test_a_failure_in_a_task_group_that_a_hook_recovers_from_is_no_cancellation(
    how: How, stack: list[Usable], answer: str
) -> None:
    @tool
    async def look() -> str:
        """Look."""
        return "seen"

    first = [call("look"), call("look")] if broken in stack else RateLimitError("slow down")
    model = ScriptedModel(first if guard_with_fallback not in stack else "a b c d", "Yes.")
    async with Agent(model, tools=[look], use=stack) as agent, agent.session() as session, no_leaks():
        assert await how(Client(), session) == answer
        assert endings(session) == ["completed"]
