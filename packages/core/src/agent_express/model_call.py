"""One model call: the core of the model onion."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any, cast

from .contexts import (
    ModelContext,
)
from .errors import (
    ProviderUnavailableError,
    WrongResultError,
)
from .events import (
    End,
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
from .models import Model
from .stream import Channel, sink


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
                end: End[Any] = event
                if not isinstance(end.result, ModelResponse):
                    raise WrongResultError(f"{model.name}: End holds {end.result!r}, expected a ModelResponse")
                return end.result
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
    if request.settings is not DEFAULT_SETTINGS:
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
