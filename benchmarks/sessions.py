"""Session hooks: they are entered and left in a task that the session owns."""

from __future__ import annotations

from contextlib import AsyncExitStack

from benchmarks.floors import ExpressFloor, PlainFloor
from benchmarks.measure import MICRO, Work, compare
from benchmarks.rows import Effort, Group, Row, quiet
from benchmarks.subjects import agent, idlers, sessions

FURTHER = 10


async def measure(effort: Effort) -> list[Row]:
    """The rows of the first session hook and of each further one."""
    async with AsyncExitStack() as stack:

        async def opened(hooks: int) -> Work:
            return sessions(await stack.enter_async_context(agent(*idlers(hooks, ["session"]))))

        works = {
            "plain": PlainFloor().run,
            "plain hooks": PlainFloor(FURTHER, ["session"]).run,
            "express": ExpressFloor().run,
            "express hooks": ExpressFloor(FURTHER, ["session"]).run,
            "none": await opened(0),
            "one": await opened(1),
            "all": await opened(1 + FURTHER),
        }
        taken = await compare(works, repeat=effort.repeat, samples=effort.samples)
    cost = {name: seconds * MICRO for name, seconds in taken.items()}
    turn = cost["express"]
    plain, express = (cost[f"{floor} hooks"] - cost[floor] for floor in ("plain", "express"))
    return [
        Row(
            "session-hook-first",
            "the first session hook, to open and close a session",
            "µs",
            cost["one"] - cost["none"],
            quiet(40, turn),
        ),
        Row(
            "session-hook-further",
            "each further session hook",
            "µs",
            (cost["all"] - cost["one"]) / FURTHER,
            quiet(2.5, turn),
            plain / FURTHER,
            express / FURTHER,
        ),
    ]


GROUP = Group(("session-hook-first", "session-hook-further"), measure)
