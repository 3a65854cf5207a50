"""A middleware's own model call: through the model onion, counted, and unseen by the user."""

from __future__ import annotations

from collections.abc import Sequence
from contextvars import ContextVar
from typing import Any

from .chains import Chains, hooks_of
from .contexts import AskOptions, ModelContext, TurnContext, TurnRecord, from_middleware, still_counting
from .errors import HookError, OutputError, repeated
from .events import ModelResponded
from .messages import Message, ModelRequest, ModelResponse, Settings
from .model_call import model_core
from .onion import Layer, compose
from .outputs import Output, compile_output
from .stream import sink

_asking: ContextVar[tuple[str, ...]] = ContextVar("agent_express_asking", default=())
DEPTH = 8
"""Calls within calls, at most: a middleware that asks from a helper cannot always be recognised."""


async def ask(ctx: TurnContext, by: str, messages: Sequence[Message], options: AskOptions) -> Any:
    """Make the call; see `TurnContext.ask`."""
    turn = still_counting(ctx._turn)
    if turn.signal is not None:
        raise repeated(turn.signal)
    callers = (*_asking.get(), by)
    if len(callers) > DEPTH:
        raise HookError(f"{by}: ask() within ask() {DEPTH} times: {' > '.join(callers)}")
    output = compile_output(options.output) if options.output is not None else None
    model = turn.model if options.model is None else ctx._runtime.find_model(options.model)
    settings = options.settings or Settings()
    request = ModelRequest(model, tuple(messages), settings=settings, output=output.schema if output else None)
    asked, silenced = _asking.set(callers), sink.set(None)
    try:
        return await _ask(turn, by, request, options.purpose, output, _without(turn.chains, frozenset(callers)))
    finally:
        sink.reset(silenced)
        _asking.reset(asked)


async def _ask(
    turn: TurnRecord, by: str, request: ModelRequest, purpose: str, output: Output | None, chain: Layer
) -> Any:
    tries = 1 + (turn.limits.max_output_retries if output is not None else 0)
    complaint: str | None = None
    for _ in range(tries):
        call = ModelContext(turn, request, -1, purpose, by)
        response: ModelResponse = await chain(call)
        turn.session.log.append(ModelResponded(-1, response, purpose))
        if output is None:
            return response
        value, complaint = output.check(response.message)
        if complaint is None:
            return value
        said = (response.message, from_middleware(complaint, by))
        request = request.replace(messages=(*request.messages, *said))
    raise OutputError(f"{by}: ask({purpose!r}) got no answer of the form it wants in {tries} tries: {complaint}")


def _without(chains: Chains, callers: frozenset[str]) -> Layer:
    """The model onion without the layers that are in such a call already."""
    found = chains.asks.get(callers)
    if found is None:
        entries = [entry for entry in chains.entries if entry.name not in callers]
        found = compose("model", hooks_of(entries, "model"), model_core, ModelResponse, chains.observer)
        chains.asks[callers] = found
    return found
