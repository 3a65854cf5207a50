"""The loop model -> tools -> model -> answer: the core of the turn onion.

It continues from what the log says, so a first run, a repeat by a turn hook and a continuation are one path, and
recorded steps are not repeated.
"""

from __future__ import annotations

import asyncio
from typing import Any

from .batch import run_batch
from .contexts import (
    ModelContext,
    SessionRecord,
    TurnContext,
    TurnRecord,
    from_middleware,
    log_continuation,
    say_input,
)
from .errors import (
    TurnError,
    WrongResultError,
    repeated,
)
from .events import (
    ModelResponded,
    Restarted,
    StateChanged,
    TurnContinued,
)
from .layers import is_cancelled
from .messages import (
    Message,
    ModelRequest,
    ModelResponse,
    OutputSchema,
    Section,
    Text,
    ToolDef,
)
from .normalise import normalised
from .outputs import Output
from .stream import Channel, sink, tell
from .tool_call import answer_open_calls


def record_state(session: SessionRecord) -> None:
    """Log what the step changed in the state.

    Raises:
        StateError: A value changed in place does not validate.
    """
    changes = session.state.take_changes()
    if changes is not None:
        tell(session.log, StateChanged(*changes))


async def turn_core(ctx: TurnContext) -> None:
    """Say the user's message if this turn has not, settle open calls, and go on until there is an answer."""
    turn = ctx._turn
    if turn.signal is not None:
        raise repeated(turn.signal)
    log, out = turn.session.log, sink.get()
    if not turn.said:
        say_input(turn)
    if turn.final is not None:
        turn.output = turn.final
        return
    turn.looping = True
    try:
        if log.batch:
            await _settle(turn, out)
        while await _step(turn, ctx, out):
            pass
    finally:
        turn.looping = False


async def _step(turn: TurnRecord, ctx: TurnContext, out: Channel | None) -> bool:
    """Call the model once and run the tools it asks for; whether the loop goes on."""
    session, log = turn.session, turn.session.log
    index = turn.steps
    if index >= turn.limits.max_steps:
        raise TurnError(f"no step left: the limit is max_steps={turn.limits.max_steps}")
    turn.offered = ()  # until a request goes out, or a hook answers for it, nothing is
    mc = ModelContext(turn, _request(turn, index), index)
    response: ModelResponse = await turn.chains.model(mc)
    if turn.signal is not None:
        raise repeated(turn.signal)
    _raise_if_cancelled(turn)
    if response.message.role != "assistant":
        raise WrongResultError(f'a model answers with role "assistant", got {response.message.role!r} at step {index}')
    response = normalised(response)
    calls = response.message.tool_calls
    turn.partial.clear()
    turn.steps, turn.attempts = index + 1, 0
    responded = ModelResponded(index, response)
    log.append(responded)
    if out is not None:
        await out.send(responded)
    if log.batch:
        if turn.limit is not None:
            _refuse_all(turn)
        else:
            await _settle(turn, out)
    else:
        record_state(session)
    if turn.next_messages and await _continue(turn, ctx):
        return True
    if calls and turn.limit is None:
        return True
    return await _finish(turn, ctx, response)


def _request(turn: TurnRecord, index: int) -> ModelRequest:
    session = turn.session
    runtime: Any = session.runtime
    settings = turn.settings
    tools: tuple[ToolDef, ...] = runtime.definitions(session)
    if index + 1 == turn.limits.max_steps and tools:
        settings = settings.replace(tool_choice="none")
        turn.limit = "max_steps"
    output: Output | None = turn.output_type
    schema: OutputSchema | None = output.schema if output is not None else None
    system: tuple[Section, ...] = runtime.system
    turn.assembled = messages = session.log.messages
    return ModelRequest(turn.model, messages, system, tools, settings, schema)


def _raise_if_cancelled(turn: TurnRecord) -> None:
    """Raise a cancellation of the turn that a hook has swallowed."""
    if is_cancelled(turn, turn.task):
        raise asyncio.CancelledError


async def _settle(turn: TurnRecord, out: Channel | None) -> None:
    await run_batch(turn, turn.steps - 1, out)
    if turn.signal is not None:
        raise repeated(turn.signal)
    _raise_if_cancelled(turn)
    record_state(turn.session)


def _refuse_all(turn: TurnRecord) -> None:
    answer_open_calls(turn, turn.steps - 1, f"the turn is at its limit of {turn.limits.max_steps} steps")


async def _continue(turn: TurnRecord, ctx: TurnContext) -> bool:
    """Say what hooks want the model to be told; False where no step is left for it."""
    messages, turn.next_messages = turn.next_messages or [], None
    for by, message in messages:
        log_continuation(turn, by, message)
    if turn.limit is not None:
        return False
    await ctx._post(Restarted(messages[0][0], turn.continuations + 1, "turn"))
    return True


def _may_answer_again(turn: TurnRecord) -> bool:
    limits = turn.limits
    return turn.output_retries < limits.max_output_retries and turn.steps < limits.max_steps


async def _finish(turn: TurnRecord, ctx: TurnContext, response: ModelResponse) -> bool:
    """Take the answer, unless it has not the form that was asked for."""
    message = response.message
    output: Output | None = turn.output_type
    if output is not None:
        value, complaint = output.check(message)
        if complaint is not None and _may_answer_again(turn):
            turn.output_retries += 1
            told = from_middleware(complaint, "output")
            tell(turn.session.log, TurnContinued("output", turn.output_retries, told))
            await ctx._post(Restarted("output", turn.output_retries + 1, "turn"))
            return True
        if complaint is None:
            turn.value = (message, value)
    if turn.limit is not None and not message.text:
        message = Message("assistant", f"Stopped after {turn.limits.max_steps} steps without an answer.", origin="core")
    elif message.tool_calls:
        message = message.replace(parts=tuple([part for part in message.parts if type(part) is Text]))
    turn.final = turn.output = message
    return False
