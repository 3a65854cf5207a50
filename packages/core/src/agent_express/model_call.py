"""One model call: the core of the model onion."""

from __future__ import annotations

from asyncio import CancelledError, Task, current_task
from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

from .contexts import ModelContext, without
from .errors import (
    ProviderUnavailableError,
    WrongResultError,
    repeated,
)
from .events import (
    End,
    Event,
    ModelCalled,
    TextDelta,
)
from .layers import is_cancelled, note_cancelled
from .log import digest_of
from .messages import (
    DEFAULT_SETTINGS,
    ModelRequest,
    ModelResponse,
    Section,
    ToolDef,
)
from .stream import Channel, sink


async def model_core(ctx: ModelContext) -> ModelResponse:
    """Call the model of the request and hand its deltas on."""
    turn = ctx._turn
    if turn.signal is not None:
        raise repeated(turn.signal)
    task: Task[Any] = current_task()  # type: ignore[assignment]
    if is_cancelled(turn, task):
        raise CancelledError  # a hook swallowed it
    cancels = task.cancelling()
    request, skip, transforms, removed = ctx._base
    if removed:
        request = without(request, removed)
    if skip is not None:
        ctx._answered("")
        answer: ModelResponse = skip
        return answer
    if transforms:
        request = _transformed(request, transforms)
    if not ctx._purpose:
        turn.offered = request.tools
    session = turn.session
    called = ModelCalled(
        ctx._index, request.model.name, digests(ctx, request), ctx._next_attempt(), ctx._purpose, ctx._by
    )
    session.log.append(called)
    out = sink.get()
    if out is not None:
        await out.send(called)
    turn.usage.count_attempt()
    turn.busy.add(task)
    try:
        response = await _stream(ctx, request, out)
    except Exception:
        turn.usage.count_failure()
        raise
    except CancelledError as error:
        if task.cancelling() > cancels:
            note_cancelled(turn)
            raise
        turn.usage.count_failure()
        raise ProviderUnavailableError(
            f"{request.model.name} raised CancelledError, and nobody cancelled it"
        ) from error
    finally:
        turn.busy.discard(task)
    turn.usage.add(response.usage)
    return response


async def _stream(ctx: ModelContext, request: ModelRequest, out: Channel | None) -> ModelResponse:
    turn, model = ctx._turn, request.model
    partial = turn.partial if turn.chains.core_is_rim and not ctx._purpose else None
    if not ctx._purpose:
        turn.partial.clear()
    runtime: Any = ctx._runtime
    if id(model) not in runtime.ready_models:
        await runtime.prepare_model(model)
    if turn.signal is not None:  # it came while a slow client or the model's init was waited for
        raise repeated(turn.signal)
    events: Any = model.stream(request)  # type: ignore[attr-defined]
    try:
        async for event in events:
            if type(event) is End:
                end: End[Any] = event
                if not isinstance(end.result, ModelResponse):
                    raise WrongResultError(f"{model.name}: End holds {end.result!r}, expected a ModelResponse")
                return end.result
            if turn.signal is not None:
                raise repeated(turn.signal)
            if type(event) is TextDelta:
                if partial is not None:
                    partial.append(event.text)
            elif not isinstance(event, Event):
                raise WrongResultError(f"{model.name} yielded a {type(event).__name__}, expected an event or End")
            if out is not None:
                await out.send(event)
    finally:
        close = getattr(events, "aclose", None)
        if close is not None:
            await close()
    raise ProviderUnavailableError(f"{model.name}: the stream ended without End")


def _transformed(request: ModelRequest, transforms: Sequence[Any]) -> ModelRequest:
    text = request.system_text
    for rewrite in transforms:
        text = rewrite(text)
    return request.replace(system=(Section("system", text),))


def digests(ctx: ModelContext, request: ModelRequest) -> dict[str, str]:
    """Short hashes of what is sent: messages, tools, settings, each system section."""
    as_is = request.messages is ctx._turn.assembled
    digest = ctx._session.log.digest() if as_is else digest_of(request.messages)
    found = {"messages": digest, **_of_frame(request.system, request.tools)}
    if request.settings is not DEFAULT_SETTINGS:
        found["settings"] = _short(repr(request.settings))
    return found


def _short(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


_frames: dict[tuple[int, int], tuple[tuple[Section, ...], tuple[ToolDef, ...], dict[str, str]]] = {}


def _of_frame(system: tuple[Section, ...], tools: tuple[ToolDef, ...]) -> dict[str, str]:
    """The digests of system prompt and tools, which most calls share: remembered by the identity of both tuples."""
    key = (id(system), id(tools))
    held = _frames.get(key)
    if held is not None and held[0] is system and held[1] is tools:
        return held[2]
    if len(_frames) > 256:
        _frames.clear()
    digests = {f"system:{section.key}": _short(section.text) for section in system}
    if tools:
        digests["tools"] = _short(repr(tools))
    _frames[key] = (system, tools, digests)  # held, so that their ids stay their own
    return digests
