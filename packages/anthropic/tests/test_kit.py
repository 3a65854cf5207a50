"""The provider test kit of Agent Express, with Anthropic's events."""

from __future__ import annotations

from typing import Any

from agent_express.messages import Text, ToolCall, Usage
from agent_express.models import Model
from agent_express.testing.provider_kit import RETRY_AFTER, USAGE, ProviderKit, Refusal, Spoken
from agent_express.testing.stand_in import Reply, json_reply, sse
from agent_express_anthropic import AnthropicModel


def event(kind: str, **fields: Any) -> bytes:
    return sse({"type": kind, **fields}, kind)


def block(index: int, part: Text | ToolCall) -> list[bytes]:
    if isinstance(part, Text):
        start: dict[str, Any] = {"type": "text", "text": ""}
        whole, kind, key = part.text, "text_delta", "text"
    else:
        start = {"type": "tool_use", "id": part.id, "name": part.name, "input": {}}
        whole, kind, key = part.args, "input_json_delta", "partial_json"
    cut = len(whole) // 2
    return [
        event("content_block_start", index=index, content_block=start),
        *(
            event("content_block_delta", index=index, delta={"type": kind, key: piece})
            for piece in (whole[:cut], whole[cut:])
        ),
        event("content_block_stop", index=index),
    ]


def refused(status: int, kind: str, message: str, **headers: str) -> Reply:
    return json_reply({"type": "error", "error": {"type": kind, "message": message}}, status, headers)


class TestAnthropicModel(ProviderKit):
    def model(self, url: str, *, key: str = "kit") -> Model:
        return AnthropicModel("claude-sonnet-5-5", base_url=url, api_key=key)

    def spoken(self, *parts: Text | ToolCall, usage: Usage | None = USAGE) -> Spoken:
        message: dict[str, Any] = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-5-5"}
        calls = any(isinstance(part, ToolCall) for part in parts)
        ending: dict[str, Any] = {"delta": {"stop_reason": "tool_use" if calls else "end_turn", "stop_sequence": None}}
        if usage is not None:
            message["usage"] = {"input_tokens": usage.input_tokens, "output_tokens": 1}
            ending["usage"] = {"output_tokens": usage.output_tokens}
        opening = [event("message_start", message=message), event("ping")]
        for index, part in enumerate(parts):
            opening += block(index, part)
        return Spoken(tuple(opening), (event("message_delta", **ending), event("message_stop")))

    def broken(self) -> bytes:
        return event("error", error={"type": "overloaded_error", "message": "Overloaded"})

    def refusal(self, why: Refusal) -> Reply:
        match why:
            case "rate_limit":
                return refused(429, "rate_limit_error", "slow down", **{"retry-after": f"{RETRY_AFTER:.0f}"})
            case "wrong_key":
                return refused(401, "authentication_error", "invalid x-api-key")
            case "context_overflow":
                return refused(400, "invalid_request_error", "prompt is too long: 1000001 tokens > 1000000 maximum")
            case "unknown_model":
                return refused(404, "not_found_error", "model: claude-sonnet-55")
