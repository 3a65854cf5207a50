"""Against llmock, a chaos server written by others: every fault it has, in Anthropic's dialect."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from agent_express.errors import (
    AuthenticationError,
    BadRequestError,
    ContextOverflowError,
    ModelError,
    ModelTimeoutError,
    ProviderUnavailableError,
    RateLimitError,
)
from agent_express.messages import Message, ModelRequest, ModelResponse, ToolDef, ToolResult
from agent_express.models import complete
from agent_express.testing.servers import LLMock, llmock
from agent_express_anthropic import AnthropicModel

WEATHER = ToolDef(
    "weather",
    "Tell the weather of a place.",
    {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]},
)


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def running() -> AsyncIterator[LLMock]:
    async with llmock() as server:
        yield server


@pytest.fixture
async def server(running: LLMock) -> LLMock:
    """The one server, with nothing left of the test before."""
    await running.reset()
    return running


def model_at(server: LLMock, **options: Any) -> AnthropicModel:
    return AnthropicModel("claude-sonnet-4-6", base_url=f"{server.url}/anthropic", api_key="any", **options)


@pytest.fixture
async def model(server: LLMock) -> AsyncIterator[AnthropicModel]:
    model = model_at(server)
    await model.init()
    yield model
    await model.dispose()


def ask(model: AnthropicModel, text: str = "How is the weather in Oslo?", **fields: Any) -> ModelRequest:
    return ModelRequest(model, (Message("user", text),), **fields)


async def failure(model: AnthropicModel, server: LLMock, **behaviour: Any) -> ModelError:
    """The error of one call under one fault."""
    await server.script(behaviour)
    with pytest.raises(ModelError) as caught:
        await complete(model, ask(model))
    return caught.value


async def obedient(model: AnthropicModel) -> ModelResponse:
    """Call as our errors say: again where they are retryable, after the seconds they name."""
    while True:
        try:
            return await complete(model, ask(model))
        except ModelError as error:
            if not error.retryable:
                raise
            await asyncio.sleep(error.retry_after or 0)


async def test_an_answer_comes_through(model: AnthropicModel, server: LLMock) -> None:
    await server.script({"type": "reply", "text": "Rain, then sun."})
    response = await complete(model, ask(model))
    assert response.message.text == "Rain, then sun."
    assert response.usage.input_tokens
    assert response.usage.output_tokens
    assert response.model == "claude-sonnet-4-6"
    assert response.id
    assert (await server.verdict())["findings"] == []


async def test_a_rate_limit_carries_its_wait_and_is_not_retried(model: AnthropicModel, server: LLMock) -> None:
    error = await failure(model, server, type="fail", status=429, retry_after=2)
    assert isinstance(error, RateLimitError)
    assert (error.retryable, error.retry_after, error.status) == (True, 2.0, 429)
    assert len(await server.requests()) == 1


@pytest.mark.parametrize(
    ("status", "kind", "retryable"),
    [
        (400, BadRequestError, False),
        (401, AuthenticationError, False),
        (402, RateLimitError, False),
        (403, AuthenticationError, False),
        (404, BadRequestError, False),
        (408, ModelTimeoutError, True),
        (409, ProviderUnavailableError, True),
        (413, ContextOverflowError, False),
        (422, BadRequestError, False),
        (500, ProviderUnavailableError, True),
        (502, ProviderUnavailableError, True),
        (503, ProviderUnavailableError, True),
        (504, ModelTimeoutError, True),
        (529, ProviderUnavailableError, True),
    ],
)
async def test_a_status_is_the_error_it_means(
    model: AnthropicModel, server: LLMock, status: int, kind: type[ModelError], retryable: bool
) -> None:
    error = await failure(model, server, type="fail", status=status)
    assert type(error) is kind
    assert (error.status, error.retryable) == (status, retryable)
    assert len(await server.requests()) == 1


@pytest.mark.parametrize("fault", ["disconnect", "truncate", "malformed"])
@pytest.mark.parametrize("chunks", [0, 1, 3, 5])
async def test_a_stream_that_breaks_off_or_is_damaged_is_retryable(
    model: AnthropicModel, server: LLMock, fault: str, chunks: int
) -> None:
    error = await failure(model, server, type="stream_fault", kind=fault, after_chunks=chunks)
    assert type(error) is ProviderUnavailableError
    assert error.retryable


@pytest.mark.parametrize(
    "stall",
    [
        {"type": "stream_fault", "kind": "stall", "after_chunks": 2, "stall_seconds": 60},
        {"type": "slow_first_token", "seconds": 60},
        {"type": "delay", "seconds": 60},
    ],
    ids=["in mid-stream", "before the first token", "before the answer"],
)
async def test_a_stall_ends_with_the_time_limit(server: LLMock, stall: dict[str, Any]) -> None:
    model = model_at(server, timeout=0.5)
    error = await failure(model, server, **stall)
    await model.dispose()
    assert type(error) is ModelTimeoutError
    assert error.retryable


@pytest.mark.parametrize(
    "behaviour",
    [
        {"type": "fail", "status": 429, "retry_after": 0.2},
        {"type": "fail", "status": 529},
        {"type": "stream_fault", "kind": "disconnect", "after_chunks": 2},
        {"type": "stream_fault", "kind": "truncate", "after_chunks": 2},
    ],
    ids=["rate limit", "overload", "disconnect", "truncate"],
)
async def test_who_obeys_our_errors_is_found_resilient(
    model: AnthropicModel, server: LLMock, behaviour: dict[str, Any]
) -> None:
    """The server's own verdict; it sees a truncated stream as accepted where nobody calls again.

    Not asked about a corrupt chunk: it only notices who stops reading where it has more to send.
    """
    await server.script(behaviour, {"type": "reply", "text": "In the end.", "times": None})
    assert (await obedient(model)).message.text == "In the end."
    assert (await server.verdict())["findings"] == []


async def test_a_slow_first_token_is_waited_for(model: AnthropicModel, server: LLMock) -> None:
    await server.script({"type": "slow_first_token", "seconds": 0.2}, {"type": "reply", "text": "At last."})
    assert (await complete(model, ask(model))).message.text == "At last."


async def test_broken_tool_arguments_arrive_as_they_are(model: AnthropicModel, server: LLMock) -> None:
    await server.script({"type": "tool_fault", "kind": "malformed_arguments"})
    (call,) = (await complete(model, ask(model, tools=(WEATHER,)))).message.tool_calls
    assert call.name == "weather"
    with pytest.raises(ValueError):
        call.parsed()


async def test_a_tool_that_nobody_offered_arrives_as_a_call(model: AnthropicModel, server: LLMock) -> None:
    await server.script({"type": "tool_fault", "kind": "unknown_tool"})
    (call,) = (await complete(model, ask(model, tools=(WEATHER,)))).message.tool_calls
    assert call.name != "weather"


async def test_a_tool_is_called_and_its_result_answered(model: AnthropicModel, server: LLMock) -> None:
    question = Message("user", "How is the weather in Oslo?")
    first = await complete(model, ModelRequest(model, (question,), tools=(WEATHER,)))
    (call,) = first.message.tool_calls
    assert "place" in call.parsed()
    assert first.finish_reason == "tool_calls"
    result = Message("tool", [ToolResult("12 degrees", call_id=call.id, name=call.name)])
    last = await complete(model, ModelRequest(model, (question, first.message, result), tools=(WEATHER,)))
    assert last.message.text
    assert not last.message.tool_calls
    assert (await server.verdict())["findings"] == []


async def test_a_prompt_that_is_too_long_is_a_context_overflow() -> None:
    async with llmock("--context-window", "50") as small:
        model = model_at(small)
        with pytest.raises(ContextOverflowError):
            await complete(model, ask(model, "long " * 500))
        await model.dispose()
