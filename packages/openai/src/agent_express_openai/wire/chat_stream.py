"""The chunks of a Chat Completions stream, read into our events."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from agent_express.errors import ContentFilterError, ProviderUnavailableError
from agent_express.events import Event, ReasoningDelta, TextDelta, ToolCallDelta
from agent_express.messages import FinishReason, Message, ModelResponse, Part, Reasoning, Text, ToolCall, Usage

from ..errors import fault_in, model_error
from .chat_request import THOUGHT
from .json_values import Json, count, items, mapping, text

_FINISH: Mapping[str, FinishReason] = {
    "stop": "stop",
    "tool_calls": "tool_calls",
    "function_call": "tool_calls",
    "length": "length",
    "content_filter": "content_filter",
}
_THOUGHTS = ("reasoning_content", "reasoning")
"""The fields in which servers send reasoning: DeepSeek and llama-server; vLLM, Ollama and OpenRouter."""


@dataclass(slots=True)
class _Call:
    id: str = ""
    name: str = ""
    args: str = ""


class ChatReader:
    """Reads one stream: `feed` each chunk, then take the `response`.

    Args:
        name: The model's name, for errors.
        provider: The mark of reasoning, so that it goes back to where it came from.
    """

    def __init__(self, name: str, provider: str) -> None:
        self.name, self.provider = name, provider
        self._text: list[str] = []
        self._thoughts: dict[str, list[str]] = {}
        self._calls: list[_Call] = []
        self._places: dict[int, int] = {}
        self._finish = ""
        self._refused = False
        self._usage = Usage()
        self._model = self._id = ""

    def feed(self, chunk: Any) -> list[Event]:
        """Take the next chunk of the stream and return what it tells a listener.

        Raises:
            ModelError: The chunk reports a failure.
        """
        found = mapping(chunk)
        if found.get("error") or found.get("object") == "error":
            raise model_error(self.name, fault_in(found.get("error") or found))
        self._model, self._id = text(found, "model") or self._model, text(found, "id") or self._id
        if found.get("usage"):
            self._usage = usage(found["usage"])
        told: list[Event] = []
        for choice in [mapping(each) for each in items(found.get("choices"))[:1]]:
            told += self._delta(mapping(choice.get("delta")))
            self._finish = text(choice, "finish_reason") or self._finish
        return told

    def _delta(self, delta: Json) -> list[Event]:
        told: list[Event] = []
        thought = next((name for name in _THOUGHTS if text(delta, name)), None)
        if thought is not None:
            self._thoughts.setdefault(thought, []).append(text(delta, thought))
            told.append(ReasoningDelta(text(delta, thought)))
        refusal = text(delta, "refusal")
        self._refused = self._refused or bool(refusal)
        if said := text(delta, "content") + refusal:
            self._text.append(said)
            told.append(TextDelta(said))
        told += [self._call(mapping(each)) for each in items(delta.get("tool_calls"))]
        return told

    def _call(self, piece: Json) -> Event:
        function = mapping(piece.get("function"))
        at = self._place(piece, text(piece, "id"))
        call = self._calls[at]
        call.id = call.id or text(piece, "id")
        call.name = call.name or text(function, "name")
        args = function.get("arguments")
        more = args if isinstance(args, str) else json.dumps(args) if args else ""
        call.args += more
        return ToolCallDelta(at, more, text(piece, "id"), text(function, "name"))

    def _place(self, piece: Json, call_id: str) -> int:
        """Which call a piece belongs to. Some servers number every call 0, or none: a new id is a new call."""
        index = count(piece, "index")
        at = self._places.get(index, -1) if index is not None else len(self._calls) - 1
        if at < 0 or (call_id and self._calls[at].id and self._calls[at].id != call_id):
            at = len(self._calls)
            self._calls.append(_Call())
        if index is not None:
            self._places[index] = at
        return at

    def response(self) -> ModelResponse:
        """The whole answer.

        Raises:
            ProviderUnavailableError: The stream ended without a finish reason.
            ContentFilterError: The provider's filter left nothing of the answer.
        """
        if not self._finish:
            raise ProviderUnavailableError(
                f"{self.name}: the stream broke off: it ended without a finish_reason; call again"
            )
        parts = self._parts()
        finish = self._reason()
        if finish == "content_filter" and not parts:
            raise ContentFilterError(f"{self.name}: the provider's content filter withheld the whole answer")
        return ModelResponse(Message("assistant", parts), self._usage, finish, self._model, self._id)

    def _reason(self) -> FinishReason:
        finish = _FINISH.get(self._finish, "other")
        if finish != "stop":
            return finish
        if self._calls:
            return "tool_calls"  # several servers say "stop" there
        return "content_filter" if self._refused else "stop"

    def _parts(self) -> list[Part]:
        parts: list[Part] = [
            Reasoning("".join(pieces), data={THOUGHT: name}, provider=self.provider)
            for name, pieces in self._thoughts.items()
        ]
        if self._text:
            parts.append(Text("".join(self._text)))
        return [*parts, *(ToolCall(call.id, call.name, call.args or "{}") for call in self._calls)]


def usage(reported: Any) -> Usage:
    """Tokens as Chat Completions report them; what it leaves out is None."""
    tokens = mapping(reported)
    read = mapping(tokens.get("prompt_tokens_details"))
    cached = count(read, "cached_tokens")
    return Usage(
        count(tokens, "prompt_tokens"),
        count(tokens, "completion_tokens"),
        count(tokens, "prompt_cache_hit_tokens") if cached is None else cached,  # DeepSeek's name for it
        count(read, "cache_write_tokens"),
        count(mapping(tokens.get("completion_tokens_details")), "reasoning_tokens"),
    )
