"""One turn, from the log: model -> tools -> model -> answer.

The core of the turn onion continues from what the log says, so a first run, a repeat by a turn hook and a continuation
are one path, and recorded steps are not repeated.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Generic, cast

from typing_extensions import TypeVar

from .calls import answer_open_calls, normalised, run_batch, tool_core
from .contexts import (
    ModelContext,
    SessionRecord,
    TurnContext,
    TurnRecord,
    TurnUsage,
    from_middleware,
    log_continuation,
)
from .errors import (
    Aborted,
    ProviderUnavailableError,
    StateError,
    TurnAbortedError,
    TurnError,
    TurnTimeoutError,
    WrongResultError,
)
from .events import (
    End,
    Event,
    MessageInterrupted,
    ModelCalled,
    ModelResponded,
    Restarted,
    StateChanged,
    TextDelta,
    TurnEnded,
    TurnStarted,
    TurnStatus,
    UserSaid,
)
from .log import chain as chain_digest
from .messages import (
    Limits,
    Message,
    ModelRequest,
    ModelResponse,
    Named,
    OutputSchema,
    Section,
    Settings,
    Text,
    ToolDef,
    ToolResult,
)
from .middleware import Entry
from .models import Model
from .onion import Layer, Observer, compose, leaf, still_cancelled, streams
from .outputs import Output
from .stream import Channel, sink
from .tools import Tool

T = TypeVar("T", default=str)


@dataclass(slots=True)
class Answer(Generic[T]):
    """What a turn gave.

    Attributes:
        message: The answer.
        output: The answer as the output type that was asked for; its text without one.
        status: "completed", or "limit" where a limit forced the answer.
        limit: Which limit, as its name in `Limits`.
        usage: What the turn used.
        events: What the turn logged.
        session_id: The conversation.
        turn_id: The turn.
    """

    message: Message
    output: T
    status: TurnStatus
    limit: str | None
    usage: TurnUsage
    events: tuple[Event, ...]
    session_id: str
    turn_id: str

    @property
    def text(self) -> str:
        """The answer's text."""
        return self.message.text

    def __str__(self) -> str:
        return self.message.text


@dataclass(slots=True)
class TurnOptions:
    """What one turn is run with."""

    input: Message
    entries: Sequence[Entry] = ()
    output: Output | None = None
    model: Named | None = None
    settings: Settings | None = None
    limits: Limits | None = None
    metadata: Mapping[str, Any] | None = None


class Chains:
    """The onions of a stack: composed once, when the agent opens."""

    __slots__ = ("_by_tool", "asks", "core_is_rim", "entries", "model", "observer", "tool", "turn")

    def __init__(self, entries: Sequence[Entry], observer: Observer | None = None) -> None:
        self.entries, self.observer = tuple(entries), observer
        self.turn = compose("turn", hooks_of(entries, "turn"), turn_core, None, observer)
        self.model = compose("model", hooks_of(entries, "model"), model_core, ModelResponse, observer)
        self.tool = compose("tool", hooks_of(entries, "tool"), tool_core, ToolResult, observer)
        self.core_is_rim = not streams(self.model)
        self._by_tool: dict[int, Layer] = {}
        self.asks: dict[frozenset[str], Layer] = {}

    def for_tool(self, tool: Tool | None) -> Layer:
        """The onion around *tool*: the agent's hooks, and inside of them its own."""
        if tool is None or not tool.use:
            return self.tool
        found = self._by_tool.get(id(tool))
        if found is None:
            entries = [*self.entries, *tool_entries(tool)]
            found = compose("tool", hooks_of(entries, "tool"), tool_core, ToolResult, self.observer)
            self._by_tool[id(tool)] = found
        return found


def hooks_of(entries: Sequence[Entry], hook: str) -> list[tuple[str, Any]]:
    """Names and hooks of those that have *hook*, outermost first."""
    return [(entry.name, entry.hooks[hook]) for entry in entries if hook in entry.hooks]


def tool_entries(tool: Tool) -> list[Entry]:
    """The middleware around one tool, checked when the tool was registered."""
    return cast(list[Entry], [each for each in tool.use if isinstance(each, Entry)])


# --- one turn -----------------------------------------------------------------------------------


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
    layout = session.state.begin_turn(_extra_state(options.entries))
    stack = tuple([entry.name for entry in chains.entries])
    started = TurnStarted(turn.id, turn.index, stack, options.metadata)
    log.append(started)
    status: TurnStatus = "failed"
    reason: str | None = None
    by: str | None = None
    try:
        if out is not None:
            await out.send(started)
        await _within_time(turn, chains, TurnContext(turn))
        if turn.signal is not None:
            raise turn.signal
        _raise_if_over(turn)
        value = _value(turn)
        status = "limit" if turn.limit is not None else "completed"
    except asyncio.CancelledError:
        if turn.killed is not None and turn.task is not None and turn.task.uncancel() <= turn.base_cancels:
            reason = str(turn.killed)
            raise turn.killed from turn.killed.__cause__
        status = "cancelled"
        raise
    except TurnTimeoutError as error:
        status, reason = "timeout", str(error)
        raise
    except BaseException as error:
        found = leaf(error)
        if turn.killed is not None:
            reason = str(turn.killed)
            raise turn.killed from error
        if turn.signal is not None and not isinstance(found, asyncio.CancelledError):
            found = turn.signal
        if isinstance(found, Aborted):
            status, reason, by = "aborted", found.reason, found.by or "core"
            raise TurnAbortedError(found.reason, by) from found.__cause__
        reason = f"{type(found).__name__}: {found}"
        if isinstance(found, Exception):
            found.add_note(f"in turn {turn.index} of session {session.id}")
        if found is not error:
            raise found from found.__cause__
        raise
    finally:
        ended = _end(turn, status, reason, by, layout)
        if out is not None:
            out.put(ended)
    message = turn.delivered or cast(Message, turn.output)
    events = tuple(log._entries[first:])
    return Answer(
        message, message.text if value is _TEXT else value, status, turn.limit, turn.usage, events, session.id, turn.id
    )


_TEXT: Any = object()


def _begin(session: SessionRecord, options: TurnOptions, chains: Chains) -> TurnRecord:
    runtime = session.runtime
    info = cast(Any, runtime.info)
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
        options.settings or _SETTINGS,
        options.output,
        options.metadata,
    )
    turn.task, turn.base_cancels = task, task.cancelling() if task is not None else 0
    session.turn = turn
    session.turns += 1
    return turn


_SETTINGS = Settings()


def _extra_state(entries: Sequence[Entry]) -> list[Any]:
    return [entry.owner for entry in entries if entry.owner is not None] if entries else []


async def _within_time(turn: TurnRecord, chains: Chains, ctx: TurnContext) -> None:
    limit = turn.limits.timeout
    if limit is None:
        await chains.turn(ctx)
        return
    try:
        async with asyncio.timeout(limit) as clock:
            await chains.turn(ctx)
    except TimeoutError as error:
        if clock.expired():
            raise TurnTimeoutError(
                f"turn {turn.index} of session {turn.session.id} took longer than {limit:g} seconds"
            ) from error
        raise


def _raise_if_over(turn: TurnRecord) -> None:
    """Raise what a hook may have swallowed."""
    task = turn.task
    if task is not None and task.cancelling() > turn.base_cancels:
        raise asyncio.CancelledError
    if turn.killed is not None:
        raise turn.killed
    if turn.output is None:
        raise TurnError("the turn ended without an answer: a hook set ctx.output to None after the loop")


def _value(turn: TurnRecord) -> Any:
    output: Output | None = turn.output_type
    if output is None:
        return _TEXT
    if turn.value is None or turn.value[0] is not turn.output:
        turn.value = (turn.output, output.parse(cast(Message, turn.output)))
    return turn.value[1]


def _end(turn: TurnRecord, status: TurnStatus, reason: str | None, by: str | None, layout: Any) -> TurnEnded:
    """Close the turn in the log and in the state; awaits nothing, so it also runs while a task is being cancelled."""
    session = turn.session
    log = session.log
    completed = status in ("completed", "limit")
    answer_open_calls(turn, turn.steps - 1, status)
    if completed and not turn.said:
        turn.said = True
        log.append(UserSaid(turn.input))
    if status in ("cancelled", "timeout") and turn.partial:
        log.append(MessageInterrupted(Message("assistant", "".join(turn.partial), mark="interrupted")))
    try:
        record_state(session)
    except StateError as error:
        reason = reason or str(error)
    session.state.end_turn(layout)
    record = turn.output if completed and turn.output is not _last_said(turn) else None
    ended = TurnEnded(turn.id, status, reason, by, record)
    log.append(ended)
    turn.status = status
    turn.looping = False
    session.turn = None
    if session.wake_deferred is not None and session.deferred:
        session.wake_deferred()
    return ended


def _last_said(turn: TurnRecord) -> Message | None:
    """What the history ends with, where it is this turn's answer."""
    history = turn.session.log._history
    if history and history[-1] == turn.output and history[-1].role == "assistant" and turn.final is not None:
        turn.output = history[-1]
        return history[-1]
    return None


def record_state(session: SessionRecord) -> None:
    """Log what the step changed in the state.

    Raises:
        StateError: A value changed in place does not validate.
    """
    changes = session.state.take_changes()
    if changes is not None:
        session.log.append(StateChanged(*changes))


# --- the loop: the core of the turn onion -------------------------------------------------------


async def turn_core(ctx: TurnContext) -> None:
    """Say the user's message if this turn has not, settle open calls, and go on until there is an answer."""
    turn = ctx._turn
    if turn.signal is not None:
        raise turn.signal
    log, out = turn.session.log, sink.get()
    if not turn.said:
        turn.said = True
        said = UserSaid(turn.input)
        log.append(said)
        if out is not None:
            await out.send(said)
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
    turn.steps = index + 1
    mc = ModelContext(turn, _request(turn, index), index)
    response: ModelResponse = await turn.chains.model(mc)
    if turn.signal is not None:
        raise turn.signal
    if still_cancelled(ctx):
        raise asyncio.CancelledError
    if response.message.tool_calls:
        response = normalised(response)
    turn.partial.clear()
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
    if turn.next_message is not None:
        return await _continue(turn, ctx)
    if response.message.tool_calls and turn.limit is None:
        return True
    return await _finish(turn, ctx, response)


def _request(turn: TurnRecord, index: int) -> ModelRequest:
    session = turn.session
    runtime = cast(Any, session.runtime)
    settings = turn.settings
    tools: tuple[ToolDef, ...] = runtime.definitions(session)
    if index + 1 == turn.limits.max_steps and tools:
        settings = settings.replace(tool_choice="none")
        turn.limit = "max_steps"
    output: Output | None = turn.output_type
    schema: OutputSchema | None = output.schema if output is not None else None
    system: tuple[Section, ...] = runtime.system
    return ModelRequest(turn.model, session.log.messages, system, tools, settings, schema)


async def _settle(turn: TurnRecord, out: Channel | None) -> None:
    await run_batch(turn, turn.steps - 1, out)
    if turn.signal is not None:
        raise turn.signal
    record_state(turn.session)


def _refuse_all(turn: TurnRecord) -> None:
    answer_open_calls(turn, turn.steps - 1, f"at its limit of {turn.limits.max_steps} steps")


async def _continue(turn: TurnRecord, ctx: TurnContext) -> bool:
    by, message = cast(Any, turn.next_message)
    turn.next_message = None
    await continue_with(turn, ctx, by, message)
    return True


async def continue_with(turn: TurnRecord, ctx: TurnContext, by: str, message: Message) -> None:
    """Send the model back to work, visibly."""
    log_continuation(turn, by, message)
    await ctx.emit(Restarted(by, turn.continuations + 1, "turn"))


async def _finish(turn: TurnRecord, ctx: TurnContext, response: ModelResponse) -> bool:
    """Take the answer, unless it has not the form that was asked for."""
    message = response.message
    output: Output | None = turn.output_type
    if output is not None:
        value, complaint = output.check(message)
        if complaint is not None and turn.output_retries < turn.limits.max_output_retries and turn.limit is None:
            turn.output_retries += 1
            await continue_with(turn, ctx, "output", from_middleware(complaint, "output"))
            return True
        if complaint is None:
            turn.value = (message, value)
    if turn.limit is not None and not message.text:
        message = Message("assistant", f"Stopped after {turn.limits.max_steps} steps without an answer.", origin="core")
    elif message.tool_calls:
        message = message.replace(parts=tuple([part for part in message.parts if type(part) is Text]))
    turn.final = turn.output = message
    return False


# --- one model call: the core of the model onion ------------------------------------------------


async def model_core(ctx: ModelContext) -> ModelResponse:
    """Call the model of the request and hand its deltas on."""
    turn = ctx._turn
    if turn.signal is not None:
        raise turn.signal
    request, skip, transforms = ctx._base
    if skip is not None:
        ctx._answered("")
        return cast(ModelResponse, skip)
    if transforms:
        request = _transformed(request, transforms)
    session = turn.session
    ctx._attempts += 1
    called = ModelCalled(ctx._index, request.model.name, digests(ctx, request), ctx._attempts, ctx._purpose, ctx._by)
    session.log.append(called)
    out = sink.get()
    if out is not None:
        await out.send(called)
    turn.usage.count("attempts")
    try:
        response = await _stream(ctx, request, out)
    except Exception:
        turn.usage.count("failures")
        raise
    turn.usage.add(response.usage)
    if not ctx._purpose:
        turn.offered = request.tools
    return response


async def _stream(ctx: ModelContext, request: ModelRequest, out: Channel | None) -> ModelResponse:
    turn, model = ctx._turn, cast(Model, request.model)
    partial = turn.partial if turn.chains.core_is_rim and not ctx._purpose else None
    if not ctx._purpose:
        turn.partial.clear()
    runtime = cast(Any, ctx._runtime)
    if id(model) not in runtime.ready_models:
        await runtime.prepare_model(model)
    events = cast(Any, model.stream(request))
    try:
        async for event in events:
            if type(event) is End:
                if not isinstance(event.result, ModelResponse):
                    raise WrongResultError(f"{model.name}: End holds {event.result!r}, expected a ModelResponse")
                return event.result
            if turn.signal is not None:
                raise turn.signal
            if partial is not None and type(event) is TextDelta:
                partial.append(event.text)
            if out is not None:
                await out.send(event)
    finally:
        await events.aclose()
    raise ProviderUnavailableError(f"{model.name}: the stream ended without End")


def _transformed(request: ModelRequest, transforms: Sequence[Any]) -> ModelRequest:
    text = request.system_text
    for rewrite in transforms:
        text = rewrite(text)
    return request.replace(system=(Section("system", text),))


def digests(ctx: ModelContext, request: ModelRequest) -> dict[str, str]:
    """Short hashes of what is sent: messages, tools, settings, each system section."""
    log = ctx._session.log
    messages = request.messages
    history = log._history
    if len(messages) == len(history) and all(map(_is, messages, history)):
        digest = log.digest()
    else:
        digest = ""
        for message in messages:
            digest = chain_digest(digest, message)
    found = {"messages": digest}
    for section in request.system:
        found[f"system:{section.key}"] = _short(section.text)
    if request.tools:
        found["tools"] = _remembered(request.tools)
    if request.settings is not _SETTINGS:
        found["settings"] = _short(repr(request.settings))
    return found


def _is(a: object, b: object) -> bool:
    return a is b


def _short(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


_tool_digests: dict[int, tuple[tuple[ToolDef, ...], str]] = {}


def _remembered(tools: tuple[ToolDef, ...]) -> str:
    held = _tool_digests.get(id(tools))
    if held is not None and held[0] is tools:
        return held[1]
    if len(_tool_digests) > 256:
        _tool_digests.clear()
    digest = _short(repr(tools))
    _tool_digests[id(tools)] = (tools, digest)
    return digest
