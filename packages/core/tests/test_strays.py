"""What a hook leaves running behind: it ends with the turn, and neither starts nor writes anything afterwards."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from packages.core.tests.stacks import LEVELS, Broken, own
from packages.core.tests.stepping import ended, give_way, nothing_lost, until

from agent_express import Agent, ModelContext, ModelResponse, Next, Session, TextDelta, TurnContext, tool
from agent_express.errors import HookError, NextForgottenError
from agent_express.testing import FunctionModel, Say, call, check_history, no_leaks


class Careless:
    """A hook that does not look after the `next()` it has started, in the first turn.

    Attributes:
        stray: The task that runs it.
    """

    name = "careless"

    def __init__(self) -> None:
        self.stray: asyncio.Task[Any] | None = None


async def shields(hook: Careless, ctx: Any, next: Any) -> Any:
    hook.stray = asyncio.ensure_future(next())
    return await asyncio.shield(hook.stray)


async def starts_and_raises(hook: Careless, ctx: Any, next: Any) -> Any:
    hook.stray = asyncio.create_task(next())
    await give_way(12)
    raise Broken("careless")


async def gathers(hook: Careless, ctx: Any, next: Any) -> Any:
    async def no() -> None:
        await give_way(12)
        raise Broken("no")

    hook.stray = asyncio.ensure_future(next())
    result, _ = await asyncio.gather(hook.stray, no())
    return result


async def starts_and_answers(hook: Careless, ctx: Any, next: Any) -> Any:
    hook.stray = asyncio.create_task(next())
    await give_way(12)
    return own(hook.name, ctx)


Way = Callable[[Careless, Any, Any], Awaitable[Any]]
WAYS: list[Way] = [shields, starts_and_raises, gathers, starts_and_answers]


def careless(level: str, way: Way) -> Careless:
    """A middleware with such a hook on one level."""

    async def hook(self: Careless, ctx: TurnContext, next: Any) -> Any:
        return await (next() if ctx.turn_index else way(self, ctx, next))

    return type("Hook", (Careless,), {level: hook})()  # type: ignore[no-any-return]


class Held:
    """A turn that stands still, in the model or in a tool, until it is let go."""

    def __init__(self, *stack: Any, stall: str) -> None:
        self.gate, self.stall = asyncio.Event(), stall
        self.started: list[str] = []
        self.model = FunctionModel(self.reply)
        self.agent = Agent(self.model, tools=[self.tool()], use=stack)

    def reply(self, request: Any) -> Any:
        self.started.append("model")
        if request.messages[-1].text == "again":
            return "Fine."
        if request.messages[-1].role == "tool":
            return "Done."
        calls = [call("wait").replace(id="a"), call("wait").replace(id="b")]
        return Say("one two", calls=calls, delay=self.gate if self.stall == "model" else None, delay_after=1)

    def tool(self) -> Any:
        @tool
        async def wait() -> str:
            """Wait."""
            self.started.append("tool")
            if self.stall == "tool":
                await self.gate.wait()
            return "waited"

        return wait


async def over(session: Session, hook: Careless, way: Way) -> object:
    """Run the turn to its end; where nothing else ends it, cancel it."""
    task = asyncio.create_task(session.run("go"))
    if way is shields:
        await until(lambda: hook.stray is not None)
        await give_way(12)
        task.cancel()
    return await ended(task)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("level", "stall"), [("turn", "model"), ("turn", "tool"), ("model", "model"), ("tool", "tool")]
)
async def test_a_call_that_a_hook_left_behind_is_ended_with_the_turn(way: Way, level: str, stall: str) -> None:
    hook = careless(level, way)
    held = Held(hook, stall=stall)
    async with held.agent, held.agent.session() as session:
        with nothing_lost():
            async with no_leaks():
                got = await over(session, hook, way)
            assert isinstance(got, asyncio.CancelledError | Broken | NextForgottenError)
            started, logged = list(held.started), len(session.log)
            held.gate.set()
            await give_way(20)
            assert held.started == started
            assert len(session.log) == logged
        check_history(session.history)
        assert (await session.run("again")).text == "Fine."
        check_history(session.history)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("level", LEVELS)
async def test_a_hook_that_was_left_behind_can_start_and_write_nothing_afterwards(way: Way, level: str) -> None:
    gate, late = asyncio.Event(), list[str]()

    class Slow:
        async def turn(self, ctx: Any, next: Any) -> Any:
            return await self.wait("turn", ctx, next)

        async def model(self, ctx: Any, next: Any) -> Any:
            return await self.wait("model", ctx, next)

        async def tool(self, ctx: Any, next: Any) -> Any:
            return await self.wait("tool", ctx, next)

        async def wait(self, where: str, ctx: Any, next: Any) -> Any:
            if where == level and not ctx.turn_index:
                try:
                    await gate.wait()
                except asyncio.CancelledError:
                    late.append("cancelled")
                    raise
                late.append("goes on")
                await ctx.emit(TextDelta("late"))
            return await next()

    hook = careless(level, way)
    held = Held(hook, Slow(), stall="nowhere")
    async with held.agent, held.agent.session() as session:
        got = await over(session, hook, way)
        assert isinstance(got, asyncio.CancelledError | Broken | NextForgottenError)
        started, logged = list(held.started), len(session.log)
        gate.set()
        await give_way(20)
        assert held.started == started
        assert len(session.log) == logged
        assert late != []
        assert hook.stray is not None
        assert isinstance(await ended(hook.stray), BaseException)
        assert (await session.run("again")).text == "Fine."
        check_history(session.history)


async def test_a_next_that_is_still_running_cannot_be_called_a_second_time_beside_it() -> None:
    async def both(ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        first = asyncio.create_task(next())
        await give_way(2)
        try:
            return await next()
        finally:
            await first

    async with Agent(FunctionModel(lambda _: "a b c d")).use(both) as agent, no_leaks():
        with pytest.raises(HookError, match="still running"):
            await agent.run("go")
