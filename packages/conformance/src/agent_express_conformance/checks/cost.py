"""What a middleware costs by itself: a turn with it, beside a turn with a layer that does nothing."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from agent_express import Agent, ModelRequest, tool
from agent_express.middleware import Usable
from agent_express.testing import FunctionModel, call

from ..failure import fail
from ..probes import LEVELS, Flowing, Quiet
from ..scene import Scene, run, stand_ins
from ..subject import Subject

TURNS, SAMPLES = 10, 10
_LEAST = 2e-6  # seconds: what an idle layer costs at least; below that a difference is noise


async def own_time(subject: Subject) -> None:
    """Its own time in a turn, of two model calls and a tool call, stays within so many times that of an idle layer."""
    hooks = Scene(subject).entry.hooks
    levels = [level for level in LEVELS if level in hooks]
    if not levels:
        subject.figures |= {"own microseconds per turn": None, "times a no-op layer": None}
        return
    streams = any(inspect.isasyncgenfunction(hooks[level]) for level in levels)
    kind = Flowing if streams else Quiet
    least = [float("inf")] * 3
    for _ in range(SAMPLES):  # in turns, so that what else the machine does meets all three
        for place, stack in enumerate(([], [_only(kind, levels)], _stack(subject))):
            least[place] = min(least[place], await _timed(subject, stack))
    noop, own = max(_LEAST, least[1] - least[0]), max(0.0, least[2] - least[0])
    subject.figures["own microseconds per turn"] = round(own * 1e6, 3)
    subject.figures["times a no-op layer"] = round(own / noop, 2)
    if own > subject.slowest * noop:
        fail(
            f"{subject.name} takes {own * 1e6:,.0f} µs of a turn for itself, {own / noop:,.0f} times a layer that does "
            f"nothing, expected at most {subject.slowest:,.0f} times: move work out of the hooks, into init or a thread"
        )


def _only(kind: Callable[[], Any], levels: list[str]) -> Any:
    """A layer that does nothing, with hooks on these levels and no others."""
    made: Any = kind()
    base = type(made)
    return type("NoOp", (), {level: getattr(base, level) for level in levels})()


def _stack(subject: Subject) -> list[Usable]:
    thing = subject.make()
    outside, inside = stand_ins(subject.entry_of(thing))
    return [*subject.outside(), *outside, thing, *inside, *subject.inside()]


async def _timed(subject: Subject, stack: list[Usable]) -> float:
    """The seconds of one turn."""
    agent = Agent(FunctionModel(_reply, suspend=False), tools=[look], use=stack)
    async with agent, agent.session() as session:
        await run(session, "Look.")
        begun = subject.clock()
        for _ in range(TURNS):
            await run(session, "Look.")
        return (subject.clock() - begun) / TURNS


@tool(name="conformance_look")
async def look() -> str:
    """Look."""
    return "seen"


def _reply(request: ModelRequest) -> Any:
    return "Fine." if request.messages[-1].role == "tool" else [call("conformance_look")]
