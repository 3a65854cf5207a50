"""A turn: by `run`, by `stream`, and the three-hundredth of a session."""

from __future__ import annotations

import gc
import time

from agent_express import Agent
from benchmarks.floors import ExpressFloor, PlainFloor
from benchmarks.measure import MICRO, compare
from benchmarks.rows import Effort, Group, Limit, Row, quiet, times
from benchmarks.subjects import agent, session_turns, streamed_turns, turns

EARLY = 10
SPREAD = 10
"""Turns around the one that is asked for, of which the fastest counts."""


async def measure(effort: Effort) -> list[Row]:
    """The rows of a turn."""
    async with agent() as bare:
        works = {
            "plain": PlainFloor().run,
            "express": ExpressFloor().run,
            "run": turns(bare),
            "in a session": session_turns(bare),
            "stream": streamed_turns(bare),
        }
        taken = await compare(works, repeat=effort.repeat, samples=effort.samples)
        growth = await _growth(bare, effort)
    cost = {name: seconds * MICRO for name, seconds in taken.items()}
    turn = cost["express"]
    return [
        Row(
            "turn",
            "a turn by `run`, no middleware",
            "µs",
            cost["run"],
            times(5, turn, "express turn"),
            cost["plain"],
            turn,
        ),
        Row("stream", "what `stream` adds to it", "µs", cost["stream"] - cost["in a session"], quiet(45, turn)),
        Row("long-session", f"turn {effort.turns} of a session beside turn {EARLY}", "x", growth, Limit(1.3)),
    ]


async def _growth(agent: Agent, effort: Effort) -> float:
    """How many times longer the last turn of a long session takes than an early one; in memory."""
    early = late = float("inf")
    for _ in range(max(1, effort.samples // 10)):
        taken = await _turns_of_one_session(agent, effort.turns)
        early = min(early, *taken[EARLY - SPREAD // 2 : EARLY + SPREAD // 2])
        late = min(late, *taken[-SPREAD:])
    return late / early


async def _turns_of_one_session(agent: Agent, turns: int) -> list[float]:
    """The CPU seconds of each turn."""
    taken: list[float] = []
    gc.collect()
    gc.disable()
    try:
        async with agent.session() as session:
            for _ in range(turns):
                start = time.process_time()
                await session.run("hi")
                taken.append(time.process_time() - start)
    finally:
        gc.enable()
    return taken


GROUP = Group(("turn", "stream", "long-session"), measure)
