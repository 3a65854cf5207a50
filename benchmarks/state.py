"""State: what it costs to change a slice and to have the change recorded."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Any

from benchmarks.floors import ExpressFloor
from benchmarks.measure import MICRO, Work, compare
from benchmarks.rows import Effort, Group, Row, quiet
from benchmarks.subjects import Counter, Walker, agent, idlers, turns

STEPS = 20


async def measure(effort: Effort) -> list[Row]:
    """The row of a slice that changes once per step; what a session pays once is not in it."""
    async with AsyncExitStack() as stack:

        async def walked(use: Any, steps: int) -> Work:
            return turns(await stack.enter_async_context(agent(use, model=Walker(steps))))

        works = {
            "express": ExpressFloor().run,
            "idle short": await walked(idlers(1, ["model"]), 1),
            "idle long": await walked(idlers(1, ["model"]), 1 + STEPS),
            "count short": await walked(Counter(), 1),
            "count long": await walked(Counter(), 1 + STEPS),
        }
        taken = await compare(works, repeat=max(1, effort.repeat // 5), samples=effort.samples)
    idle, count = (taken[f"{who} long"] - taken[f"{who} short"] for who in ("idle", "count"))
    ours = (count - idle) * MICRO / STEPS
    return [
        Row("state-slice", "a state slice that changed, per step", "µs", ours, quiet(8, taken["express"] * MICRO)),
    ]


GROUP = Group(("state-slice",), measure)
