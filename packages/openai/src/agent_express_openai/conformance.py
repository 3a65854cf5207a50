"""What OpenAI sends, in bytes, on both of its APIs: with it core's provider kit runs over `OpenAIModel`.

    agent-express conformance openai --kind models

Nothing else imports this module. It needs pytest, as the kit does; the package does not.
"""

from __future__ import annotations

from typing import Any

from agent_express.messages import Text, ToolCall, Usage
from agent_express.testing.provider_kit import RETRY_AFTER, USAGE, ProviderKit, Refusal, Spoken
from agent_express.testing.stand_in import Reply, json_reply, sse

from .model import OpenAIModel


def _halves(text: str) -> tuple[str, str]:
    return text[: len(text) // 2], text[len(text) // 2 :]


def _refusal(why: Refusal) -> Reply:
    match why:
        case "rate_limit":
            error = {"message": "Rate limit reached", "type": "requests", "code": "rate_limit_exceeded"}
            return json_reply({"error": error}, 429, {"retry-after": str(int(RETRY_AFTER))})
        case "wrong_key":
            error = {"message": "Incorrect API key", "type": "invalid_request_error", "code": "invalid_api_key"}
            return json_reply({"error": error}, 401)
        case "context_overflow":
            error = {"message": "Too long", "type": "invalid_request_error", "code": "context_length_exceeded"}
            return json_reply({"error": error}, 400)
        case "unknown_model":
            error = {"message": "No such model", "type": "invalid_request_error", "code": "model_not_found"}
            return json_reply({"error": error}, 404)


class ChatKit(ProviderKit):
    """Chat Completions, which every entry of this package can speak."""

    def model(self, url: str, *, key: str = "kit") -> OpenAIModel:
        """Return a new model at *url*."""
        return OpenAIModel("kit-1", base_url=f"{url}/v1", api_key=key, api="chat")

    def spoken(self, *parts: Text | ToolCall, usage: Usage | None = USAGE) -> Spoken:
        """Return the chunks that say *parts*."""
        deltas: list[dict[str, Any]] = [{"role": "assistant", "content": ""}]
        calls = 0
        for part in parts:
            if isinstance(part, Text):
                deltas += [{"content": half} for half in _halves(part.text)]
                continue
            first, second = _halves(part.args)
            function = {"name": part.name, "arguments": first}
            deltas.append({"tool_calls": [{"index": calls, "id": part.id, "type": "function", "function": function}]})
            deltas.append({"tool_calls": [{"index": calls, "function": {"arguments": second}}]})
            calls += 1
        closing = [self._chunk({}, "tool_calls" if calls else "stop")]
        if usage is not None:
            tokens = {"prompt_tokens": usage.input_tokens, "completion_tokens": usage.output_tokens}
            closing.append(sse({"id": "c", "model": "kit-1", "choices": [], "usage": tokens}))
        return Spoken(tuple(self._chunk(delta) for delta in deltas), (*closing, sse("[DONE]")))

    def _chunk(self, delta: dict[str, Any], finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return sse({"id": "c", "object": "chat.completion.chunk", "model": "kit-1", "choices": [choice]})

    def broken(self) -> bytes:
        """Return the chunk that reports an overload."""
        return sse({"error": {"message": "The server is overloaded", "type": "server_error", "code": None}})

    def refusal(self, why: Refusal) -> Reply:
        """Return OpenAI's answer to a request it refuses."""
        return _refusal(why)


class ResponsesKit(ProviderKit):
    """The Responses API, which only "openai" speaks."""

    entries = ("openai",)

    def model(self, url: str, *, key: str = "kit") -> OpenAIModel:
        """Return a new model at *url*."""
        return OpenAIModel("kit-1", base_url=f"{url}/v1", api_key=key, api="responses")

    def spoken(self, *parts: Text | ToolCall, usage: Usage | None = USAGE) -> Spoken:
        """Return the events that say *parts*."""
        opening = [self._event("response.created", response={"id": "r", "model": "kit-1", "status": "in_progress"})]
        output: list[dict[str, Any]] = []
        for at, part in enumerate(parts):
            if isinstance(part, Text):
                kind, written = "response.output_text.delta", part.text
                item: dict[str, Any] = {"type": "message", "role": "assistant", "id": f"m{at}", "content": []}
                whole = {**item, "content": [{"type": "output_text", "text": part.text, "annotations": []}]}
            else:
                kind, written = "response.function_call_arguments.delta", part.args
                item = {"type": "function_call", "id": f"f{at}", "call_id": part.id, "name": part.name, "arguments": ""}
                whole = {**item, "arguments": part.args}
            opening.append(self._event("response.output_item.added", output_index=at, item=item))
            opening += [self._event(kind, output_index=at, item_id=item["id"], delta=half) for half in _halves(written)]
            opening.append(self._event("response.output_item.done", output_index=at, item=whole))
            output.append(whole)
        tokens = usage and {"input_tokens": usage.input_tokens, "output_tokens": usage.output_tokens}
        response = {"id": "r", "model": "kit-1", "status": "completed", "output": output, "usage": tokens}
        return Spoken(tuple(opening), (self._event("response.completed", response=response),))

    def _event(self, kind: str, **fields: Any) -> bytes:
        return sse({"type": kind, **fields}, kind)

    def broken(self) -> bytes:
        """Return the event that reports an overload."""
        error = {"code": "server_error", "message": "The server is overloaded"}
        return self._event("response.failed", response={"id": "r", "status": "failed", "error": error})

    def refusal(self, why: Refusal) -> Reply:
        """Return OpenAI's answer to a request it refuses."""
        return _refusal(why)
