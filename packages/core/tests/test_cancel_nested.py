"""A turn with an agent inside it, interrupted at every step: the inner agent is closed before the outer turn ends."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from packages.core.tests.scene import Around, Scene, Streamed, Trail
from packages.core.tests.stepping import LONG, Clock, Steps, ended, everywhere, give_way, nothing_lost

from agent_express import (
    Agent,
    Limits,
    ModelRequest,
    Session,
    ToolContext,
    TurnAbortedError,
    TurnContext,
    TurnEnded,
    tool,
)
from agent_express.errors import TurnTimeoutError
from agent_express.events import TurnStarted
from agent_express.testing import FunctionModel, call, check_history, no_leaks


class Family:
    """An agent that calls another one as a tool, beside a tool of its own.

    Attributes:
        child: The inner agent, with everything in its turn.
        trail: What the outer agent's layers noted.
        stop: Set to make the outer tool abort the turn.
    """

    def __init__(self) -> None:
        self.child, self.trail = Scene(), Trail()
        self.ctx: TurnContext | None = None
        self.model = FunctionModel(self.reply, name="parent")
        self.agent = Agent(
            self.model,
            name="parent",
            tools=[self.child.agent.as_tool("child", "Ask the child."), self.tool()],
            use=[Around(self.trail, 0), Streamed(self.trail, 1, pause=False)],
        )

    def tool(self) -> Any:
        @tool
        async def beside(ctx: ToolContext) -> str:
            """Wait a little."""
            self.ctx = ctx
            await give_way(3)
            return "waited"

        return beside

    def reply(self, request: ModelRequest) -> Any:
        if request.messages[-1].role == "tool":
            return "The child has answered."
        return [call("child", task="go"), call("beside")] if request.messages[-1].text == "go" else "Fine."

    def reset(self) -> None:
        """Forget what happened."""
        self.child.reset()
        self.trail.reset()
        self.ctx = None

    async def check(self, session: Session) -> None:
        """Check that both agents were left in order, and that the outer one can go on."""
        assert self.child.trail.faults == [], self.child.trail.faults
        assert self.child.trail.inside == []
        assert self.child.opened.is_open == 0
        assert self.trail.faults == [], self.trail.faults
        assert [scope for scope in self.trail.inside if scope.level != "session"] == []
        started, ended = session.log.of(TurnStarted), session.log.of(TurnEnded)
        assert {turn.turn_id for turn in started} == {turn.turn_id for turn in ended}
        assert len(started) == len(ended)
        if ended:
            assert ended[-1].path == ""  # the inner turn ends first
        check_history(session.history)
        assert (await session.run("again")).text == "Fine."
        check_history(session.history)


async def run(session: Session) -> str:
    return (await session.run("go", limits=Limits(timeout=LONG / 2))).text


async def stream(session: Session) -> str:
    async with session.stream("go", limits=Limits(timeout=LONG / 2)) as events:
        async for _ in events:
            pass
        return events.answer.text


How = Callable[[Session], Coroutine[Any, Any, str]]
both_ways = pytest.mark.parametrize("how", [run, stream])
ANSWER = "The child has answered."


async def interrupt(family: Family, how: How, what: str) -> None:
    """Run the turn, do *what* at each of its steps, and check what is left."""

    async def once(steps: Steps, k: int) -> None:
        family.reset()
        with Clock().in_charge() as clock:
            async with family.agent.session() as session:
                with nothing_lost():
                    async with no_leaks():
                        with steps.watching():
                            task = asyncio.create_task(how(session))
                            steps.at(k, {"cancelled": task.cancel, "out of time": clock.jump}[what])
                            got = await ended(task)
                assert got == ANSWER or isinstance(got, asyncio.CancelledError | TurnTimeoutError), repr(got)
                await family.check(session)

    async with family.agent:
        await everywhere(what, once)


@both_ways
@pytest.mark.parametrize("what", ["cancelled", "out of time"])
async def test_an_agent_inside_a_turn_is_closed_wherever_the_turn_is_interrupted(how: How, what: str) -> None:
    await interrupt(Family(), how, what)


@both_ways
async def test_an_abort_of_the_outer_turn_at_any_step_stops_the_agent_inside_it(how: How) -> None:
    family = Family()

    async def once(steps: Steps, k: int) -> None:
        family.reset()
        calls: list[int] = []

        def abort() -> None:
            if family.ctx is not None and not [each for each in family.ctx.log.of(TurnEnded) if not each.path]:
                calls.append(len(family.child.model.requests))
                with pytest.raises(BaseException, match="enough"):
                    family.ctx.abort("enough")

        async with family.agent.session() as session:
            async with no_leaks():
                with steps.watching():
                    task = asyncio.create_task(how(session))
                    steps.at(k, abort)
                    got = await ended(task)
            if calls:
                assert isinstance(got, TurnAbortedError), repr(got)
                assert len(family.child.model.requests) == calls[0]
            else:
                assert got == ANSWER
            await family.check(session)

    async with family.agent:
        await everywhere("aborted", once)
