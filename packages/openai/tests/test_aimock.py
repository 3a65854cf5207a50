"""Both APIs through conversations of several turns with aimock, a fake provider written by others."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest
import pytest_asyncio

from agent_express.errors import ModelError, RateLimitError
from agent_express.events import End, Event, ReasoningDelta
from agent_express.messages import (
    Image,
    Message,
    ModelRequest,
    ModelResponse,
    Reasoning,
    Section,
    Settings,
    Text,
    ToolDef,
    ToolResult,
)
from agent_express.models import complete
from agent_express.testing.servers import AIMock, aimock
from agent_express_openai import OpenAIModel

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
        "response": {
            "content": "Rome is warmer, by eleven degrees.",
            "usage": {"prompt_tokens": 90, "input_tokens": 90},
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


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def server() -> AsyncIterator[AIMock]:
    async with aimock(*FIXTURES) as running:
        yield running


@pytest.fixture(params=["chat", "responses"])
async def model(request: pytest.FixtureRequest, server: AIMock) -> AsyncIterator[OpenAIModel]:
    model = OpenAIModel("gpt-5", base_url=f"{server.url}/v1", api=request.param)
    await model.init()
    yield model
    await model.dispose()


async def streamed(model: OpenAIModel, request: ModelRequest) -> tuple[list[Event], ModelResponse]:
    events: list[Event] = []
    async with aclosing(model.stream(request)) as stream:
        async for event in stream:
            if isinstance(event, End):
                return events, event.result
            events.append(event)
    raise AssertionError("the stream had no End")


async def test_a_conversation_with_parallel_tools_and_a_second_turn(model: OpenAIModel) -> None:
    history = [Message("user", "Please compare Oslo and Rome.")]
    first = await complete(model, ModelRequest(model, tuple(history), tools=(WEATHER,)))
    assert first.message.text == "I look up both."
    assert [(call.id, call.parsed()) for call in first.message.tool_calls] == [
        ("call_oslo", {"place": "Oslo"}),
        ("call_rome", {"place": "Rome"}),
    ]
    assert first.finish_reason == "tool_calls"
    results = [
        ToolResult(said, call_id=call.id, name=call.name)
        for said, call in zip(("12 °C", "23 °C"), first.message.tool_calls, strict=True)
    ]
    history += [first.message, Message("tool", results)]
    second = await complete(model, ModelRequest(model, tuple(history), tools=(WEATHER,)))
    assert second.message.text == "Rome is warmer, by eleven degrees."
    assert second.finish_reason == "stop"
    history += [second.message, Message("user", "Good."), Message("user", "And thank you!")]
    third = await complete(model, ModelRequest(model, tuple(history), tools=(WEATHER,)))
    assert third.message.text == "You are welcome."


async def test_reasoning_is_streamed_and_kept_beside_the_answer(model: OpenAIModel) -> None:
    events, response = await streamed(model, ModelRequest(model, (Message("user", "ponder this"),)))
    assert "".join(event.text for event in events if isinstance(event, ReasoningDelta)) == "Six times seven."
    (thought,) = [part for part in response.message.parts if isinstance(part, Reasoning)]
    assert thought.text == "Six times seven."
    assert thought.provider == model.endpoint.provider
    assert response.message.text == "Forty-two."


async def test_the_sections_of_the_system_prompt_arrive_in_one(model: OpenAIModel) -> None:
    system = (Section("instructions", "Speak like a pirate."), Section("style", "Be short."))
    response = await complete(model, ModelRequest(model, (Message("user", "Hello"),), system))
    assert response.message.text == "Arr."


async def test_an_image_is_accepted(model: OpenAIModel) -> None:
    shown = Message("user", [Text("What is in the picture?"), Image(b"\x89PNG")])
    response = await complete(model, ModelRequest(model, (shown,)))
    assert response.message.text == "A red pixel."


async def test_settings_arrive_under_their_names(model: OpenAIModel, server: AIMock) -> None:
    settings = Settings(temperature=0.5, top_p=0.9, max_tokens=50, parallel_tool_calls=False, tool_choice="none")
    request = ModelRequest(model, (Message("user", "picture"),), tools=(WEATHER,), settings=settings)
    assert (await complete(model, request)).message.text == "A red pixel."
    body = (await server.requests())[-1]["body"]
    assert (body["temperature"], body["tool_choice"]) == (0.5, "none")
    assert body.get("max_tokens", body.get("max_output_tokens")) == 50


async def test_an_error_that_was_scripted_is_mapped(model: OpenAIModel) -> None:
    with pytest.raises(RateLimitError) as caught:
        await complete(model, ModelRequest(model, (Message("user", "busy"),)))
    assert caught.value.status == 429
    assert caught.value.retryable


async def test_what_no_fixture_answers_is_refused(model: OpenAIModel) -> None:
    with pytest.raises(ModelError):
        await complete(model, ModelRequest(model, (Message("user", "nobody wrote this down"),)))
