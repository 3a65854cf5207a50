"""The model itself: reads a request, plans, and streams a call or an answer."""

from __future__ import annotations

import asyncio
import json
import re
import warnings
from collections.abc import AsyncIterator, Sequence
from datetime import date
from typing import Final

from agent_express.errors import UnsupportedError
from agent_express.events import End, TextDelta, ToolCallDelta
from agent_express.messages import FinishReason, Message, ModelRequest, ModelResponse, Settings, ToolCall

from .answering.answers import answer
from .answering.outputs import structured
from .answering.streaming import deltas
from .answering.usage import usage_of
from .faults import check_faults, error_of, parse_variant
from .planning.planning import make_plan
from .planning.plans import Plan

_WORD: Final = re.compile(r"\S+")


class OfflineModel:
    """Answer requests by fixed rules: no key, no network, no download, and no language model.

    The newest message of the user is read as commands; for each the offered tool that fits best is called, and the
    answer is made of what the tools returned. The same request gives the same response, in every process.

    Args:
        faults: What goes wrong, call by call; see `faults.FAULTS`. After the last of them nothing does.
        variant: What follows the colon of the name: "commands", or a fault such as "stall" or "fail-always".
        today: What "tomorrow" is counted from. A system prompt that says "Today is 2026-03-01" comes first; with
            neither, relative dates fill free text only.

    Raises:
        UnknownModelError: There is no such variant.
        ValueError: There is no such fault.
    """

    context_window: int | None = None
    modalities: frozenset[str] | None = frozenset(["text"])

    def __init__(self, *, faults: Sequence[str] = (), variant: str = "commands", today: date | None = None) -> None:
        named, self._repeats = parse_variant(variant)
        self._faults = [*named, *faults]
        check_faults(tuple(self._faults))
        self.name = f"offline:{variant or 'commands'}"
        self.today = today

    async def stream(self, request: ModelRequest) -> AsyncIterator[TextDelta | ToolCallDelta | End[ModelResponse]]:
        """Stream the response word by word, then `End`.

        Raises:
            UnsupportedError: The settings ask for reasoning or for a provider's options, and for an error where they
                are not supported.
            ModelError: Only where a fault was asked for.
        """
        _check_settings(request.settings)
        await asyncio.sleep(0)
        response = respond(request, self.today, self.name)
        fault = self._next_fault(response)
        error = error_of(fault)
        if error and fault != "truncate":
            raise error
        if fault == "malformed-call":
            response = _malformed(response)
        sent = list(deltas(response.message))
        for delta in sent[: len(sent) // 2] if fault == "truncate" else sent:
            yield delta
            await asyncio.sleep(0)
            if fault == "stall":
                break
        if fault == "stall":
            await asyncio.Event().wait()
        if error:
            raise error
        yield End(response)

    def _next_fault(self, response: ModelResponse) -> str:
        """The fault of this call; one that needs a tool call waits for a response that has one."""
        if not self._faults:
            return "none"
        if self._faults[0] == "malformed-call" and not response.message.tool_calls:
            return "none"
        return self._faults[0] if self._repeats and len(self._faults) == 1 else self._faults.pop(0)


def respond(request: ModelRequest, today: date | None = None, name: str = "offline:commands") -> ModelResponse:
    """The whole response to *request*: a pure function, which `OfflineModel` streams."""
    plan = make_plan(request, today)
    if plan.calls:
        parts = [ToolCall(call.id, call.name, json.dumps(call.args, ensure_ascii=False)) for call in plan.calls]
        message = Message("assistant", parts)
        return ModelResponse(message, usage_of(request, message), "tool_calls", name)
    text, reason = _cut(_say(plan, request, today), request.settings)
    message = Message("assistant", text)
    return ModelResponse(message, usage_of(request, message), reason, name)


def _say(plan: Plan, request: ModelRequest, today: date | None) -> str:
    prose = answer(plan)
    return structured(plan, request.output, prose, today) if request.output else prose


def _cut(text: str, settings: Settings) -> tuple[str, FinishReason]:
    """Apply `stop` and `max_tokens`, which here counts words."""
    ends = [at for stop in settings.stop if stop and (at := text.find(stop)) >= 0]
    text = text[: min(ends)] if ends else text
    if settings.max_tokens is None:
        return text, "stop"
    words = list(_WORD.finditer(text))
    if len(words) <= settings.max_tokens:
        return text, "stop"
    return text[: words[settings.max_tokens - 1].end()] if settings.max_tokens > 0 else "", "length"


def _check_settings(settings: Settings) -> None:
    """Refuse, or warn of, what this model lacks: reasoning and provider options.

    Temperature, `top_p` and seed are kept in the strictest sense: nothing here is drawn by chance.
    """
    lacking = [f"reasoning_effort={settings.reasoning_effort!r}"] if settings.reasoning_effort else []
    lacking += [f"option {name!r}" for name in settings.options]
    if not lacking:
        return
    what = f"the offline model does not reason and has no provider options; got {', '.join(lacking)}"
    if settings.unsupported == "error":
        raise UnsupportedError(f'{what}: leave it out, or set unsupported="warn"')
    warnings.warn(what, stacklevel=3)


def _malformed(response: ModelResponse) -> ModelResponse:
    """The same calls with their arguments cut in the middle, as a provider sends them whose stream was cut."""
    parts = [
        ToolCall(part.id, part.name, part.args[: len(part.args) // 2] or "{") if isinstance(part, ToolCall) else part
        for part in response.message.parts
    ]
    return response.replace(message=Message("assistant", parts))
