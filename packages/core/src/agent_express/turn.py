"""One turn, from its start to its end: within its time, in its onion, and closed in the log on every exit."""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .answer import Answer
from .chains import Chains
from .contexts import (
    AgentInfo,
    SessionRecord,
    TurnContext,
    TurnRecord,
    TurnUsage,
    say_input,
)
from .errors import (
    Aborted,
    StateError,
    TurnAbortedError,
    TurnError,
    TurnTimeoutError,
)
from .events import (
    MessageInterrupted,
    TurnEnded,
    TurnStarted,
    TurnStatus,
)
from .layers import is_cancelled, leaf
from .loop import record_state
from .messages import (
    DEFAULT_SETTINGS,
    Limits,
    Message,
    Named,
    Settings,
)
from .middleware import Entry
from .outputs import Output
from .stream import settle, sink, tell
from .texts import clean
from .tool_call import answer_open_calls


@dataclass(slots=True)
class TurnOptions:
    """What one turn is run with."""

    input: Message
    earlier: Sequence[Message] = ()
    entries: Sequence[Entry] = ()
    output: Output | None = None
    model: Named | None = None
    settings: Settings | None = None
    limits: Limits | None = None
    metadata: Mapping[str, Any] | None = None


async def run_turn(session: SessionRecord, options: TurnOptions, chains: Chains) -> Answer[Any]:
    """Run one turn; the session's lock is held.

    Raises:
        TurnAbortedError: A middleware stopped it.
        TurnTimeoutError: Its time limit has passed.
        OutputError: No answer matched the output type.
        SessionClosedError: The session ended meanwhile.
        Exception: What a middleware or the model raised, with a note of where.
    """
    turn = _begin(session, options, chains)
    log, out = session.log, sink.get()
    first = len(log)
    turn.out = out
    layout = session.state.begin_turn(_extra_state(options.entries))
    started = TurnStarted(turn.id, turn.index, chains.names, options.metadata)
    log.append(started)
    end = _End("failed")
    try:
        if out is not None:
            await out.send(started)
        await _within_time(turn, chains, TurnContext(turn))
        value, end = _finished(turn)
    except BaseException as error:
        end, raised = _ended_by(turn, error)
        if raised is error:
            raise
        raise raised from raised.__cause__
    finally:
        ended = _close(turn, end, layout)
        if out is not None:
            out.put(ended)
        if turn.busy:
            await _stop(turn.busy)
    message: Message = turn.delivered or turn.output  # type: ignore[assignment]
    events = tuple(log._entries[first:])
    return Answer(message, value, end.status, turn.limit, turn.usage, events, session.id, turn.id)


@dataclass(slots=True)
class _End:
    """How a turn ended, as its last entry says it."""

    status: TurnStatus
    reason: str | None = None
    by: str | None = None


def _finished(turn: TurnRecord) -> tuple[Any, _End]:
    """The output of a turn whose onion has been left, and its end; what a hook may have swallowed is raised."""
    if turn.signal is not None:
        raise turn.signal
    if is_cancelled(turn, turn.task):
        raise asyncio.CancelledError
    if turn.killed is not None:
        raise turn.killed
    if turn.output is None:
        raise TurnError("the turn ended without an answer: a hook set ctx.output to None after the loop")
    value = _value(turn)
    record_state(turn.session)
    if turn.limit is not None:
        return value, _End("limit", f"{turn.limit}={getattr(turn.limits, turn.limit)}")
    return value, _End("completed")


def _ended_by(turn: TurnRecord, error: BaseException) -> tuple[_End, BaseException]:
    """How a turn ends that *error* left, and what its caller gets."""
    found = leaf(error)
    cancelled = isinstance(found, asyncio.CancelledError)
    if turn.killed is not None and (_forgiven(turn) or not cancelled):
        return _End("failed", str(turn.killed)), turn.killed
    if cancelled:
        return _End("cancelled"), found
    if isinstance(found, TurnTimeoutError):
        return _End("timeout", str(found)), found
    stopped = turn.signal or found
    if isinstance(stopped, Aborted):
        by = stopped.by or "core"
        return _End("aborted", stopped.reason, by), TurnAbortedError(stopped.reason, by)
    if isinstance(found, Exception):
        found.add_note(f"in turn {turn.index} of session {turn.session.id}")
    return _End("failed", f"{type(found).__name__}: {found}"), found


def _forgiven(turn: TurnRecord) -> bool:
    """Take back the cancellation by which the session ended this turn; whether nobody else cancelled it too."""
    return turn.task is not None and turn.task.uncancel() <= turn.base_cancels


async def _stop(orphans: set[asyncio.Task[Any]]) -> None:
    """Cancel model and tool calls that a hook started and left behind, and wait for them."""
    for task in list(orphans - {asyncio.current_task()}):
        task.cancel()
        await settle(task)


_ENDINGS = {
    "aborted": "the turn was aborted",
    "cancelled": "the turn was cancelled",
    "failed": "the turn failed",
    "timeout": "the turn ran out of time",
}


def _begin(session: SessionRecord, options: TurnOptions, chains: Chains) -> TurnRecord:
    runtime = session.runtime
    info: AgentInfo = runtime.info  # type: ignore[assignment]
    task = asyncio.current_task()
    turn = TurnRecord(
        session,
        secrets.token_hex(8),
        session.turns,
        time.time(),
        options.input,
        options.limits or info.limits,
        TurnUsage(session.usage),
        chains,
        options.model or info.model,
        options.settings or DEFAULT_SETTINGS,
        options.output,
        options.metadata,
    )
    turn.earlier = tuple(options.earlier)
    turn.task, turn.base_cancels = task, task.cancelling() if task is not None else 0
    session.turn = turn
    session.turns += 1
    if session.enclosing is not None:
        turn.signal = session.enclosing.signal  # it may have been stopped while this agent opened
        session.enclosing.nested = [*(session.enclosing.nested or ()), turn]
    return turn


def _extra_state(entries: Sequence[Entry]) -> list[Any]:
    return [entry.owner for entry in entries if entry.owner is not None] if entries else []


async def _within_time(turn: TurnRecord, chains: Chains, ctx: TurnContext) -> None:
    limit = turn.limits.timeout
    work = chains.turn(ctx) if sink.get() is not None or not chains.any_streaming else _apart(turn, chains, ctx)
    if limit is None:
        await work
        return
    turn.clock = clock = asyncio.timeout(limit)
    failure: TimeoutError | None = None
    try:
        async with clock:
            await work
    except TimeoutError as error:
        if not clock.expired():
            raise
        failure = error
    if clock.expired():  # also where a hook has swallowed it
        why = f"turn {turn.index} of session {turn.session.id} took longer than {limit:g} seconds"
        raise TurnTimeoutError(why) from failure


async def _apart(turn: TurnRecord, chains: Chains, ctx: TurnContext) -> None:
    """Run the turn onion in a task of its own, as a stream does.

    A cancellation meets this frame before any hook, so that streaming hooks know it from a time-out of their own.
    """
    task = asyncio.get_running_loop().create_task(chains.turn(ctx))
    try:
        await asyncio.wait([task])
    except asyncio.CancelledError:
        turn.unwinding += 1
        task.cancel()
        await settle(task)
        if not task.cancelled():
            task.exception()  # seen: the cancellation is what counts
        raise
    task.result()


def _value(turn: TurnRecord) -> Any:
    """The answer as the output type that was asked for; its text without one."""
    output: Output | None = turn.output_type
    answer: Message = turn.output  # type: ignore[assignment]
    if output is None:
        return (turn.delivered or answer).text
    if turn.value is None or turn.value[0] is not answer:
        turn.value = (answer, output.parse(answer))
    if turn.delivered is not None:
        value, complaint = output.check(turn.delivered)
        if complaint is None:
            return value  # where what is delivered has not the form, it is for people, and the record's value stands
    return turn.value[1]


def _close(turn: TurnRecord, end: _End, layout: Any) -> TurnEnded:
    """Close the turn in the log and in the state; awaits nothing, so it also runs while a task is being cancelled."""
    session = turn.session
    log = session.log
    status, reason = end.status, end.reason
    completed = status in ("completed", "limit")
    answer_open_calls(turn, turn.steps - 1, _ENDINGS.get(status, "the turn ended"))
    if completed and not turn.said:
        say_input(turn)
    if status in ("cancelled", "timeout") and turn.partial:
        tell(log, MessageInterrupted(Message("assistant", clean("".join(turn.partial)), mark="interrupted")))
    try:
        record_state(session)
    except StateError as error:
        reason = reason or str(error)
    session.state.end_turn(layout)
    record = turn.output if completed and turn.output is not _last_said(turn) else None
    ended = TurnEnded(turn.id, status, clean(reason) if reason is not None else None, end.by, record)
    log.append(ended)
    turn.status = status
    if session.enclosing is not None:
        turn.signal = session.enclosing.signal  # it may have been stopped while this agent opened
        session.enclosing.nested = [each for each in session.enclosing.nested or () if each is not turn]
    turn.looping = False
    if turn.signal is None:
        turn.signal = Aborted("the turn is over")  # for what a hook left running behind
    session.turn = None
    turn.outcomes.clear()  # failures among them hold the frames they passed
    if session.wake_deferred is not None and session.deferred:
        session.wake_deferred()
    return ended


def _last_said(turn: TurnRecord) -> Message | None:
    """What the history ends with, where it is this turn's answer."""
    history = turn.session.log._history
    if turn.final is None or not history:
        return None
    last = history[-1]
    if last is turn.output or (last.role == "assistant" and last == turn.output):
        turn.output = last
        return last
    return None
