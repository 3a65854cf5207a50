"""A batch of tool calls: side by side where their tools allow it, each with its result."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from typing import Any

from .contexts import SessionRecord, TurnRecord
from .errors import Signal
from .layers import note_cancelled
from .messages import ToolCall
from .stream import Channel, settle
from .tool_call import run_call
from .tools import Tool


async def run_batch(turn: TurnRecord, step: int, out: Channel | None) -> None:
    """Run the calls of the last response that have no result yet, in parallel where their tools allow it."""
    log = turn.session.log
    batch = log.batch
    if len(batch) == 1:
        await run_call(turn, batch[0], 0, step, None, out)
        return
    waiting = {call.id for call in log.open_calls}
    todo = [(index, call) for index, call in enumerate(batch) if call.id in waiting]
    limit = turn.limits.max_batch
    refused = f"not run: {len(batch)} calls at once, the limit is {limit}; make fewer" if len(batch) > limit else None
    if len(todo) == 1:
        index, call = todo[0]
        await run_call(turn, call, index, step, refused, out)
        return
    for group in _groups(turn.session, todo):
        if len(group) == 1:
            await run_call(turn, group[0][1], group[0][0], step, refused, out)
        else:
            await _side_by_side(turn, group, step, refused, out)


def _groups(session: SessionRecord, todo: Sequence[tuple[int, ToolCall]]) -> list[list[tuple[int, ToolCall]]]:
    """Cut a batch where a call must run alone; order stays."""
    groups: list[list[tuple[int, ToolCall]]] = [[]]
    for index, call in todo:
        tool = session.tools.get(call.name)
        if isinstance(tool, Tool) and not tool.flags.concurrent:
            groups += [[(index, call)], []]
        else:
            groups[-1].append((index, call))
    return [group for group in groups if group]


async def _side_by_side(
    turn: TurnRecord, group: list[tuple[int, ToolCall]], step: int, refused: str | None, out: Channel | None
) -> None:
    limit = turn.limits.max_parallel_tools
    room = asyncio.Semaphore(limit) if len(group) > limit else None
    loop = asyncio.get_running_loop()
    tasks: list[asyncio.Task[None]] = []
    for index, call in group:
        work = run_call if room is None else _in_room(room)
        tasks.append(loop.create_task(work(turn, call, index, step, refused, out)))
    # No TaskGroup: before Python 3.13 one that fails leaves its task counted as cancelled.
    try:
        _, waiting = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        if waiting:
            turn.unwinding += 1
            await _cancel_all(waiting)
            turn.unwinding -= 1
    except asyncio.CancelledError:
        note_cancelled(turn)
        turn.unwinding += 1
        await _cancel_all(tasks)
        raise
    _raise_first(tasks)


def _in_room(room: asyncio.Semaphore) -> Callable[..., Coroutine[Any, Any, None]]:
    async def run(*args: Any) -> None:
        async with room:
            await run_call(*args)

    return run


async def _cancel_all(tasks: Iterable[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    for task in tasks:
        await settle(task)
        if not task.cancelled():
            task.exception()  # seen: what cancelled them is what counts


def _raise_first(tasks: Sequence[asyncio.Task[None]]) -> None:
    """Raise what ended the batch: control flow first, then the first failure."""
    failures = [error for task in tasks if not task.cancelled() and (error := task.exception()) is not None]
    if failures:
        raise next((error for error in failures if isinstance(error, Signal)), failures[0])
    if any(task.cancelled() for task in tasks):
        raise asyncio.CancelledError
