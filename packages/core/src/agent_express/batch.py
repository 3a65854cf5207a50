"""A batch of tool calls: side by side where their tools allow it, each with its result."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence

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
    """Run calls at once; the first that fails ends the others.

    No TaskGroup: before Python 3.13 one that fails leaves its task counted as cancelled. No `asyncio.wait`: a callback
    per task costs more than counting.
    """
    loop = asyncio.get_running_loop()
    limit = turn.limits.max_parallel_tools
    room = asyncio.Semaphore(limit) if len(group) > limit else None
    over: asyncio.Future[None] = loop.create_future()
    failures: list[BaseException] = []
    left = len(group)

    async def run(call: ToolCall, index: int) -> None:
        nonlocal left
        try:
            if room is None:
                await run_call(turn, call, index, step, refused, out)
            else:
                async with room:
                    await run_call(turn, call, index, step, refused, out)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            failures.append(error)
        finally:
            left -= 1
            if (failures or left == 0) and not over.done():
                over.set_result(None)

    tasks = [loop.create_task(run(call, index)) for index, call in group]
    try:
        await over
    except asyncio.CancelledError:
        note_cancelled(turn)
        await _end_all(turn, tasks)
        raise
    if left:
        await _end_all(turn, tasks)
    if failures:
        raise next((error for error in failures if isinstance(error, Signal)), failures[0])


async def _end_all(turn: TurnRecord, tasks: Iterable[asyncio.Task[None]]) -> None:
    """Cancel what still runs and wait for it."""
    turn.unwinding += 1
    interrupted: asyncio.CancelledError | None = None
    for task in tasks:
        task.cancel()
    for task in tasks:
        try:
            await settle(task)
        except asyncio.CancelledError as error:
            interrupted = error  # once more: the others are waited for all the same
    turn.unwinding -= 1
    if interrupted is not None:
        raise interrupted
