"""A session that ends under a running turn, at every step: by its owner, its agent, or one of its own hooks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

import pytest
from packages.core.tests.scene import Scene, Trail, check_tidy
from packages.core.tests.stepping import Clock, Steps, ended, everywhere, give_way, until

from agent_express import Agent, Next, Session, SessionContext, TurnEnded
from agent_express.errors import SessionClosedError
from agent_express.events import SessionClosed
from agent_express.log import Log
from agent_express.testing import FunctionModel, Say, ScriptedModel, check_history, no_leaks


class Fragile:
    """A session hook that fails when the test says so.

    Attributes:
        cut: Set to make it fail.
    """

    name = "fragile"

    def __init__(self) -> None:
        self.cut = asyncio.Event()

    async def session(self, ctx: SessionContext, next: Next[None]) -> None:
        self.cut = cut = asyncio.Event()
        async with asyncio.TaskGroup() as tasks:
            watch = tasks.create_task(self.fail_when(cut))
            await next()
            watch.cancel()

    async def fail_when(self, cut: asyncio.Event) -> None:
        await cut.wait()
        raise LookupError("the connection is gone")


class Leaving(Fragile):
    """The same, but it just returns."""

    async def session(self, ctx: SessionContext, next: Next[None]) -> None:
        with suppress(ExceptionGroup):
            await super().session(ctx, next)


async def run(session: Session) -> str:
    return (await session.run("go")).text


async def stream(session: Session) -> str:
    async with session.stream("go") as events:
        async for _ in events:
            pass
        return events.answer.text


How = Callable[[Session], Coroutine[Any, Any, str]]
both_ways = pytest.mark.parametrize("how", [run, stream])


def check_ended(scene: Scene, log: Log, got: object) -> None:
    """Check that the turn was ended in order: its caller knows, the log knows, nothing runs on."""
    assert isinstance(got, SessionClosedError) or got == Scene.ANSWER, got
    check_tidy(scene)
    check_history(log.messages)
    statuses = [each.status for each in log.of(TurnEnded)]
    assert statuses == ["completed"] if got == Scene.ANSWER else statuses in ([], ["cancelled"], ["failed"])


@both_ways
@pytest.mark.parametrize("hook", [Fragile, Leaving], ids=["fails", "returns"])
async def test_a_session_hook_that_ends_at_any_step_ends_the_turn_too(how: How, hook: type[Fragile]) -> None:
    fragile = hook()
    scene = Scene(inner=[fragile])

    async def once(steps: Steps, k: int) -> None:
        scene.reset()
        async with no_leaks():
            session = scene.agent.session()
            await session.__aenter__()
            with steps.watching():
                task = asyncio.create_task(how(session))
                steps.at(k, fragile.cut.set)
                got = await ended(task)
            fragile.cut.set()
            await give_way(8)
            check_ended(scene, session.log, got)
            with pytest.raises(SessionClosedError, match="session hook ended"):
                await session.run("again")
            await session.__aexit__(None, None, None)
        assert scene.trail.inside == []

    async with scene.agent:
        await everywhere("hook ended", once)


@pytest.mark.parametrize(("who", "how"), [("session", run), ("session", stream), ("agent", stream)])
@pytest.mark.parametrize("later", [None, 4], ids=["calmly", "cancelled"])
async def test_a_session_that_is_closed_at_any_step_ends_its_turn_first(how: How, who: str, later: int | None) -> None:
    scene = Scene()

    async def once(steps: Steps, k: int) -> None:
        scene.reset()
        closing: list[asyncio.Task[None]] = []
        async with no_leaks():
            await scene.agent.__aenter__()
            session = scene.agent.session()
            await session.__aenter__()
            log = session.log

            async def close() -> None:
                if later is not None:
                    steps.at(steps.taken + later, closing[0].cancel)
                await (session if who == "session" else scene.agent).__aexit__(*nothing)

            with steps.watching():
                task = asyncio.create_task(how(session))
                steps.at(k, lambda: closing.append(asyncio.create_task(close())))
                got = await ended(task)
                for each in closing:
                    assert isinstance(await ended(each), asyncio.CancelledError | None)
            check_ended(scene, log, got)
            await session.__aexit__(*nothing)
            if who == "session" or not closing:
                await scene.agent.__aexit__(*nothing)
        assert scene.trail.inside == []
        assert scene.opened.is_open == 0
        assert len(log.of(SessionClosed)) == 1
        with pytest.raises(SessionClosedError):
            await session.run("again")

    await everywhere("closed", once)


nothing = (None, None, None)


async def test_a_time_limit_of_a_session_hook_ends_the_running_turn() -> None:
    async def short_lived(ctx: SessionContext, next: Next[None]) -> None:
        async with asyncio.timeout(60):
            await next()

    model = ScriptedModel(Say("a b", delay=asyncio.Event(), delay_after=1))
    with Clock().in_charge() as clock:
        async with Agent(model).use(short_lived) as agent, agent.session() as session, no_leaks():
            task = asyncio.create_task(session.run("go"))
            await until(lambda: model.open_streams == 1)
            clock.jump()
            got = await ended(task)
    assert isinstance(got, SessionClosedError)
    assert "session hook ended" in str(got)


async def test_a_session_hook_that_fails_while_nobody_asks_is_heard_when_the_session_is_left() -> None:
    fragile = Fragile()
    async with Agent(ScriptedModel()).use(fragile) as agent:
        with pytest.raises(LookupError, match="the connection is gone"):
            async with agent.session():
                fragile.cut.set()
                await give_way(8)


async def test_all_sessions_of_a_closing_agent_are_closed_although_a_hook_of_one_fails() -> None:
    left: list[str] = []

    async def leaves(ctx: SessionContext, next: Next[None]) -> None:
        await next()
        left.append(ctx.session_id)
        if ctx.session_id == "b":
            raise LookupError("b cannot be closed")

    agent = Agent(ScriptedModel()).use(leaves)
    async with no_leaks():
        await agent.__aenter__()
        for name in ("a", "b", "c"):
            await agent.session(name).__aenter__()
        with pytest.raises(LookupError, match="b cannot be closed"):
            await agent.__aexit__(*nothing)
    assert sorted(left) == ["a", "b", "c"]


async def test_a_turn_that_waits_for_another_one_does_not_run_in_a_session_that_closes() -> None:
    model = FunctionModel(lambda request: Say("a b", delay=asyncio.Event()))
    agent = Agent(model)
    async with no_leaks():
        await agent.__aenter__()
        session = agent.session()
        await session.__aenter__()
        first = asyncio.create_task(session.run("one"))
        await until(lambda: model.open_streams == 1)
        second = asyncio.create_task(session.run("two", on_busy="wait"))
        await give_way(3)
        await agent.__aexit__(*nothing)
        assert isinstance(await ended(first), SessionClosedError)
        assert isinstance(await ended(second), SessionClosedError)
    assert len(model.requests) == 1
    with pytest.raises(SessionClosedError):
        await session.run("three")


@pytest.mark.parametrize("gone", ["first", "second", "both"])
async def test_a_session_that_two_open_at_once_stays_open_for_the_one_that_is_not_cancelled(gone: str) -> None:
    trail, entry = Trail(), asyncio.Event()

    async def slow_to_open(ctx: SessionContext, next: Next[None]) -> None:
        await entry.wait()
        with trail.layer("session", ctx.session_id, 0):
            await next()

    async def talk() -> str:
        async with agent.session("shared") as session:
            return (await session.run("hi")).text

    async with Agent(FunctionModel(lambda _: "Fine.")).use(slow_to_open) as agent, no_leaks():
        first, second = asyncio.create_task(talk()), asyncio.create_task(talk())
        await give_way(3)
        for task in {"first": [first], "second": [second], "both": [first, second]}[gone]:
            task.cancel()
        await give_way(3)
        entry.set()
        got = [await ended(first), await ended(second)]
    assert [each for each in got if not isinstance(each, asyncio.CancelledError)] == ["Fine."] * (gone != "both")
    assert trail.inside == []
    assert trail.faults == []
    assert len(trail.entered) == (gone != "both")
