"""Every fault of llmock, a chaos server written by others, against a model adapter.

    class TestMyModel(LLMockKit):
        answers_as = "my-1"

        def model(self, url, **options):
            return MyModel("my-1", base_url=f"{url}/v1", api_key="any", **options)

It needs llmock, pytest and pytest-asyncio where it is run. What one adapter alone can do goes into tests of its class.
"""

from __future__ import annotations

import asyncio
import gc
from collections.abc import AsyncGenerator, Mapping
from typing import Any

import pytest
import pytest_asyncio

from ..errors import (
    AuthenticationError,
    BadRequestError,
    ContextOverflowError,
    ModelError,
    ModelTimeoutError,
    ProviderUnavailableError,
    RateLimitError,
)
from ..messages import Message, ModelRequest, ModelResponse, ToolResult
from ..models import Model, complete
from .kit_checks import WEATHER, fails, opened, same, true
from .servers import LLMock, llmock

STATUSES: list[tuple[int, type[ModelError], bool]] = [
    (400, BadRequestError, False),
    (401, AuthenticationError, False),
    (402, RateLimitError, False),
    (403, AuthenticationError, False),
    (404, BadRequestError, False),
    (408, ModelTimeoutError, True),
    (409, ProviderUnavailableError, True),
    (422, BadRequestError, False),
    (500, ProviderUnavailableError, True),
    (502, ProviderUnavailableError, True),
    (503, ProviderUnavailableError, True),
    (504, ModelTimeoutError, True),
    (529, ProviderUnavailableError, True),
]
"""Status of an answer -> the error it means, and whether a later call may do better."""

STALLS: dict[str, dict[str, Any]] = {
    "in mid-stream": {"type": "stream_fault", "kind": "stall", "after_chunks": 2, "stall_seconds": 60},
    "before the first token": {"type": "slow_first_token", "seconds": 60},
    "before the answer": {"type": "delay", "seconds": 60},
}

PASSING: dict[str, dict[str, Any]] = {
    "rate limit": {"type": "fail", "status": 429, "retry_after": 0.2},
    "failure": {"type": "fail", "status": 500},
    "overload": {"type": "fail", "status": 529},
    "disconnect": {"type": "stream_fault", "kind": "disconnect", "after_chunks": 2},
    "truncate": {"type": "stream_fault", "kind": "truncate", "after_chunks": 2},
}
"""Faults after which the server looks whether it is called again.

Not a corrupt chunk: whether the server then notices that the client has left is a matter of luck.
"""


def ask(model: Model, text: str = "How is the weather in Oslo today?", **fields: Any) -> ModelRequest:
    """A request of one user message; *fields* are further ones of `ModelRequest`."""
    return ModelRequest(model, (Message("user", text),), **fields)


class LLMockKit:
    """The cases; subclass it as `class TestMyModel(LLMockKit)` and override `model` and `answers_as`.

    Attributes:
        answers_as: The model's name in a response.
        too_large: What the status 413 means at this provider; it is not retryable.
    """

    pytestmark = pytest.mark.asyncio
    answers_as = ""
    too_large: type[ModelError] = BadRequestError

    def model(self, url: str, *, timeout: float | None = None) -> Model:
        """Return a new model at *url*, the root of the server, that waits *timeout* seconds for a byte."""
        raise NotImplementedError(f"{type(self).__name__}.model(url) must return the model under test")

    # --- the server -----------------------------------------------------------------------------

    @pytest_asyncio.fixture(scope="class", loop_scope="class")
    @classmethod
    async def running(cls) -> AsyncGenerator[LLMock]:
        """One server for all cases."""
        async with llmock() as server:
            yield server

    @pytest_asyncio.fixture
    async def server(self, running: LLMock) -> LLMock:
        """The one server, with nothing left of the case before."""
        await running.reset()
        return running

    @pytest_asyncio.fixture(name="model")
    async def _opened(self, server: LLMock) -> AsyncGenerator[Model]:
        """The model, open."""
        async with opened(self.model(server.url)) as model:
            yield model

    # --- answers --------------------------------------------------------------------------------

    async def test_an_answer_comes_through(self, model: Model, server: LLMock) -> None:
        """The text, the usage, and what the provider says of itself."""
        await server.script({"type": "reply", "text": "Rain, then sun."})
        response = await complete(model, ask(model))
        same(response.message.text, "Rain, then sun.", "the text")
        true(bool(response.usage.input_tokens), "the input tokens must be reported")
        true(bool(response.usage.output_tokens), "the output tokens must be reported")
        same(response.model, self.answers_as, "the model that answered")
        true(bool(response.id), "the response must have the provider's id")
        await _found_well(server)

    async def test_a_slow_first_token_is_waited_for(self, model: Model, server: LLMock) -> None:
        """It is slower than any other, and within the limit."""
        await server.script({"type": "slow_first_token", "seconds": 0.2}, {"type": "reply", "text": "At last."})
        same((await complete(model, ask(model))).message.text, "At last.", "the text")

    async def test_one_model_serves_event_loops_one_after_another(self, server: LLMock) -> None:
        """Without `init` no connection outlives its call; one that did would be a warning."""
        model = self.model(server.url)
        answers = [await asyncio.to_thread(asyncio.run, complete(model, ask(model))) for _ in range(2)]
        gc.collect()
        same(answers[0].message, answers[1].message, "the answer in the second loop")

    # --- tools ----------------------------------------------------------------------------------

    async def test_a_tool_is_called_and_its_result_answered(self, model: Model, server: LLMock) -> None:
        """The server looks whether call and result belong together."""
        question = Message("user", "How is the weather in Oslo?")
        first = await complete(model, ModelRequest(model, (question,), tools=(WEATHER,)))
        (call,) = first.message.tool_calls
        true("place" in call.parsed(), f"the call must say a place, found {call.args}")
        same(first.finish_reason, "tool_calls", "the finish reason of an answer with calls")
        result = Message("tool", [ToolResult("12 degrees", call_id=call.id, name=call.name)])
        last = await complete(model, ModelRequest(model, (question, first.message, result), tools=(WEATHER,)))
        true(bool(last.message.text), "the answer to the result must have a text")
        same(last.message.tool_calls, (), "the calls of the last answer")
        await _found_well(server)

    async def test_broken_tool_arguments_arrive_as_they_are(self, model: Model, server: LLMock) -> None:
        """The core turns them into an error result."""
        await server.script({"type": "tool_fault", "kind": "malformed_arguments"})
        (call,) = (await complete(model, ask(model, tools=(WEATHER,)))).message.tool_calls
        same(call.name, "weather", "the tool that was called")
        with pytest.raises(ValueError):  # noqa: PT011  whatever JSON says of it
            call.parsed()

    async def test_a_tool_that_nobody_offered_arrives_as_a_call(self, model: Model, server: LLMock) -> None:
        """The core answers it."""
        await server.script({"type": "tool_fault", "kind": "unknown_tool"})
        (call,) = (await complete(model, ask(model, tools=(WEATHER,)))).message.tool_calls
        true(call.name != "weather", "the call must name the tool that nobody offered")

    # --- refusals -------------------------------------------------------------------------------

    async def test_a_rate_limit_carries_its_wait_and_is_not_retried(self, model: Model, server: LLMock) -> None:
        """Waiting is a middleware's job."""
        error = await _failure(model, server, RateLimitError, {"type": "fail", "status": 429, "retry_after": 2})
        same((error.retryable, error.retry_after, error.status), (True, 2.0, 429), "retryable, wait and status")
        await _called_once(server)

    @pytest.mark.parametrize(("status", "kind", "retryable"), STATUSES)
    async def test_a_status_is_the_error_it_means(
        self, model: Model, server: LLMock, status: int, kind: type[ModelError], retryable: bool
    ) -> None:
        """Each with its own kind, and sent once."""
        error = await _failure(model, server, kind, {"type": "fail", "status": status})
        same((error.status, error.retryable), (status, retryable), "the status and whether it is retryable")
        await _called_once(server)

    async def test_a_request_that_is_too_large_is_the_error_it_means(self, model: Model, server: LLMock) -> None:
        """What that is depends on the provider."""
        error = await _failure(model, server, self.too_large, {"type": "fail", "status": 413})
        same((error.status, error.retryable), (413, False), "the status and whether it is retryable")
        await _called_once(server)

    async def test_a_prompt_that_is_too_long_is_a_context_overflow(self) -> None:
        """So that a middleware can shorten the history."""
        async with llmock("--context-window", "50") as small, opened(self.model(small.url)) as model:
            await fails(model, ask(model, "long " * 500), ContextOverflowError)

    # --- streams that go wrong ------------------------------------------------------------------

    @pytest.mark.parametrize("fault", ["disconnect", "truncate", "malformed"])
    @pytest.mark.parametrize("chunks", [0, 1, 3, 5])
    async def test_a_stream_that_breaks_off_or_is_damaged_is_retryable(
        self, model: Model, server: LLMock, fault: str, chunks: int
    ) -> None:
        """Wherever that happens."""
        behaviour = {"type": "stream_fault", "kind": fault, "after_chunks": chunks}
        error = await _failure(model, server, ProviderUnavailableError, behaviour)
        true(error.retryable, f"a stream that breaks must be retryable, found {error!r}")

    @pytest.mark.parametrize("stall", list(STALLS.values()), ids=list(STALLS))
    async def test_a_stall_ends_with_the_time_limit(self, server: LLMock, stall: dict[str, Any]) -> None:
        """The limit counts the seconds without a byte."""
        async with opened(self.model(server.url, timeout=0.5)) as model:
            error = await _failure(model, server, ModelTimeoutError, stall)
        true(error.retryable, f"a timeout must be retryable, found {error!r}")

    @pytest.mark.parametrize("behaviour", list(PASSING.values()), ids=list(PASSING))
    async def test_who_obeys_our_errors_is_found_resilient(
        self, model: Model, server: LLMock, behaviour: dict[str, Any]
    ) -> None:
        """The server's own verdict; it takes a truncated stream for accepted where nobody calls again."""
        await server.script(behaviour, {"type": "reply", "text": "In the end.", "times": None})
        same((await _obedient(model, server)).message.text, "In the end.", "the text")
        await _found_well(server)


async def _failure(model: Model, server: LLMock, kind: type[ModelError], behaviour: Mapping[str, Any]) -> ModelError:
    """The error of one call under one fault, of exactly that *kind*."""
    await server.script(behaviour)
    error = await fails(model, ask(model), kind)
    same(type(error), kind, "the kind of error")
    return error


async def _obedient(model: Model, server: LLMock) -> ModelResponse:
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


async def _called_once(server: LLMock) -> None:
    same(len(await server.requests()), 1, "the requests sent (retrying is a middleware's job)")


async def _found_well(server: LLMock) -> None:
    same((await server.verdict())["findings"], [], "what the server finds wrong with its client")
