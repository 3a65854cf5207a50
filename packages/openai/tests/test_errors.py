"""Every way in which OpenAI and the servers like it say no."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from agent_express.errors import (
    AuthenticationError,
    BadRequestError,
    ContentFilterError,
    ContextOverflowError,
    ModelError,
    ModelTimeoutError,
    ProviderUnavailableError,
    RateLimitError,
    UnsupportedError,
)
from agent_express_openai.errors import fault_in, model_error, retry_after

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
LLAMA_CPP = "the request exceeds the available context size, try increasing it"
VLLM = "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens."


def error(code: str | int | None = None, kind: str | None = None, message: str = "m") -> dict[str, Any]:
    return {"code": code, "type": kind, "message": message}


@pytest.mark.parametrize(
    ("status", "body", "kind", "retryable"),
    [
        (400, error("context_length_exceeded"), ContextOverflowError, False),
        (400, error(400, "exceed_context_size_error", LLAMA_CPP), ContextOverflowError, False),
        (400, error(400, "BadRequestError", VLLM), ContextOverflowError, False),
        (413, error(message="prompt is too long"), ContextOverflowError, False),
        (400, error("content_filter"), ContentFilterError, False),
        (400, error("invalid_prompt"), ContentFilterError, False),
        (400, error("unsupported_parameter", "invalid_request_error"), UnsupportedError, False),
        (400, error("unsupported_value", "invalid_request_error"), UnsupportedError, False),
        (400, error(None, "invalid_request_error"), BadRequestError, False),
        (401, error("invalid_api_key"), AuthenticationError, False),
        (402, error(message="Insufficient Balance"), RateLimitError, False),
        (403, error("unsupported_country_region_territory"), AuthenticationError, False),
        (404, error("model_not_found"), BadRequestError, False),
        (408, None, ModelTimeoutError, True),
        (409, error(), ProviderUnavailableError, True),
        (413, "<html>Payload Too Large</html>", BadRequestError, False),
        (415, None, BadRequestError, False),
        (422, {"detail": "field required"}, BadRequestError, False),
        (429, error("rate_limit_exceeded", "tokens"), RateLimitError, True),
        (429, error("insufficient_quota", "insufficient_quota"), RateLimitError, False),
        (429, error("rate_limit_exceeded", "tokens", "Request too large for gpt-4o"), RateLimitError, False),
        (429, "Too Many Requests", RateLimitError, True),
        (500, error(None, "server_error"), ProviderUnavailableError, True),
        (502, "<html>Bad Gateway</html>", ProviderUnavailableError, True),
        (503, error("overloaded"), ProviderUnavailableError, True),
        (504, None, ModelTimeoutError, True),
        (529, None, ProviderUnavailableError, True),
    ],
)
def test_a_refusal_is_the_error_it_means(status: int, body: Any, kind: type[ModelError], retryable: bool) -> None:
    found = model_error("openai:gpt-5", fault_in(body, status))
    assert type(found) is kind
    assert (found.retryable, found.status) == (retryable, status)
    assert str(found).startswith("openai:gpt-5: ")
    assert str(status) in str(found)


@pytest.mark.parametrize(
    ("body", "kind", "retryable"),
    [
        (error("rate_limit_exceeded"), RateLimitError, True),
        (error(None, "insufficient_quota"), RateLimitError, False),
        (error("server_error"), ProviderUnavailableError, True),
        (error(None, "overloaded_error"), ProviderUnavailableError, True),
        (error("context_length_exceeded"), ContextOverflowError, False),
        (error(message="Your input exceeds the context window of this model"), ContextOverflowError, False),
        (error("bio_policy"), ContentFilterError, False),
        (error(None, "authentication_error"), AuthenticationError, False),
        (error(None, "invalid_request_error"), BadRequestError, False),
        (error(502, None), ProviderUnavailableError, True),
        (error(400, "BadRequestError"), BadRequestError, False),
        ("it died", ProviderUnavailableError, True),
        (None, ProviderUnavailableError, True),
        ({"error": {"code": "rate_limit_exceeded"}}, RateLimitError, True),
        ({"error": "it died"}, ProviderUnavailableError, True),
    ],
)
def test_an_error_in_mid_stream_is_told_by_its_words(body: Any, kind: type[ModelError], retryable: bool) -> None:
    found = model_error("openai:gpt-5", fault_in(body))
    assert type(found) is kind
    assert found.retryable is retryable


def test_the_message_holds_what_the_provider_said() -> None:
    found = model_error("openai:gpt-9", fault_in(error("model_not_found", message="no gpt-9 here"), 404))
    assert str(found) == (
        "openai:gpt-9: no such model or address; check the model's name and the base_url"
        " (404 model_not_found): no gpt-9 here"
    )


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250"}, 0.25),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after-ms": "soon", "retry-after": "1"}, 1.0),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": format_datetime(NOW + timedelta(seconds=90), usegmt=True)}, 90.0),
        ({"retry-after": format_datetime(NOW - timedelta(seconds=90), usegmt=True)}, 0.0),
        ({"retry-after": "Sun, 01 Mar 2026 12:00:30 -0000"}, 30.0),
    ],
)
def test_the_wait_is_read_in_every_form(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, NOW) == seconds


def test_the_wait_stands_on_the_error() -> None:
    found = model_error("openai:gpt-5", fault_in(error("rate_limit_exceeded"), 429, {"retry-after-ms": "1500"}))
    assert found.retry_after == 1.5
