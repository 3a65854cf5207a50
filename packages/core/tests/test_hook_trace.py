"""A turn is the same turn whether it is run or streamed: for random stacks, the same hooks, log, history and result."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import Any
from unittest import mock

from hypothesis import event as counted
from hypothesis import given, settings
from packages.core.tests.stacks import BEHAVIOURS, HASTY, Broken, Spec, stacks_of
from packages.core.tests.stepping import nothing_lost
from packages.core.tests.workshop import Workshop, entries, one_by_one, scripts

from agent_express import End, Event, Limits, Session
from agent_express.errors import HookError, ModelError, TurnError
from agent_express.events import TurnEnded
from agent_express.testing import check_history, no_leaks, snapshot


@dataclass
class Trace:
    """All that can be compared of two runs."""

    hooks: list[str]
    observed: list[str]
    log: Any
    history: Any
    result: Any
    requests: int


async def trace(workshop: Workshop, how: Any) -> Trace:
    """Run one turn and tell everything about it."""
    async with workshop.agent, workshop.agent.session("s") as session:
        with nothing_lost():
            async with no_leaks():
                result = await how(session)
        check_history(session.history)
        assert len(session.log.of(TurnEnded)) == 1
        assert workshop.observed.faults == [], workshop.observed.faults
        # A hook that is cancelled before its first step was entered without knowing.
        assert entries(workshop.notes.lines) <= entries(workshop.observed.lines)
        return Trace(
            workshop.notes.lines,
            workshop.observed.lines,
            snapshot(list(session.log)),
            snapshot(list(session.history)),
            result,
            len(workshop.model.requests),
        )


async def run(session: Session) -> Any:
    try:
        return told(await session.run("go"))
    except (Exception, asyncio.CancelledError) as error:
        return failed(error)


async def stream(session: Session, pauses: int = 0) -> Any:
    seen: list[Event] = []
    try:
        async with session.stream("go") as events:
            async for event in events:
                if not isinstance(event, End):
                    seen.append(event)
                for _ in range(pauses):
                    await asyncio.sleep(0)
            return told(events.answer)
    except (Exception, asyncio.CancelledError) as error:
        return failed(error)
    finally:
        assert isinstance(seen[-1], TurnEnded)
        assert sum(isinstance(event, TurnEnded) for event in seen) == 1


async def stream_slowly(session: Session) -> Any:
    return await stream(session, pauses=2)


def told(answer: Any) -> Any:
    return answer.text, answer.status, answer.limit, repr(answer.usage)


def failed(error: BaseException) -> Any:
    assert isinstance(error, Broken | HookError | TurnError | ModelError), repr(error)
    return type(error).__name__, str(error), getattr(error, "__notes__", [])


MANY = settings(max_examples=200, derandomize=True)


@MANY
@given(stack=stacks_of(BEHAVIOURS), script=scripts)
async def test_a_hook_trace_is_the_same_for_run_and_stream(stack: list[Spec], script: list[str]) -> None:
    limits = Limits(max_steps=6)
    ran = await trace(Workshop(stack, script, limits), run)
    streamed = await trace(Workshop(stack, script, limits), stream)
    counted(f"result: {ran.result[0] if 'Error' in ran.result[0] else 'an answer'}")
    assert streamed == ran


@settings(MANY, max_examples=100)
@given(stack=stacks_of(BEHAVIOURS.keys() - HASTY), script=one_by_one)
async def test_a_hook_trace_is_the_same_for_a_client_that_holds_up_every_event(
    stack: list[Spec], script: list[str]
) -> None:
    limits = Limits(max_steps=6)
    ran = await trace(Workshop(stack, script, limits), run)
    with mock.patch("agent_express.stream.ROOM", 1):
        streamed = await trace(Workshop(stack, script, limits), stream_slowly)
    assert streamed == ran
