"""The events of a Responses stream, read into ours."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent_express.errors import ContentFilterError, ModelError, ProviderUnavailableError
from agent_express.events import Event, ReasoningDelta, TextDelta, ToolCallDelta
from agent_express.messages import FinishReason, Message, ModelResponse, Opaque, Part, Reasoning, Text, ToolCall, Usage

from ..errors import fault_in, model_error
from .json_values import Json, count, items, mapping, text
from .responses_request import PHASE

_CLOSING = ("response.completed", "response.incomplete")
_CUT: Mapping[str, FinishReason] = {"max_output_tokens": "length", "content_filter": "content_filter"}


class ResponsesReader:
    """Reads one stream: `feed` each event, then take the `response`.

    Args:
        name: The model's name, for errors.
        provider: The mark of reasoning and unknown parts, so that they go back to where they came from.
    """

    def __init__(self, name: str, provider: str) -> None:
        self.name, self.provider = name, provider
        self._done: dict[int, Json] = {}
        self._calls: dict[int, int] = {}
        self._streamed = False
        self._closing: Json | None = None

    def feed(self, event: Any) -> list[Event]:
        """Take the next event of the stream and return what it tells a listener.

        Raises:
            ModelError: The event reports a failure.
        """
        found = mapping(event)
        at, delta = count(found, "output_index") or 0, text(found, "delta")
        match found.get("type"):
            case "response.output_text.delta" | "response.refusal.delta" if delta:
                self._streamed = True
                return [TextDelta(delta)]
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta" if delta:
                return [ReasoningDelta(delta)]
            case "response.reasoning_summary_part.added" if count(found, "summary_index"):
                return [ReasoningDelta("\n\n")]
            case "response.output_item.added":
                return self._added(at, mapping(found.get("item")))
            case "response.function_call_arguments.delta" if delta:
                return [ToolCallDelta(self._calls.setdefault(at, len(self._calls)), delta)]
            case "response.output_item.done":
                self._done[at if "output_index" in found else len(self._done)] = mapping(found.get("item"))
            case "response.completed" | "response.incomplete":
                self._closing = mapping(found.get("response"))
                return self._unstreamed()
            case "response.failed" | "error":
                raise self._failure(found)
            case _:
                pass
        return []

    def _added(self, at: int, item: Json) -> list[Event]:
        if item.get("type") != "function_call":
            return []
        index = self._calls.setdefault(at, len(self._calls))
        return [ToolCallDelta(index, call_id=_call_id(item), name=text(item, "name"))]

    def _unstreamed(self) -> list[Event]:
        """The text of a server that sends no deltas, in one."""
        said = "" if self._streamed else "".join([part.text for part in self._parts() if isinstance(part, Text)])
        return [TextDelta(said)] if said else []

    def _failure(self, event: Json) -> ModelError:
        response = mapping(event.get("response"))
        return model_error(self.name, fault_in(response.get("error") or event.get("error") or event))

    def response(self) -> ModelResponse:
        """The whole answer.

        Raises:
            ProviderUnavailableError: The stream ended without its closing event.
            ContentFilterError: The provider's filter left nothing of the answer.
        """
        if self._closing is None:
            raise ProviderUnavailableError(
                f"{self.name}: the stream broke off: it ended without {' or '.join(_CLOSING)}; call again"
            )
        parts = self._parts()
        finish = _finish(self._closing, self._output())
        if finish == "content_filter" and not parts:
            raise ContentFilterError(f"{self.name}: the provider's content filter withheld the whole answer")
        return ModelResponse(
            Message("assistant", parts),
            usage(self._closing.get("usage")),
            finish,
            text(self._closing, "model"),
            text(self._closing, "id"),
        )

    def _parts(self) -> list[Part]:
        return [part for item in self._output() for part in parts_of(item, self.provider)]

    def _output(self) -> list[Json]:
        """The items as they were completed; those of the closing event where the server sent none before."""
        done = [self._done[at] for at in sorted(self._done)]
        return done or [mapping(item) for item in items((self._closing or {}).get("output"))]


def parts_of(item: Json, provider: str) -> list[Part]:
    """The parts that one output item becomes."""
    match item.get("type"):
        case "message":
            phase = text(item, "phase")
            label: list[Part] = [Opaque(PHASE, {"phase": phase}, provider)] if phase else []
            return label + [_text(mapping(each)) for each in items(item.get("content"))]
        case "function_call":
            return [ToolCall(_call_id(item), text(item, "name"), text(item, "arguments") or "{}")]
        case "reasoning":
            return [Reasoning(_thought(item), text(item, "encrypted_content") or None, dict(item), provider)]
        case kind:
            return [Opaque(str(kind), dict(item), provider)]


def _text(piece: Json) -> Text:
    """A text, or the sentence with which the model refuses."""
    return Text(text(piece, "text") or text(piece, "refusal"))


def _thought(item: Json) -> str:
    """What may be read of the reasoning: its summary, or where there is none the reasoning itself."""
    shown = items(item.get("summary")) or items(item.get("content"))
    return "\n\n".join([text(mapping(each), "text") for each in shown])


def _call_id(item: Json) -> str:
    return text(item, "call_id") or text(item, "id")


def _finish(response: Json, output: list[Json]) -> FinishReason:
    if response.get("status") == "incomplete":
        return _CUT.get(text(mapping(response.get("incomplete_details")), "reason"), "other")
    if any(item.get("type") == "function_call" for item in output):
        return "tool_calls"
    pieces = [mapping(piece) for item in output for piece in items(item.get("content"))]
    return "content_filter" if any(piece.get("type") == "refusal" for piece in pieces) else "stop"


def usage(reported: Any) -> Usage:
    """Tokens as the Responses API reports them; what it leaves out is None."""
    tokens = mapping(reported)
    read, written = mapping(tokens.get("input_tokens_details")), mapping(tokens.get("output_tokens_details"))
    return Usage(
        count(tokens, "input_tokens"),
        count(tokens, "output_tokens"),
        count(read, "cached_tokens"),
        count(read, "cache_write_tokens"),
        count(written, "reasoning_tokens"),
    )
