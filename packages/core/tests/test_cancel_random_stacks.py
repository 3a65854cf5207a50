"""Random stacks, cancelled once or twice at a random step: in order, without a trace, with a whole history."""

from __future__ import annotations

import asyncio
from unittest import mock

from hypothesis import event as counted
from hypothesis import given, settings
from hypothesis import strategies as st
from packages.core.tests.stacks import BEHAVIOURS, Spec, stacks_of
from packages.core.tests.stepping import Steps, ended, give_way, nothing_lost
from packages.core.tests.workshop import Workshop, scripts

from agent_express import Limits, Session, TurnEnded
from agent_express.testing import check_history, no_leaks


async def run(session: Session) -> str:
    return (await session.run("go")).text


async def stream(session: Session) -> str:
    async with session.stream("go") as events:
        async for _ in events:
            await asyncio.sleep(0)
        return events.answer.text


@settings(max_examples=250, derandomize=True)
@given(
    stack=stacks_of(BEHAVIOURS),
    script=scripts,
    step=st.integers(1, 100),
    later=st.integers(0, 6),
    is_streamed=st.booleans(),
    room=st.sampled_from([1, 64]),
)
async def test_a_random_stack_that_is_cancelled_anywhere_is_left_in_order(
    stack: list[Spec], script: list[str], step: int, later: int, is_streamed: bool, room: int
) -> None:
    workshop = Workshop(stack, script, Limits(max_steps=6))
    with mock.patch("agent_express.stream.ROOM", room):
        async with workshop.agent, workshop.agent.session("s") as session:
            steps = Steps()
            with nothing_lost():
                async with no_leaks():
                    with steps.watching():
                        task = asyncio.create_task(stream(session) if is_streamed else run(session))
                        steps.at(step, task.cancel)
                        steps.at(step + later, task.cancel)
                        got = await ended(task)
            assert workshop.observed.faults == [], workshop.observed.faults
            check_history(session.history)
            check_status(session, got, is_streamed)
            logged = len(session.log)
            await give_way(10)
            assert len(session.log) == logged


def check_status(session: Session, got: object, is_streamed: bool) -> None:
    ended = [each.status for each in session.log.of(TurnEnded)]
    was_cancelled = isinstance(got, asyncio.CancelledError)
    counted("cancelled" if was_cancelled else "ended before")
    if was_cancelled and is_streamed:
        assert len(ended) <= 1  # behind a stream the turn may have ended before its reader was told
    elif was_cancelled:
        assert ended in ([], ["cancelled"])
    else:
        assert ended != ["cancelled"]
