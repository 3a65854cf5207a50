"""Memory: many sessions of one process, each in the middle of a turn."""

from __future__ import annotations

import asyncio
import gc
import tracemalloc
from collections.abc import AsyncIterator, Sequence
from typing import Any

from benchmarks.floors import LEVELS, End, ExpressFloor, Level, Message, ModelContext, PlainFloor
from benchmarks.measure import Work
from benchmarks.rows import Effort, Group, Limit, Row
from benchmarks.subjects import Gate, Waiter, agent, idlers, turns

LAYERS = 10
KB = 1024


class WaitingPlain(PlainFloor):
    """Its model answers once the gate is open."""

    gate: Gate

    async def _model(self, ctx: dict[str, Any]) -> dict[str, Any]:
        await self.gate.passed()
        return {"role": "assistant", "text": "done", "calls": ()}


class WaitingExpress(ExpressFloor):
    """Its model answers once the gate is open."""

    gate: Gate

    async def _stream(self, ctx: ModelContext) -> AsyncIterator[str | End]:
        await self.gate.passed()
        yield End(Message("assistant", ("done",)), 10)


async def measure(effort: Effort) -> list[Row]:
    """The rows of a session that waits for its model, and of a streaming hook in it."""
    sessions = effort.sessions
    plain, express = WaitingPlain(LAYERS), WaitingExpress(LAYERS)
    plain.gate, express.gate = Gate(), Gate()
    model: Sequence[Level] = ["model"]
    ours = await _of_agent(idlers(LAYERS, LEVELS), sessions)
    streaming = await _of_agent(idlers(LAYERS, model, streaming=True), sessions)
    awaiting = await _of_agent(idlers(LAYERS, model), sessions)
    return [
        Row(
            "session-memory",
            f"a session in the middle of a turn, {LAYERS} middleware with all hooks",
            "KB",
            ours,
            Limit(32),
            await _held(plain.run, plain.gate, sessions),
            await _held(express.run, express.gate, sessions),
        ),
        Row(
            "streaming-hook-memory",
            "what a hook that yields holds more than one that awaits",
            "KB",
            (streaming - awaiting) / LAYERS,
            Limit(4),
        ),
    ]


async def _of_agent(use: list[Any], sessions: int) -> float:
    gate = Gate()
    async with agent(*use, model=Waiter(gate)) as waiting:
        return await _held(turns(waiting), gate, sessions)


async def _held(work: Work, gate: Gate, sessions: int) -> float:
    """KB that each of *sessions* turns holds while its model is being waited for."""
    await _run(work, gate, 1)  # fills caches
    gc.collect()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        running = await _waiting(work, gate, sessions)
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    await _let_go(running, gate)
    return (after - before) / sessions / KB


async def _run(work: Work, gate: Gate, sessions: int) -> None:
    await _let_go(await _waiting(work, gate, sessions), gate)


async def _waiting(work: Work, gate: Gate, sessions: int) -> list[asyncio.Task[object]]:
    gate.close()
    running = [asyncio.create_task(_turn(work)) for _ in range(sessions)]
    await gate.reached(sessions)
    return running


async def _turn(work: Work) -> object:
    return await work()


async def _let_go(running: list[asyncio.Task[object]], gate: Gate) -> None:
    gate.open()
    await asyncio.gather(*running)


GROUP = Group(("session-memory", "streaming-hook-memory"), measure)
