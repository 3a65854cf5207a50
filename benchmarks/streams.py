"""Streams: what a delta pays, and what hooks that wait or look on add to it."""

from __future__ import annotations

from contextlib import AsyncExitStack
from typing import Any

from benchmarks.floors import ExpressFloor, Level, pull, push, push_through_express, push_through_plain
from benchmarks.measure import MICRO, Work, compare, once
from benchmarks.rows import Effort, Group, Row, quiet, times
from benchmarks.subjects import Talker, agent, idlers, streamed_turns, turns

QUIET_PUSH = 5.0
"""Microseconds that a delta of the push floor takes on the quiet machine on which the bounds were written down."""
HOOKS = 20
WAITING: tuple[Level, ...] = ("turn", "model")
"""Levels whose hooks wait while a model streams; so `HOOKS` of them are half as many middleware."""
STREAMING = 5


async def measure_deltas(effort: Effort) -> list[Row]:
    """The rows that are paid per delta."""
    deltas = effort.deltas
    async with AsyncExitStack() as stack:

        async def streamed(*use: Any) -> dict[str, Work]:
            opened = [await stack.enter_async_context(agent(*use, model=Talker(n))) for n in (0, deltas)]
            return {"silent": streamed_turns(opened[0]), "talking": streamed_turns(opened[1])}

        stacks = {
            "bare": await streamed(),
            "waiting": await streamed(idlers(HOOKS // len(WAITING), WAITING)),
            "streaming": await streamed(idlers(STREAMING, ["model"], streaming=True)),
        }
        works = {f"{name} {kind}": work for name, each in stacks.items() for kind, work in each.items()}
        works |= {
            "pull": once(pull, deltas),
            "push": once(push, deltas),
            "plain": once(push_through_plain, deltas, HOOKS),
            "express": once(push_through_express, deltas, HOOKS),
        }
        taken = await compare(works, repeat=max(1, effort.repeat // 5), samples=effort.samples)
    delta = {name: seconds * MICRO / deltas for name, seconds in taken.items()}
    delta |= {name: delta[f"{name} talking"] - delta[f"{name} silent"] for name in stacks}
    push_floor = delta["push"]

    def per_delta(microseconds: float) -> Any:
        return times(microseconds / QUIET_PUSH, push_floor, "push delta")

    return [
        Row(
            "delta",
            "a streamed delta, no middleware",
            "µs",
            delta["bare"],
            times(1.4, push_floor, "push delta"),
            delta["pull"],
            push_floor,
        ),
        Row(
            "waiting-hook",
            "each hook that awaits `next()`, per delta",
            "µs",
            (delta["waiting"] - delta["bare"]) / HOOKS,
            per_delta(0.1),
            (delta["plain"] - push_floor) / HOOKS,
            (delta["express"] - push_floor) / HOOKS,
        ),
        Row(
            "streaming-hook",
            "each hook that yields, per delta",
            "µs",
            (delta["streaming"] - delta["bare"]) / STREAMING,
            per_delta(4.5),
        ),
    ]


async def measure_calls(effort: Effort) -> list[Row]:
    """The rows that a streaming hook pays per call, whether anybody streams or not."""
    async with AsyncExitStack() as stack:

        async def hooked(hooks: int) -> Work:
            return turns(await stack.enter_async_context(agent(*idlers(hooks, ["model"], streaming=True))))

        works = {
            "express": ExpressFloor().run,
            "none": await hooked(0),
            "one": await hooked(1),
            "all": await hooked(1 + STREAMING),
        }
        taken = await compare(works, repeat=effort.repeat, samples=effort.samples)
    cost = {name: seconds * MICRO for name, seconds in taken.items()}
    turn, model_calls = cost["express"], 2
    return [
        Row(
            "streaming-hook-first",
            "the first hook that yields, per call",
            "µs",
            (cost["one"] - cost["none"]) / model_calls,
            quiet(40, turn),
        ),
        Row(
            "streaming-hook-further",
            "each further hook that yields, per call",
            "µs",
            (cost["all"] - cost["one"]) / STREAMING / model_calls,
            quiet(28, turn),
        ),
    ]


DELTAS = Group(("delta", "waiting-hook", "streaming-hook"), measure_deltas)
CALLS = Group(("streaming-hook-first", "streaming-hook-further"), measure_calls)
