"""Both APIs against llmock, a chaos server written by others: every fault it has."""

from __future__ import annotations

import asyncio
import gc
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
from agent_express.messages import Message, ModelRequest, ModelResponse, OutputSchema, ToolDef, ToolResult
from agent_express.models import complete
from agent_express.testing.servers import LLMock, llmock
from agent_express_openai import OpenAIModel

WEATHER = ToolDef(
    "weather",
    "Tell the weather of a place.",
    {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]},
)


@pytest.fixture(params=["chat", "responses"])
async def model(request: pytest.FixtureRequest, server: LLMock) -> AsyncIterator[OpenAIModel]:
    model = OpenAIModel("gpt-4o", base_url=f"{server.url}/v1", api=request.param)
    await model.init()
    yield model
    await model.dispose()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def running() -> AsyncIterator[LLMock]:
    async with llmock() as server:
        yield server


@pytest.fixture
async def server(running: LLMock) -> LLMock:
    """The one server, with nothing left of the test before."""
    await running.reset()
    return running


def ask(model: OpenAIModel, text: str = "How is the weather in Oslo today?", **fields: Any) -> ModelRequest:
    return ModelRequest(model, (Message("user", text),), **fields)


async def fault(model: OpenAIModel, server: LLMock, **behaviour: Any) -> ModelError:
    """The error of one call under one fault."""
    await server.script(behaviour)
    with pytest.raises(ModelError) as caught:
        await complete(model, ask(model))
    return caught.value


async def obedient(model: OpenAIModel, server: LLMock) -> ModelResponse:
    """Call as our errors say: again where they are retryable, after the seconds they name.

    Reading the requests waits until the server has seen the end of each; else it takes the next for another call.
    """
    while True:
        try:
            return await complete(model, ask(model))
        except ModelError as error:
            if not error.retryable:
                raise
            await server.requests()
            await asyncio.sleep(error.retry_after or 0)


async def test_an_answer_comes_through(model: OpenAIModel, server: LLMock) -> None:
    await server.script({"type": "reply", "text": "Rain, then sun."})
    response = await complete(model, ask(model))
    assert response.message.text == "Rain, then sun."
    assert response.usage.input_tokens
    assert response.usage.output_tokens
    assert response.model == "gpt-4o"
    assert response.id
    assert (await server.verdict())["findings"] == []


async def test_a_rate_limit_carries_its_wait_and_is_not_retried(model: OpenAIModel, server: LLMock) -> None:
    error = await fault(model, server, type="fail", status=429, retry_after=2)
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
        (413, BadRequestError, False),
        (422, BadRequestError, False),
        (500, ProviderUnavailableError, True),
        (502, ProviderUnavailableError, True),
        (503, ProviderUnavailableError, True),
        (504, ModelTimeoutError, True),
        (529, ProviderUnavailableError, True),
    ],
)
async def test_a_status_is_the_error_it_means(
    model: OpenAIModel, server: LLMock, status: int, kind: type[ModelError], retryable: bool
) -> None:
    error = await fault(model, server, type="fail", status=status)
    assert type(error) is kind
    assert (error.status, error.retryable) == (status, retryable)
    assert len(await server.requests()) == 1


@pytest.mark.parametrize("chunks", [0, 1, 3])
async def test_a_dropped_connection_is_retryable(model: OpenAIModel, server: LLMock, chunks: int) -> None:
    error = await fault(model, server, type="stream_fault", kind="disconnect", after_chunks=chunks)
    assert isinstance(error, ProviderUnavailableError)
    assert error.retryable


@pytest.mark.parametrize("chunks", [0, 1, 3])
async def test_a_stream_that_ends_early_is_no_answer(model: OpenAIModel, server: LLMock, chunks: int) -> None:
    error = await fault(model, server, type="stream_fault", kind="truncate", after_chunks=chunks)
    assert isinstance(error, ProviderUnavailableError)
    assert error.retryable


async def test_a_corrupt_chunk_is_retryable(model: OpenAIModel, server: LLMock) -> None:
    error = await fault(model, server, type="stream_fault", kind="malformed", after_chunks=2)
    assert isinstance(error, ProviderUnavailableError)
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
@pytest.mark.parametrize("api", ["chat", "responses"])
async def test_a_stall_ends_with_the_time_limit(server: LLMock, api: Any, stall: dict[str, Any]) -> None:
    model = OpenAIModel("gpt-4o", base_url=f"{server.url}/v1", api=api, timeout=0.5)
    error = await fault(model, server, **stall)
    assert isinstance(error, ModelTimeoutError)
    assert error.retryable


@pytest.mark.parametrize(
    "behaviour",
    [
        {"type": "fail", "status": 429, "retry_after": 0.2},
        {"type": "fail", "status": 500},
        {"type": "stream_fault", "kind": "disconnect", "after_chunks": 2},
        {"type": "stream_fault", "kind": "truncate", "after_chunks": 2},
    ],
    ids=["rate limit", "failure", "disconnect", "truncate"],
)
async def test_who_obeys_our_errors_is_found_resilient(
    model: OpenAIModel, server: LLMock, behaviour: dict[str, Any]
) -> None:
    """The server's own verdict; it takes a truncated stream for accepted where nobody calls again.

    Not with a corrupt chunk: whether the server then notices that the client has left is a matter of luck.
    """
    await server.script(behaviour, {"type": "reply", "text": "In the end.", "times": None})
    assert (await obedient(model, server)).message.text == "In the end."
    assert (await server.verdict())["findings"] == []


async def test_a_slow_first_token_is_waited_for(model: OpenAIModel, server: LLMock) -> None:
    await server.script({"type": "slow_first_token", "seconds": 0.2}, {"type": "reply", "text": "At last."})
    assert (await complete(model, ask(model))).message.text == "At last."


async def test_broken_tool_arguments_arrive_as_they_are(model: OpenAIModel, server: LLMock) -> None:
    await server.script({"type": "tool_fault", "kind": "malformed_arguments"})
    (call,) = (await complete(model, ask(model, tools=(WEATHER,)))).message.tool_calls
    assert call.name == "weather"
    with pytest.raises(ValueError):
        call.parsed()


async def test_a_tool_that_nobody_offered_arrives_as_a_call(model: OpenAIModel, server: LLMock) -> None:
    await server.script({"type": "tool_fault", "kind": "unknown_tool"})
    (call,) = (await complete(model, ask(model, tools=(WEATHER,)))).message.tool_calls
    assert call.name != "weather"


async def test_a_tool_is_called_and_its_result_answered(model: OpenAIModel, server: LLMock) -> None:
    question = Message("user", "How is the weather in Oslo?")
    first = await complete(model, ModelRequest(model, (question,), tools=(WEATHER,)))
    (call,) = first.message.tool_calls
    assert "place" in call.parsed()
    result = Message("tool", [ToolResult("12 degrees", call_id=call.id, name=call.name)])
    last = await complete(model, ModelRequest(model, (question, first.message, result), tools=(WEATHER,)))
    assert last.message.text
    assert not last.message.tool_calls
    assert (await server.verdict())["findings"] == []


async def test_structured_output_comes_in_its_schema(model: OpenAIModel, server: LLMock) -> None:
    schema = {
        "type": "object",
        "properties": {"degrees": {"type": "integer"}},
        "required": ["degrees"],
        "additionalProperties": False,
    }
    response = await complete(model, ask(model, output=OutputSchema("weather", schema)))
    assert response.message.text.startswith('{"degrees":')
    assert (await server.requests())[0]["status"] == 200


async def test_a_prompt_that_is_too_long_is_a_context_overflow() -> None:
    async with llmock("--context-window", "50") as small:
        for api in ("chat", "responses"):
            model = OpenAIModel("gpt-4o", base_url=f"{small.url}/v1", api=api)
            with pytest.raises(ContextOverflowError):
                await complete(model, ask(model, "long " * 500))


def test_one_model_serves_event_loops_one_after_another(running: LLMock) -> None:
    """Without `init` no connection outlives its call; one that did would be a warning, and warnings are errors."""
    model = OpenAIModel("gpt-4o", base_url=f"{running.url}/v1")
    answers = [asyncio.run(complete(model, ask(model))) for _ in range(2)]
    gc.collect()
    assert answers[0].message == answers[1].message
