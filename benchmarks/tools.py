"""Tool calls that run side by side."""

from __future__ import annotations

from contextlib import AsyncExitStack

from benchmarks.floors import ExpressFloor, PlainFloor
from benchmarks.measure import MICRO, compare
from benchmarks.rows import Effort, Group, Row, times
from benchmarks.subjects import FakeModel, agent, turns

CALLS = 10


async def measure(effort: Effort) -> list[Row]:
    """The row of each tool call after the first, in one answer of the model; the second pays for the tasks too."""
    async with AsyncExitStack() as stack:
        works = {
            "plain one": PlainFloor().run,
            "plain all": PlainFloor(calls=CALLS).run,
            "express one": ExpressFloor().run,
            "express all": ExpressFloor(calls=CALLS).run,
            "ours one": turns(await stack.enter_async_context(agent())),
            "ours all": turns(await stack.enter_async_context(agent(model=FakeModel(CALLS)))),
        }
        taken = await compare(works, repeat=effort.repeat, samples=effort.samples)

    def further(who: str) -> float:
        return (taken[f"{who} all"] - taken[f"{who} one"]) * MICRO / (CALLS - 1)

    express = further("express")
    limit = times(20 / 9, express, "express parallel call")
    what = f"each further tool call of {CALLS} that run side by side"
    return [Row("parallel-call", what, "µs", further("ours"), limit, further("plain"), express)]


GROUP = Group(("parallel-call",), measure)
