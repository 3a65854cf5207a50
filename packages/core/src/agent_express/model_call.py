"""One model call: the core of the model onion."""

from __future__ import annotations

from asyncio import CancelledError, Task, current_task
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any, TypeVar

from .contexts import (
    ModelContext,
)
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
from .log import chain as chain_digest
from .messages import (
    DEFAULT_SETTINGS,
    ModelRequest,
    ModelResponse,
    Section,
    ToolDef,
)
from .onion import still_cancelled
from .stream import Channel, sink

T = TypeVar("T")


async def model_core(ctx: ModelContext) -> ModelResponse:
    """Call the model of the request and hand its deltas on."""
    turn = ctx._turn
    if turn.signal is not None:
        raise repeated(turn.signal)
    task: Task[Any] = current_task()  # type: ignore[assignment]
    if task.cancelling() > (turn.base_cancels if task is turn.task else 0):
        raise CancelledError  # a hook swallowed it
    request, skip, transforms = ctx._base
    if skip is not None:
        ctx._answered("")
        answer: ModelResponse = skip
        return answer
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
    turn.busy.add(task)
    try:
        response = await _stream(ctx, request, out)
    except Exception:
        turn.usage.count("failures")
        raise
    except CancelledError as error:
        if still_cancelled(ctx):
            raise
        turn.usage.count("failures")
        raise ProviderUnavailableError(
            f"{request.model.name} raised CancelledError, and nobody cancelled it"
        ) from error
    finally:
        turn.busy.discard(task)
    turn.usage.add(response.usage)
    if not ctx._purpose:
        turn.offered = request.tools
    return response


async def _stream(ctx: ModelContext, request: ModelRequest, out: Channel | None) -> ModelResponse:
    turn, model = ctx._turn, request.model
    partial = turn.partial if turn.chains.core_is_rim and not ctx._purpose else None
    if not ctx._purpose:
        turn.partial.clear()
    runtime: Any = ctx._runtime
    if id(model) not in runtime.ready_models:
        await runtime.prepare_model(model)
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
    if request.messages is ctx._turn.assembled:
        digest = ctx._session.log.digest()
    else:
        digest = ""
        for message in request.messages:
            digest = chain_digest(digest, message)
    found = {"messages": digest}
    if request.system:
        found |= _remembered(request.system, _of_sections)
    if request.tools:
        found |= _remembered(request.tools, _of_tools)
    if request.settings is not DEFAULT_SETTINGS:
        found["settings"] = _short(repr(request.settings))
    return found


def _short(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def _of_sections(sections: tuple[Section, ...]) -> dict[str, str]:
    return {f"system:{section.key}": _short(section.text) for section in sections}


def _of_tools(tools: tuple[ToolDef, ...]) -> dict[str, str]:
    return {"tools": _short(repr(tools))}


_seen: dict[int, tuple[Any, dict[str, str]]] = {}


def _remembered(value: T, compute: Callable[[T], dict[str, str]]) -> dict[str, str]:
    """The digests of a tuple that most calls share, by its identity; it is held, so that its id stays its own."""
    held = _seen.get(id(value))
    if held is not None and held[0] is value:
        return held[1]
    if len(_seen) > 256:
        _seen.clear()
    digests = compute(value)
    _seen[id(value)] = (value, digests)
    return digests
