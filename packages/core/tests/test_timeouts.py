"""Time limits of turn, hook, tool and client that strike at every step, by a clock that the tests move."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from packages.core.tests.scene import Scene, Trail, check_next_turn, check_partial, check_tidy, endings
from packages.core.tests.stepping import LONG, Clock, Steps, ended, everywhere, give_way, until

from agent_express import (
    Agent,
    End,
    Events,
    Limits,
    Message,
    ModelContext,
    ModelResponse,
    Next,
    Session,
    TextDelta,
    ToolContext,
    ToolResult,
    ToolReturned,
    TurnContext,
    TurnEnded,
    tool,
)
from agent_express.errors import TurnTimeoutError
from agent_express.middleware import Usable
from agent_express.testing import FunctionModel, Say, ScriptedModel, call, no_leaks

LIMIT = LONG / 2
LATE = ModelResponse(Message("assistant", "late"))


class Patient:
    """Middleware whose hooks give what is further in so much time.

    Attributes:
        trail: Where it stands outermost: of what must have ended when the time is out.
    """

    trail: Trail | None = None

    def late(self, level: str, call: str) -> None:
        """The time is out: note what is still running."""
        if self.trail is None:
            return
        for scope in self.trail.inside:
            if (level == "turn" and scope.level != "session") or (scope.level, scope.call) == (level, call):
                self.trail.faults.append(f"{scope} was open when the time-out was heard in a {level} hook")


class Waiting(Patient):
    """Hooks that return."""

    async def turn(self, ctx: TurnContext, next: Next[None]) -> None:
        try:
            async with asyncio.timeout(LIMIT):
                await next()
        except TimeoutError:
            self.late("turn", ctx.turn_id)
            ctx.output = LATE.message

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        try:
            async with asyncio.timeout(LIMIT):
                return await next()
        except TimeoutError:
            self.late("model", str(ctx.call_index))
            return LATE

    async def tool(self, ctx: ToolContext, next: Next[ToolResult]) -> ToolResult:
        try:
            async with asyncio.timeout(LIMIT):
                return await next()
        except TimeoutError:
            self.late("tool", ctx.call_id)
            return ToolResult("late")


class WaitingStream(Patient):
    """Hooks that yield, with a time limit across their yields."""

    async def turn(self, ctx: TurnContext, next: Next[Any]) -> Events[Any]:
        try:
            async with asyncio.timeout(LIMIT):
                async for event in next():
                    yield event
        except TimeoutError:
            self.late("turn", ctx.turn_id)
            yield End(LATE.message)

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> Events[ModelResponse]:
        try:
            async with asyncio.timeout(LIMIT):
                async for event in next():
                    yield event
        except TimeoutError:
            self.late("model", str(ctx.call_index))
            yield End(LATE)

    async def tool(self, ctx: ToolContext, next: Next[ToolResult]) -> Events[ToolResult]:
        try:
            async with asyncio.timeout(LIMIT):
                async for event in next():
                    yield event
        except TimeoutError:
            self.late("tool", ctx.call_id)
            yield End(ToolResult("late"))


async def run(session: Session, limits: Limits | None) -> str:
    return (await session.run("go", limits=limits)).text


async def stream(session: Session, limits: Limits | None) -> str:
    async with session.stream("go", limits=limits) as events:
        async for _ in events:
            pass
        return events.answer.text


async def impatient_client(session: Session, limits: Limits | None) -> str:
    try:
        async with asyncio.timeout(LIMIT):
            return await stream(session, limits)
    except TimeoutError:
        return "the client has left"


How = Callable[[Session, Limits | None], Coroutine[Any, Any, str]]
both_ways = pytest.mark.parametrize("how", [run, stream])


async def at_any_step(scene: Scene, how: How, limits: Limits | None, check: Callable[[Session, object], None]) -> None:
    """Run the turn again and again, let the time run out at another step each time, and check what came of it."""

    async def once(steps: Steps, k: int) -> None:
        scene.reset()
        with Clock().in_charge() as clock:
            async with scene.agent.session() as session:
                async with no_leaks():
                    with steps.watching():
                        task = asyncio.create_task(how(session, limits))
                        steps.at(k, clock.jump)
                        got = await ended(task)
                check_tidy(scene)
                check(session, got)
                await check_next_turn(scene, session)

    async with scene.agent:
        await everywhere("out of time", once)


@both_ways
async def test_a_turn_that_takes_too_long_at_any_step_ends_with_its_time_limit(how: How) -> None:
    def check(session: Session, got: object) -> None:
        late = isinstance(got, TurnTimeoutError)
        assert late or got == Scene.ANSWER
        assert endings(session) == ["timeout" if late else "completed"]
        if late:
            check_partial(session, [])

    await at_any_step(Scene(), how, Limits(timeout=LIMIT), check)


async def test_a_client_that_waits_no_longer_gets_its_own_time_out_and_the_turn_is_cancelled() -> None:
    def check(session: Session, got: object) -> None:
        left = got == "the client has left"
        assert left or got == Scene.ANSWER
        assert endings(session) in (["cancelled"], ["completed"])

    await at_any_step(Scene(), impatient_client, None, check)


@both_ways
@pytest.mark.parametrize(
    ("outer", "inner"), [(Waiting, WaitingStream), (WaitingStream, Waiting)], ids=["returns-yields", "yields-returns"]
)
async def test_a_time_out_in_a_hook_is_a_time_out_there_and_nowhere_else(
    how: How, outer: type[Waiting | WaitingStream], inner: type[Waiting | WaitingStream]
) -> None:
    def check(session: Session, got: object) -> None:
        assert got in ("late", Scene.ANSWER)
        assert endings(session) == ["completed"]

    outermost = outer()
    # A hook that waits for something of its own cannot tell the time-out of a hook around it from its own.
    scene = Scene(outer=[outermost], inner=[inner()], pause=False)
    outermost.trail = scene.trail
    await at_any_step(scene, how, None, check)


async def test_a_tool_that_takes_too_long_has_failed_and_the_turn_goes_on() -> None:
    hang = asyncio.Event()

    @tool(timeout=LIMIT)
    async def stuck() -> str:
        """Wait for what does not come."""
        await hang.wait()
        return "never"

    @tool
    async def quick() -> str:
        """Answer at once."""
        return "quick"

    model = ScriptedModel([call("stuck"), call("quick")], "Done.")
    with Clock().in_charge() as clock:
        async with Agent(model, tools=[stuck, quick]) as agent, agent.session() as session, no_leaks():
            task = asyncio.create_task(session.run("go"))
            await until(lambda: any(each.name == "quick" for each in session.log.of(ToolReturned)))
            clock.jump()
            answer = await task
    results = {each.name: each.result for each in answer.events if isinstance(each, ToolReturned)}
    assert results["stuck"].is_error
    assert results["stuck"].text == f"TimeoutError: stuck took longer than {LIMIT:g} seconds"
    assert results["quick"].text == "quick"
    assert answer.text == "Done."


@pytest.mark.parametrize("streamed", [False, True], ids=["returns", "yields"])
async def test_a_hook_that_swallows_the_end_of_the_time_does_not_get_more_of_it(streamed: bool) -> None:
    async def swallow(ctx: TurnContext, next: Next[None]) -> None:
        try:
            await next()
        except BaseException:
            ctx.output = LATE.message

    async def swallow_stream(ctx: TurnContext, next: Next[Any]) -> Events[Any]:
        try:
            async for event in next():
                yield event
        except BaseException:
            yield End(LATE.message)

    model = ScriptedModel(Say("a b", delay=asyncio.Event(), delay_after=1), "Fine.")
    hooks: list[Usable] = [swallow, swallow_stream]
    with Clock().in_charge() as clock:
        async with Agent(model, limits=Limits(timeout=LIMIT)).use(hooks[streamed]) as agent, agent.session() as session:
            async with no_leaks():
                task = asyncio.create_task(session.run("go"))
                await until(lambda: model.open_streams == 1)
                clock.jump()
                assert isinstance(await ended(task), TurnTimeoutError)
            assert [each.status for each in session.log.of(TurnEnded)] == ["timeout"]
            assert (await session.run("again")).text == "Fine."


async def test_the_time_of_a_turn_runs_out_while_its_client_does_not_read() -> None:
    model = FunctionModel(lambda _: Say([f"{n} " for n in range(1_000)]))
    with Clock().in_charge() as clock:
        async with Agent(model, limits=Limits(timeout=LIMIT)) as agent, agent.session() as session, no_leaks():
            async with session.stream("go") as events:
                await anext(events)
                await give_way(200)
                clock.jump()
                await until(lambda: bool(session.log.of(TurnEnded)))
                with pytest.raises(TurnTimeoutError, match=f"took longer than {LIMIT:g} seconds"):
                    async for _ in events:
                        pass
            assert model.open_streams == 0
            assert session.history[-1].mark == "interrupted"


async def test_a_time_out_across_a_yield_strikes_while_the_client_is_slow() -> None:
    struck: list[str] = []

    async def patient(ctx: ModelContext, next: Next[ModelResponse]) -> Events[ModelResponse]:
        try:
            async with asyncio.timeout(LIMIT):
                async for event in next():
                    yield event
        except TimeoutError:
            struck.append(f"open streams: {model.open_streams}")
            yield TextDelta("(cut off)")
            yield End(LATE)

    model = FunctionModel(lambda _: Say([f"{n} " for n in range(1_000)]))
    with Clock().in_charge() as clock:
        async with (
            Agent(model).use(patient) as agent,
            agent.session() as session,
            no_leaks(),
            session.stream("go") as events,
        ):
            await anext(events)
            await give_way(400)
            clock.jump()
            seen = [event async for event in events]
    assert struck == ["open streams: 0"]
    assert events.answer.text == "late"
    assert TextDelta("(cut off)") in seen


async def test_a_streaming_hook_that_limits_its_own_waiting_does_not_disturb_what_is_further_in() -> None:
    skipped: list[str] = []

    async def checking(ctx: ModelContext, next: Next[ModelResponse]) -> Events[ModelResponse]:
        async for event in next():
            if isinstance(event, TextDelta):
                try:
                    async with asyncio.timeout(LIMIT):
                        await asyncio.Event().wait()
                except TimeoutError:
                    skipped.append(event.text)
            yield event

    model = ScriptedModel("a b c")
    with Clock().in_charge() as clock:
        async with Agent(model).use(checking) as agent, agent.session() as session, no_leaks():
            task = asyncio.create_task(session.run("go"))
            for n in range(3):
                await give_way(20)
                assert len(skipped) == n
                clock.jump()
            assert (await task).text == "a b c"
    assert skipped == ["a", " b", " c"]
