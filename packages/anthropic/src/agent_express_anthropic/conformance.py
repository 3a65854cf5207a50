"""What Anthropic sends, in bytes: with it core's provider kit runs over `AnthropicModel`.

    agent-express conformance anthropic --kind models

Nothing else imports this module. It needs pytest, as the kit does; the package does not.
"""

from __future__ import annotations

from typing import Any

from agent_express.messages import Text, ToolCall, Usage
from agent_express.testing.provider_kit import RETRY_AFTER, USAGE, ProviderKit, Refusal, Spoken
from agent_express.testing.stand_in import Reply, json_reply, sse

from .model import AnthropicModel


def _event(kind: str, **fields: Any) -> bytes:
    return sse({"type": kind, **fields}, kind)


def _block(index: int, part: Text | ToolCall) -> list[bytes]:
    if isinstance(part, Text):
        start: dict[str, Any] = {"type": "text", "text": ""}
        whole, kind, key = part.text, "text_delta", "text"
    else:
        start = {"type": "tool_use", "id": part.id, "name": part.name, "input": {}}
        whole, kind, key = part.args, "input_json_delta", "partial_json"
    cut = len(whole) // 2
    return [
        _event("content_block_start", index=index, content_block=start),
        *(
            _event("content_block_delta", index=index, delta={"type": kind, key: piece})
            for piece in (whole[:cut], whole[cut:])
        ),
        _event("content_block_stop", index=index),
    ]


def _refused(status: int, kind: str, message: str, **headers: str) -> Reply:
    return json_reply({"type": "error", "error": {"type": kind, "message": message}}, status, headers)


class MessagesKit(ProviderKit):
    """The Messages API."""

    def model(self, url: str, *, key: str = "kit") -> AnthropicModel:
        """Return a new model at *url*."""
        return AnthropicModel("claude-sonnet-5-5", base_url=url, api_key=key)

    def spoken(self, *parts: Text | ToolCall, usage: Usage | None = USAGE) -> Spoken:
        """Return the events that say *parts*."""
        message: dict[str, Any] = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-5-5"}
        calls = any(isinstance(part, ToolCall) for part in parts)
        ending: dict[str, Any] = {"delta": {"stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None}}
        if usage is not None:
            message["usage"] = {"input_tokens": usage.input_tokens, "output_tokens": 1}
            ending["usage"] = {"output_tokens": usage.output_tokens}
        opening = [_event("message_start", message=message), _event("ping")]
        for index, part in enumerate(parts):
            opening += _block(index, part)
        return Spoken(tuple(opening), (_event("message_delta", **ending), _event("message_stop")))

    def broken(self) -> bytes:
        """Return the event that reports an overload."""
        return _event("error", error={"type": "overloaded_error", "message": "Overloaded"})

    def refusal(self, why: Refusal) -> Reply:
        """Return Anthropic's answer to a request it refuses."""
        match why:
            case "rate_limit":
                return _refused(429, "rate_limit_error", "slow down", **{"retry-after": f"{RETRY_AFTER:.0f}"})
            case "wrong_key":
                return _refused(401, "authentication_error", "invalid x-api-key")
            case "context_overflow":
                return _refused(400, "invalid_request_error", "prompt is too long: 1000001 tokens > 1000000 maximum")
            case "unknown_model":
                return _refused(404, "not_found_error", "model: claude-sonnet-55")
