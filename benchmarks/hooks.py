"""Hooks and middleware that do nothing: what each of them adds to a turn."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from typing import TypeAlias

from benchmarks.floors import ExpressFloor, Level, PlainFloor
from benchmarks.measure import MICRO, Work, compare, count_calls
from benchmarks.rows import Effort, Group, Limit, Row, times
from benchmarks.subjects import agent, idlers, turns

INNER: tuple[Level, ...] = ("turn", "model", "tool")
CALLS: Mapping[Level, int] = {"turn": 1, "model": 2, "tool": 1}
"""Hook calls on each level in a turn of one tool call."""
LAYERS = 20

Build: TypeAlias = Callable[[int, tuple[Level, ...]], Work]
"""Makes the turn of a stack of so many layers with hooks on these levels."""


async def measure(effort: Effort) -> list[Row]:
    """The rows of a hook call, a middleware, and the Python functions that a turn enters."""
    async with AsyncExitStack() as stack:

        async def ours(layers: int, levels: tuple[Level, ...]) -> Work:
            return turns(await stack.enter_async_context(agent(*idlers(layers, levels))))

        works = {
            "plain": _stacks(lambda layers, levels: PlainFloor(layers, levels).run),
            "express": _stacks(lambda layers, levels: ExpressFloor(layers, levels).run),
            "ours": {name: await ours(LAYERS if levels else 0, levels) for name, levels in _LEVELS.items()},
        }
        flat = {f"{who} {name}": work for who, each in works.items() for name, work in each.items()}
        taken = await compare(flat, repeat=effort.repeat, samples=effort.samples)
        return [*_times(taken), *await _function_calls(works)]


_LEVELS: Mapping[str, tuple[Level, ...]] = {"none": (), "inner": INNER, **{level: (level,) for level in INNER}}


def _stacks(build: Build) -> dict[str, Work]:
    return {name: build(LAYERS if levels else 0, levels) for name, levels in _LEVELS.items()}


def _times(taken: Mapping[str, float]) -> list[Row]:
    def added(who: str, levels: str) -> float:
        """Microseconds that one layer with hooks on these levels adds."""
        return (taken[f"{who} {levels}"] - taken[f"{who} none"]) * MICRO / LAYERS

    def hook_call(who: str, level: Level) -> float:
        return added(who, level) / CALLS[level]

    dearest = max(INNER, key=lambda level: hook_call("ours", level) / hook_call("express", level))
    plain, express, ours = (hook_call(who, dearest) for who in ("plain", "express", "ours"))
    call = Row(
        "hook-call",
        f"a hook call that does nothing, on the dearest level ({dearest})",
        "µs",
        ours,
        times(1.75, express, "express hook call"),
        plain,
        express,
    )
    plain, express, ours = (added(who, "inner") for who in ("plain", "express", "ours"))
    layer = Row(
        "middleware",
        "a middleware with a turn, a model and a tool hook, per turn",
        "µs",
        ours,
        times(1.75, express, "express middleware"),
        plain,
        express,
    )
    return [call, layer]


async def _function_calls(works: Mapping[str, Mapping[str, Work]]) -> list[Row]:
    bare = {who: float(await count_calls(each["none"])) for who, each in works.items()}
    layer = {who: (await count_calls(each["inner"]) - bare[who]) / LAYERS for who, each in works.items()}
    return [
        Row(
            "function-calls",
            "Python function calls of a turn",
            "calls",
            bare["ours"],
            Limit(300),
            bare["plain"],
            bare["express"],
        ),
        Row(
            "function-calls-middleware",
            "Python function calls of such a middleware",
            "calls",
            layer["ours"],
            Limit(15),
            layer["plain"],
            layer["express"],
        ),
    ]


GROUP = Group(("hook-call", "middleware", "function-calls", "function-calls-middleware"), measure)
