"""The life of an agent: `init` in order, `dispose` in reverse, all in one task of its own."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, suppress
from typing import Any

import pytest

from agent_express import Agent, AgentContext, Middleware, Next, SessionContext, named
from agent_express.errors import UseError
from agent_express.testing import ScriptedModel, no_leaks


class Life(Middleware):
    """Notes its opening and closing, and fails at either on request."""

    def __init__(
        self, name: str, seen: list[str], *, init: Exception | None = None, dispose: Exception | None = None
    ) -> None:
        self.name, self.seen = name, seen
        self.init_error, self.dispose_error = init, dispose

    async def init(self, ctx: AgentContext) -> None:
        self.seen.append(f"{self.name} init")
        if self.init_error is not None:
            raise self.init_error

    async def dispose(self) -> None:
        self.seen.append(f"{self.name} dispose")
        if self.dispose_error is not None:
            raise self.dispose_error


class Gated(Life):
    """Waits for *gate* in `init` or in `dispose`."""

    def __init__(self, name: str, seen: list[str], *, gate: asyncio.Event, where: str) -> None:
        super().__init__(name, seen)
        self.gate, self.where = gate, where
        self.waiting = asyncio.Event()

    async def _wait(self, where: str) -> None:
        if where == self.where:
            self.waiting.set()
            try:
                await self.gate.wait()
            except asyncio.CancelledError:
                self.seen.append(f"{self.name} {where} cancelled")
                raise

    async def init(self, ctx: AgentContext) -> None:
        await super().init(ctx)
        await self._wait("init")

    async def dispose(self) -> None:
        await super().dispose()
        await self._wait("dispose")


def agent(*things: Any) -> Agent:
    return Agent(ScriptedModel(*["ok"] * 10)).use(*things)


# --- order --------------------------------------------------------------------------------------


async def test_init_runs_in_order_and_dispose_in_reverse() -> None:
    seen: list[str] = []
    async with agent(Life("a", seen), Life("b", seen), Life("c", seen)):
        assert seen == ["a init", "b init", "c init"]
    assert seen[3:] == ["c dispose", "b dispose", "a dispose"]


async def test_either_hook_alone_will_do() -> None:
    seen: list[str] = []

    class OnlyInit:
        async def init(self, ctx: AgentContext) -> None:
            seen.append("init")

    class OnlyDispose:
        async def dispose(self) -> None:
            seen.append("dispose")

    async with agent(OnlyInit(), OnlyDispose()):
        pass
    assert seen == ["init", "dispose"]


async def test_leaving_closes_open_sessions_first() -> None:
    seen: list[str] = []

    async def look(ctx: SessionContext, next: Next[None]) -> None:
        await next()
        seen.append(f"session {ctx.session_id} left")

    async with agent(Life("a", seen), look) as opened:
        await opened.session("s1").__aenter__()
    assert seen == ["a init", "session s1 left", "a dispose"]


async def test_a_failing_body_is_raised_after_everything_was_disposed() -> None:
    seen: list[str] = []
    with pytest.raises(ValueError, match="boom"):
        async with agent(Life("a", seen)):
            raise ValueError("boom")
    assert seen == ["a init", "a dispose"]


# --- failures -----------------------------------------------------------------------------------


async def test_when_the_third_of_five_fails_the_first_two_are_disposed_in_reverse_and_the_third_is_named() -> None:
    seen: list[str] = []
    lives = [Life(name, seen, init=ConnectionError("no network") if name == "c" else None) for name in "abcde"]
    with pytest.raises(ConnectionError, match="no network") as caught:
        await agent(*lives).__aenter__()
    assert seen == ["a init", "b init", "c init", "b dispose", "a dispose"]
    assert any("'c'" in note and "init" in note for note in caught.value.__notes__)


async def test_an_agent_whose_opening_failed_can_be_opened_again() -> None:
    seen: list[str] = []
    flaky = Life("flaky", seen, init=ConnectionError("no network"))
    made = agent(flaky)
    with pytest.raises(ConnectionError):
        await made.run("hi")
    flaky.init_error = None
    assert (await made.run("hi")).text == "ok"
    assert seen == ["flaky init", "flaky init", "flaky dispose"]


async def test_a_failing_dispose_while_rolling_back_is_told_beside_the_failure_of_init() -> None:
    seen: list[str] = []
    lives = [Life("a", seen, dispose=OSError("disk full")), Life("b", seen, init=ConnectionError("no network"))]
    with pytest.raises(ConnectionError) as caught:
        await agent(*lives).__aenter__()
    assert any("disk full" in note for note in caught.value.__notes__)


async def test_all_are_disposed_even_if_some_fail_and_the_errors_are_collected_with_names() -> None:
    seen: list[str] = []
    lives = [Life("a", seen, dispose=OSError("one")), Life("b", seen), Life("c", seen, dispose=ValueError("two"))]
    opened = await agent(*lives).__aenter__()
    with pytest.raises(ExceptionGroup) as caught:
        await opened.__aexit__(None, None, None)
    assert seen[3:] == ["c dispose", "b dispose", "a dispose"]
    assert [type(error) for error in caught.value.exceptions] == [ValueError, OSError]
    assert [note for error in caught.value.exceptions for note in error.__notes__ if "'c'" in note or "'a'" in note]


async def test_one_failing_dispose_is_raised_as_it_is() -> None:
    opened = await agent(Life("a", [], dispose=OSError("disk full"))).__aenter__()
    with pytest.raises(OSError, match="disk full"):
        await opened.__aexit__(None, None, None)


async def test_each_dispose_has_a_time_limit_and_the_others_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("agent_express.lifecycle.CLOSE_SECONDS", 0.01)
    seen: list[str] = []
    stuck = Gated("stuck", seen, gate=asyncio.Event(), where="dispose")
    opened = await agent(Life("a", seen), stuck).__aenter__()
    async with no_leaks():
        with pytest.raises(TimeoutError) as caught:
            await opened.__aexit__(None, None, None)
    assert "'stuck'" in "\n".join([str(caught.value), *getattr(caught.value, "__notes__", ())])
    assert "0.01 seconds" in str(caught.value)
    assert seen[2:] == ["stuck dispose", "stuck dispose cancelled", "a dispose"]


# --- shared opening -----------------------------------------------------------------------------


async def test_opening_an_open_agent_shares_the_opening_and_the_last_one_closes_it() -> None:
    seen: list[str] = []
    shared = agent(Life("a", seen))
    async with shared, shared:
        assert (await shared.run("hi")).text == "ok"
        assert seen == ["a init"]
    assert seen == ["a init", "a dispose"]


async def test_tasks_that_open_at_once_wait_for_one_opening() -> None:
    seen: list[str] = []
    gated = Gated("a", seen, gate=asyncio.Event(), where="init")
    shared = agent(gated)

    async def opens() -> None:
        async with shared:
            seen.append("in")

    both = asyncio.gather(opens(), opens())
    await gated.waiting.wait()
    gated.gate.set()
    await both
    assert seen == ["a init", "in", "in", "a dispose"]


async def test_a_failing_opening_fails_for_all_who_wait_for_it() -> None:
    made = agent(Life("a", [], init=ConnectionError("no network")))
    results = await asyncio.gather(made.run("x"), made.run("y"), return_exceptions=True)
    assert [type(result) for result in results] == [ConnectionError, ConnectionError]


async def test_cancelling_one_opener_leaves_the_opening_to_the_other() -> None:
    seen: list[str] = []
    gated = Gated("a", seen, gate=asyncio.Event(), where="init")
    shared = agent(gated)
    first, second = asyncio.create_task(shared.__aenter__()), asyncio.create_task(shared.__aenter__())
    await gated.waiting.wait()
    first.cancel()
    with pytest.raises(asyncio.CancelledError):
        await first
    gated.gate.set()
    opened = await second
    assert (await opened.run("hi")).text == "ok"
    await opened.__aexit__(None, None, None)
    assert seen == ["a init", "a dispose"]


async def test_cancelling_the_only_opener_cancels_the_opening_and_rolls_it_back() -> None:
    seen: list[str] = []
    gated = Gated("b", seen, gate=asyncio.Event(), where="init")
    async with no_leaks():
        opening = asyncio.create_task(agent(Life("a", seen), gated).__aenter__())
        await gated.waiting.wait()
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening
    assert seen == ["a init", "b init", "b init cancelled", "a dispose"]


async def test_opening_while_it_closes_waits_until_it_is_closed() -> None:
    seen: list[str] = []
    gated = Gated("a", seen, gate=asyncio.Event(), where="dispose")
    shared = agent(gated)
    await shared.__aenter__()
    closing = asyncio.create_task(shared.__aexit__(None, None, None))
    await gated.waiting.wait()
    opening = asyncio.create_task(shared.__aenter__())
    for _ in range(10):
        await asyncio.sleep(0)
    assert seen == ["a init", "a dispose"]
    gated.gate.set()
    await closing
    await (await opening).__aexit__(None, None, None)
    assert seen == ["a init", "a dispose"] * 2


async def test_a_cancelled_closing_is_done_all_the_same() -> None:
    seen: list[str] = []
    gated = Gated("b", seen, gate=asyncio.Event(), where="dispose")
    opened = await agent(Life("a", seen), gated).__aenter__()
    closing = asyncio.create_task(opened.__aexit__(None, None, None))
    await gated.waiting.wait()
    closing.cancel()
    await asyncio.sleep(0)
    gated.gate.set()
    with pytest.raises(asyncio.CancelledError):
        await closing
    assert seen[2:] == ["b dispose", "a dispose"]


# --- one owner task -----------------------------------------------------------------------------


class Scoped(Middleware):
    """Holds a task group and a time-out from `init` to `dispose`: both must be left in the task that entered them."""

    def __init__(self) -> None:
        self.stack = AsyncExitStack()
        self.tasks: list[asyncio.Task[Any] | None] = []

    async def init(self, ctx: AgentContext) -> None:
        self.tasks.append(asyncio.current_task())
        await self.stack.enter_async_context(asyncio.timeout(60))
        group = await self.stack.enter_async_context(asyncio.TaskGroup())
        self.reader = group.create_task(asyncio.Event().wait())

    async def dispose(self) -> None:
        self.tasks.append(asyncio.current_task())
        self.reader.cancel()
        await self.stack.aclose()


async def test_opened_in_one_task_and_closed_in_another_works_for_clients_with_cancel_scopes() -> None:
    scoped, other = Scoped(), Scoped()
    made = agent(scoped, named("other", other))
    async with no_leaks():
        opened = await asyncio.create_task(made.__aenter__())
        assert (await opened.run("hi")).text == "ok"
        await asyncio.create_task(made.__aexit__(None, None, None))
    assert len({*scoped.tasks, *other.tasks}) == 1
    assert asyncio.current_task() not in scoped.tasks


async def test_a_scope_that_is_left_open_by_a_failed_opening_is_closed_in_its_task_too() -> None:
    scoped = Scoped()
    async with no_leaks():
        with suppress(ConnectionError):
            await agent(scoped, Life("b", [], init=ConnectionError("no network"))).__aenter__()
    assert len(set(scoped.tasks)) == 1
    assert scoped.reader.cancelled()


async def test_a_resource_that_somebody_else_opened_is_not_closed_by_us() -> None:
    closed: list[str] = []

    class Client:
        async def __aenter__(self) -> Client:
            raise AssertionError

        async def __aexit__(self, *_: object) -> None:
            closed.append("exit")

        async def aclose(self) -> None:
            closed.append("aclose")

        def close(self) -> None:
            closed.append("close")

    async with agent() as opened, opened.session(resources={Client: Client()}, credentials=Client()) as session:
        await session.run("hi")
    assert closed == []


def test_an_agent_that_is_open_in_one_loop_says_so_in_another() -> None:
    made = agent()

    async def other() -> None:
        with pytest.raises(UseError, match="is open in another event loop: use it there, or through"):
            await made.__aenter__()

    async def first() -> None:
        async with made:
            await asyncio.to_thread(asyncio.run, other())

    asyncio.run(first())
