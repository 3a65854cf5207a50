"""What a middleware costs by itself: a turn with it, beside a turn with a layer that does nothing."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from agent_express import Agent, ModelRequest, tool
from agent_express.middleware import Usable
from agent_express.testing import FunctionModel, call

from ..failure import fail
from ..loop import JumpingLoop
from ..probes import LEVELS, Flowing, Quiet
from ..scene import Scene, run, stand_ins
from ..subject import Subject

TURNS, SAMPLES, ROUNDS = 10, 10, 3
_LEAST = 2e-6  # seconds: what an idle layer costs at least; below that a difference is noise
_ALWAYS_ALLOWED = 1e-3  # seconds of a turn, whatever an idle layer costs


async def own_time(subject: Subject) -> None:
    """Its own time in a turn, of two model calls and a tool call, stays within so many times that of an idle layer.

    Waiting counts, on the clock of the loop. What takes too long is measured again: a busy machine is no fault.
    """
    hooks = Scene(subject).entry.hooks
    levels = [level for level in LEVELS if level in hooks]
    if not levels:
        subject.figures |= {"own microseconds per turn": None, "times a no-op layer": None}
        return
    streams = any(inspect.isasyncgenfunction(hooks[level]) for level in levels)
    kind = Flowing if streams else Quiet
    least = [_Spent(float("inf"), float("inf"))] * 3
    noop = own = bound = 0.0
    for _ in range(ROUNDS):
        for _ in range(SAMPLES):  # in turns, so that what else the machine does meets all three
            for place, stack in enumerate(([], [_only(kind, levels)], _stack(subject))):
                least[place] = least[place].or_less(await _timed(subject, stack))
        noop, working = max(_LEAST, least[1].working - least[0].working), least[2].working - least[0].working
        own = max(0.0, working) + max(0.0, least[2].waiting - least[0].waiting)
        bound = max(_ALWAYS_ALLOWED, subject.slowest * noop)
        subject.figures["own microseconds per turn"] = round(own * 1e6, 3)
        subject.figures["times a no-op layer"] = round(own / noop, 2)
        if own <= bound:
            return
    if least[2].waiting > bound:
        fail(
            f"{subject.name} waits {least[2].waiting:,.3f} s in each ordinary turn, expected less than "
            f"{bound:,.4f} s: wait only where there is something to wait for, or say in exempt what it is"
        )
    fail(
        f"{subject.name} takes {own * 1e6:,.0f} µs of a turn for itself, {own / noop:,.0f} times a layer that does "
        f"nothing, expected at most {bound * 1e6:,.0f} µs: {subject.slowest:,.0f} times, or "
        f"{_ALWAYS_ALLOWED * 1e6:,.0f} µs where that is more; move work out of the hooks, into init or a thread"
    )


@dataclass(frozen=True, slots=True)
class _Spent:
    """The seconds of a turn.

    Attributes:
        working: On the clock on the wall.
        waiting: On the clock of the loop, which jumps over it.
    """

    working: float
    waiting: float

    def or_less(self, other: _Spent) -> _Spent:
        return _Spent(min(self.working, other.working), min(self.waiting, other.waiting))


def _only(kind: Callable[[], Any], levels: list[str]) -> Any:
    """A layer that does nothing, with hooks on these levels and no others."""
    made: Any = kind()
    base = type(made)
    return type("NoOp", (), {level: getattr(base, level) for level in levels})()


def _stack(subject: Subject) -> list[Usable]:
    thing = subject.make()
    outside, inside = stand_ins(subject.entry_of(thing))
    return [*subject.outside(), *outside, thing, *inside, *subject.inside()]


async def _timed(subject: Subject, stack: list[Usable]) -> _Spent:
    """What one turn takes."""
    loop = asyncio.get_running_loop()
    jumped: Callable[[], float] = (lambda: loop.waited) if isinstance(loop, JumpingLoop) else (lambda: 0.0)
    agent = Agent(FunctionModel(_reply, suspend=False), tools=[look], use=stack)
    async with agent, agent.session() as session:
        await run(session, "Look.")
        begun, before = subject.clock(), jumped()
        for _ in range(TURNS):
            await run(session, "Look.")
        return _Spent((subject.clock() - begun) / TURNS, (jumped() - before) / TURNS)


@tool(name="conformance_look")
async def look() -> str:
    """Look."""
    return "seen"


def _reply(request: ModelRequest) -> Any:
    return "Fine." if request.messages[-1].role == "tool" else [call("conformance_look")]
