"""The API's stream of events as ours: `Answer` is fed one event after the other. Pure.

https://platform.claude.com/docs/en/build-with-claude/streaming
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, Protocol, TypeVar

from agent_express.errors import ContentFilterError, ProviderUnavailableError
from agent_express.events import Event, ReasoningDelta, TextDelta, ToolCallDelta
from agent_express.messages import (
    FinishReason,
    Message,
    ModelResponse,
    Opaque,
    Part,
    Reasoning,
    Text,
    ToolCall,
    Usage,
)

from .blocks import PROVIDER, arguments
from .edge import as_object, is_object

T = TypeVar("T")

_FINISH: Final[Mapping[str, FinishReason]] = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
}


class Answer:
    """One streamed answer, from its first event to its last.

    Attributes:
        whole: Whether the closing event has come; what happens to the connection then does not matter.
    """

    def __init__(self, name: str) -> None:
        self.whole = False
        self._name = name
        self._id, self._model, self._stop, self._why = "", "", "", ""
        self._blocks: dict[int, _Growing] = {}
        self._calls = 0
        self._counts: dict[str, int] = {}

    def feed(self, event: object) -> Event | None:
        """Take in the next event; return the delta it makes, if any. Kinds that are not known pass by.

        Raises:
            ProviderUnavailableError: The event lacks what its kind must have.
        """
        match _get(event, "type", str):
            case "message_start":
                self._start(_inner(event, "message"))
            case "content_block_start":
                return self._open(_get(event, "index", int), _inner(event, "content_block"))
            case "content_block_delta":
                return self._grow(_get(event, "index", int), _inner(event, "delta"))
            case "message_delta":
                self._finish(_inner(event, "delta"))
                self._count(as_object(event).get("usage"))
            case "message_stop":
                self.whole = True
            case _:
                pass
        return None

    def response(self) -> ModelResponse:
        """Return the whole answer.

        Raises:
            ProviderUnavailableError: The stream ended before the answer was whole.
            ContentFilterError: The provider refused to go on, for its own policy.
        """
        if not self.whole or not self._stop:
            raise ProviderUnavailableError(
                f"{self._name}: the stream broke off before its end ({len(self._blocks)} blocks had begun); "
                "the same request may succeed"
            )
        if self._stop == "refusal":
            raise ContentFilterError(f"{self._name} refused to answer{self._why}")
        parts = [part for part in (block.part() for block in self._blocks.values()) if part is not None]
        return ModelResponse(
            message=Message("assistant", parts),
            usage=self._usage(),
            finish_reason=_FINISH.get(self._stop, "other"),
            model=self._model,
            id=self._id,
        )

    def _start(self, message: Mapping[str, Any]) -> None:
        self._id, self._model = str(message.get("id") or ""), str(message.get("model") or "")
        self._count(message.get("usage"))
        self._counts.pop("output_tokens", None)  # a placeholder until the answer is complete

    def _open(self, index: int, block: dict[str, Any]) -> Event | None:
        match _get(block, "type", str):
            case "text":
                grown: _Growing = _Words()
            case "thinking":
                grown = _Thoughts()
            case "tool_use":
                grown = _Call(block, self._calls)
                self._calls += 1
            case _:
                grown = _Other(block)
        self._blocks[index] = grown
        return grown.begin(block)

    def _grow(self, index: int, delta: dict[str, Any]) -> Event | None:
        if index not in self._blocks:
            raise ProviderUnavailableError(f"{self._name}: a piece came for block {index}, which has not begun")
        return self._blocks[index].grow(_get(delta, "type", str), delta)

    def _finish(self, delta: Mapping[str, Any]) -> None:
        self._stop = str(delta.get("stop_reason") or self._stop)
        details = as_object(delta.get("stop_details"))
        self._why = "".join(f": {details[key]}" for key in ("category", "explanation") if details.get(key))

    def _count(self, usage: object) -> None:
        """Keep the newest figures; they are totals, not increments."""
        counts = as_object(usage)
        counts = {**counts, **as_object(counts.get("output_tokens_details"))}
        self._counts |= {key: value for key, value in counts.items() if isinstance(value, int)}

    def _usage(self) -> Usage:
        """Add up the prompt: the API's input_tokens are those that no cache had to do with."""
        fresh, read, written = map(
            self._counts.get, ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        )
        return Usage(
            input_tokens=None if fresh is None else fresh + (read or 0) + (written or 0),
            output_tokens=self._counts.get("output_tokens"),
            cache_read_tokens=read,
            cache_write_tokens=written,
            reasoning_tokens=self._counts.get("thinking_tokens"),
        )


class _Growing(Protocol):
    """A content block that is still growing."""

    def begin(self, block: dict[str, Any]) -> Event | None:
        """Take in what the block starts with."""
        ...

    def grow(self, kind: str, delta: dict[str, Any]) -> Event | None:
        """Take in the next piece."""
        ...

    def part(self) -> Part | None:
        """What it has become; None where nothing came."""
        ...


class _Words:
    def __init__(self) -> None:
        self._text: list[str] = []

    def begin(self, block: dict[str, Any]) -> Event | None:
        return self._add(block.get("text") or "")

    def grow(self, kind: str, delta: dict[str, Any]) -> Event | None:
        return self._add(_get(delta, "text", str)) if kind == "text_delta" else None

    def part(self) -> Part | None:
        whole = "".join(self._text)
        return Text(whole) if whole else None

    def _add(self, piece: str) -> Event | None:
        self._text.append(piece)
        return TextDelta(piece) if piece else None


class _Thoughts:
    def __init__(self) -> None:
        self._text: list[str] = []
        self._signature: str | None = None

    def begin(self, block: dict[str, Any]) -> Event | None:
        self._signature = block.get("signature") or None
        return self._add(block.get("thinking") or "")

    def grow(self, kind: str, delta: dict[str, Any]) -> Event | None:
        if kind == "signature_delta":
            self._signature = (self._signature or "") + _get(delta, "signature", str)
        return self._add(_get(delta, "thinking", str)) if kind == "thinking_delta" else None

    def part(self) -> Part | None:
        return Reasoning("".join(self._text), signature=self._signature, provider=PROVIDER)

    def _add(self, piece: str) -> Event | None:
        self._text.append(piece)
        return ReasoningDelta(piece) if piece else None


class _Call:
    def __init__(self, block: dict[str, Any], index: int) -> None:
        self._index, self._id, self._name = index, _get(block, "id", str), _get(block, "name", str)
        self._whole = as_object(block.get("input"))
        self._pieces: list[str] = []

    def begin(self, block: dict[str, Any]) -> Event | None:
        return ToolCallDelta(index=self._index, call_id=self._id, name=self._name)

    def grow(self, kind: str, delta: dict[str, Any]) -> Event | None:
        piece = _get(delta, "partial_json", str) if kind == "input_json_delta" else ""
        self._pieces.append(piece)
        return ToolCallDelta(index=self._index, args=piece, call_id=self._id, name=self._name) if piece else None

    def part(self) -> Part | None:
        """The call, its arguments as the model wrote them; a server may also send them all at once, parsed."""
        written = "".join(self._pieces)
        return ToolCall(self._id, self._name, written or json.dumps(self._whole, ensure_ascii=False))


class _Other:
    """A block that we do not look into: sealed thinking, the provider's own tools, what may come in the future."""

    def __init__(self, block: dict[str, Any]) -> None:
        self._block = dict(block)
        self._input: list[str] = []

    def begin(self, block: dict[str, Any]) -> Event | None:
        return None

    def grow(self, kind: str, delta: dict[str, Any]) -> Event | None:
        if kind == "input_json_delta":
            self._input.append(_get(delta, "partial_json", str))
        return None

    def part(self) -> Part | None:
        kind: str = self._block["type"]
        if kind == "redacted_thinking":
            return Reasoning(data=self._block, provider=PROVIDER)
        written = "".join(self._input)
        if written:
            self._block["input"] = arguments(ToolCall("", "", written))
        return Opaque(kind, self._block, provider=PROVIDER)


def _get(event: object, key: str, kind: type[T]) -> T:
    """Return what must be there.

    Raises:
        ProviderUnavailableError: It is not: the stream is damaged, and the same request may do better.
    """
    value = as_object(event).get(key)
    if not isinstance(value, kind):
        raise _damaged(event, key)
    return value


def _inner(event: object, key: str) -> dict[str, Any]:
    """Return the object that must be there.

    Raises:
        ProviderUnavailableError: It is not.
    """
    value = as_object(event).get(key)
    if not is_object(value):
        raise _damaged(event, key)
    return value


def _damaged(event: object, key: str) -> ProviderUnavailableError:
    return ProviderUnavailableError(f"anthropic: an event of the stream has no {key}: {str(event)[:200]}")
