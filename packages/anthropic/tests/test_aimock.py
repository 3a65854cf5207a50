"""Conversations of several turns with aimock, a fake provider written by others."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest
import pytest_asyncio

from agent_express.errors import RateLimitError
from agent_express.events import End, Event, ReasoningDelta, TextDelta
from agent_express.messages import Image, Message, ModelRequest, ModelResponse, Reasoning, Section, Text, ToolDef
from agent_express.messages import ToolResult as Result
from agent_express.models import complete
from agent_express.testing.servers import AIMock, aimock
from agent_express_anthropic import AnthropicModel

WEATHER = ToolDef(
    "weather",
    "Tell the weather of a place.",
    {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]},
)

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
        "response": {"content": "Rome is warmer, by eleven degrees.", "usage": {"input_tokens": 90}},
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


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server() -> AsyncIterator[AIMock]:
    async with aimock(*FIXTURES) as running:
        yield running


@pytest.fixture
async def model(server: AIMock) -> AsyncIterator[AnthropicModel]:
    model = AnthropicModel("claude-sonnet-5-5", base_url=server.url, api_key="any")
    await model.init()
    yield model
    await model.dispose()


async def streamed(model: AnthropicModel, request: ModelRequest) -> tuple[list[Event], ModelResponse]:
    events: list[Event] = []
    async with aclosing(model.stream(request)) as stream:
        async for event in stream:
            if isinstance(event, End):
                return events, event.result
            events.append(event)
    raise AssertionError("the stream had no End")


async def test_a_conversation_with_parallel_tools_and_a_second_turn(model: AnthropicModel) -> None:
    history = [Message("user", "Please compare Oslo and Rome.")]
    first = await complete(model, ModelRequest(model, tuple(history), tools=(WEATHER,)))
    assert first.message.text == "I look up both."
    assert [(call.id, call.parsed()) for call in first.message.tool_calls] == [
        ("call_oslo", {"place": "Oslo"}),
        ("call_rome", {"place": "Rome"}),
    ]
    assert first.finish_reason == "tool_calls"
    results = [Result("12 °C", call_id="call_oslo"), Result("23 °C", call_id="call_rome")]
    history += [first.message, Message("tool", results)]
    second = await complete(model, ModelRequest(model, tuple(history), tools=(WEATHER,)))
    assert second.message.text == "Rome is warmer, by eleven degrees."
    assert second.finish_reason == "stop"
    history += [second.message, Message("user", "Good."), Message("user", "And thank you!")]
    third = await complete(model, ModelRequest(model, tuple(history), tools=(WEATHER,)))
    assert third.message.text == "You are welcome."


async def test_thinking_is_streamed_and_kept_beside_the_answer(model: AnthropicModel) -> None:
    events, response = await streamed(model, ModelRequest(model, (Message("user", "ponder this"),)))
    assert "".join(event.text for event in events if isinstance(event, ReasoningDelta)) == "Six times seven."
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == "Forty-two."
    (thought,) = [part for part in response.message.parts if isinstance(part, Reasoning)]
    assert (thought.text, thought.provider) == ("Six times seven.", "anthropic")
    assert response.message.text == "Forty-two."


async def test_the_sections_of_the_system_prompt_arrive_in_order(model: AnthropicModel) -> None:
    system = (Section("tone", "Speak like a pirate.", cache_mark=True), Section("size", "Be short."))
    response = await complete(model, ModelRequest(model, (Message("user", "hello"),), system=system))
    assert response.message.text == "Arr."


async def test_a_picture_is_looked_at(model: AnthropicModel) -> None:
    question = Message("user", [Text("What is on the picture?"), Image(b"\x89PNG")])
    assert (await complete(model, ModelRequest(model, (question,)))).message.text == "A red pixel."


async def test_a_refusal_is_mapped(model: AnthropicModel) -> None:
    with pytest.raises(RateLimitError, match="Slow down"):
        await complete(model, ModelRequest(model, (Message("user", "busy?"),)))
