"""Every failure of the SDK is a `ModelError` that says what happened and whether to try again."""

from __future__ import annotations

import inspect
import json
from typing import Any

import anthropic
import httpx2
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
)
from agent_express_anthropic.errors import reading_failed, retry_after, sending_failed

NAME = "anthropic:claude-kit"
REQUEST = httpx2.Request("POST", "https://api.anthropic.com/v1/messages")


def refusal(status: int, kind: str = "", said: str = "no", code: str = "", **headers: str) -> anthropic.APIStatusError:
    """The error that the SDK makes of such an answer."""
    details = {"details": {"error_code": code}} if code else {}
    body = {"type": "error", "error": {"type": kind, "message": said, **details}}
    response = httpx2.Response(status, json=body, headers=headers, request=REQUEST)
    client = anthropic.AsyncAnthropic(api_key="kit")
    return client._make_status_error(f"Error code: {status}", body=body, response=response)


@pytest.mark.parametrize(
    ("status", "kind", "said", "becomes", "retryable"),
    [
        (400, "invalid_request_error", "max_tokens: too large", BadRequestError, False),
        (400, "invalid_request_error", "prompt is too long: 9 tokens > 8 maximum", ContextOverflowError, False),
        (
            400,
            "invalid_request_error",
            "input length and `max_tokens` exceed context limit",
            ContextOverflowError,
            False,
        ),
        (400, "invalid_request_error", "Output blocked by content filtering policy", ContentFilterError, False),
        (401, "authentication_error", "invalid x-api-key", AuthenticationError, False),
        (402, "billing_error", "no credit", RateLimitError, False),
        (403, "permission_error", "not for this key", AuthenticationError, False),
        (404, "not_found_error", "model: claude-none", BadRequestError, False),
        (408, "timeout_error", "too slow", ModelTimeoutError, True),
        (409, "conflict_error", "busy", ProviderUnavailableError, True),
        (412, "invalid_request_error", "no", BadRequestError, False),
        (413, "request_too_large", "over 32 MB", ContextOverflowError, False),
        (422, "invalid_request_error", "no", BadRequestError, False),
        (429, "rate_limit_error", "slow down", RateLimitError, True),
        (431, "invalid_request_error", "headers", BadRequestError, False),
        (499, "api_error", "client closed", ProviderUnavailableError, True),
        (500, "api_error", "oops", ProviderUnavailableError, True),
        (501, "api_error", "not implemented", ProviderUnavailableError, False),
        (502, "", "<html>", ProviderUnavailableError, True),
        (503, "overloaded_error", "soon", ProviderUnavailableError, True),
        (504, "timeout_error", "too slow", ModelTimeoutError, True),
        (529, "overloaded_error", "Overloaded", ProviderUnavailableError, True),
    ],
)
def test_each_status_becomes_its_error(
    status: int, kind: str, said: str, becomes: type[ModelError], retryable: bool
) -> None:
    error = sending_failed(refusal(status, kind, said), NAME)
    assert type(error) is becomes
    assert error.retryable is retryable
    assert error.status == status
    assert str(error).startswith(f"{NAME}: {status}")
    assert said in str(error)


@pytest.mark.parametrize(
    ("kind", "becomes", "status"),
    [
        ("overloaded_error", ProviderUnavailableError, 529),
        ("api_error", ProviderUnavailableError, 500),
        ("rate_limit_error", RateLimitError, 429),
        ("timeout_error", ModelTimeoutError, 504),
        ("invalid_request_error", BadRequestError, 400),
        ("something_new", ProviderUnavailableError, 500),
    ],
)
def test_an_error_event_in_mid_stream_is_told_by_its_type(kind: str, becomes: type[ModelError], status: int) -> None:
    error = reading_failed(refusal(200, kind), NAME)
    assert type(error) is becomes
    assert error.status == status


def every_error_of_the_sdk() -> list[anthropic.AnthropicError]:
    """One of each class that the SDK exports."""
    kinds = {each for each in vars(anthropic).values() if inspect.isclass(each)}
    response = httpx2.Response(418, request=REQUEST)
    made: list[anthropic.AnthropicError] = []
    for kind in sorted((each for each in kinds if issubclass(each, anthropic.AnthropicError)), key=str):
        if issubclass(kind, anthropic.APIStatusError):
            made.append(kind("no", response=response, body=None))
        elif issubclass(kind, anthropic.APIResponseValidationError):
            made.append(kind(response, None))
        elif issubclass(kind, anthropic.APIConnectionError):
            made.append(kind(request=REQUEST))
        elif issubclass(kind, anthropic.APIError):
            made.append(kind("no", REQUEST, body=None))
        else:
            made.append(kind("no"))
    return made


@pytest.mark.parametrize("error", every_error_of_the_sdk(), ids=lambda error: type(error).__name__)
def test_every_error_class_of_the_sdk_is_mapped(error: anthropic.AnthropicError) -> None:
    for mapped in (sending_failed(error, NAME), reading_failed(error, NAME)):
        assert isinstance(mapped, ModelError)
        assert str(mapped).startswith(NAME)


@pytest.mark.parametrize(
    "error",
    [
        anthropic.APIConnectionError(request=REQUEST),
        httpx2.RemoteProtocolError("peer closed connection without sending complete message body"),
        httpx2.ReadError(""),
        httpx2.DecodingError("not gzip"),
        json.JSONDecodeError("no", "{", 1),
        UnicodeDecodeError("utf-8", b"\xff", 0, 1, "no"),
        anthropic.APIResponseValidationError(httpx2.Response(200, request=REQUEST), None),
    ],
    ids=lambda error: type(error).__name__,
)
def test_whatever_breaks_a_stream_is_retryable(error: Exception) -> None:
    mapped = reading_failed(error, NAME)
    assert type(mapped) is ProviderUnavailableError
    assert mapped.retryable


@pytest.mark.parametrize("error", [anthropic.APITimeoutError(request=REQUEST), httpx2.ReadTimeout("")])
def test_a_time_out_says_so(error: Exception) -> None:
    mapped = reading_failed(error, NAME)
    assert type(mapped) is ModelTimeoutError
    assert "did not answer in time" in str(mapped)


@pytest.mark.parametrize("error", [TypeError("no JSON"), UnicodeEncodeError("utf-8", "\ud800", 0, 1, "surrogate")])
def test_a_request_that_cannot_be_put_into_bytes_is_a_bad_one(error: Exception) -> None:
    assert type(sending_failed(error, NAME)) is BadRequestError


@pytest.mark.parametrize(("said", "retryable"), [("true", True), ("false", False)])
def test_the_servers_own_word_on_trying_again_wins(said: str, retryable: bool) -> None:
    for status in (400, 429, 501):
        headers: dict[str, Any] = {"x-should-retry": said}
        assert sending_failed(refusal(status, **headers), NAME).retryable is retryable


def test_a_spending_limit_is_a_rate_limit_that_waiting_does_not_lift() -> None:
    error = sending_failed(refusal(429, "rate_limit_error", code="contract_spend_limit_reached"), NAME)
    assert type(error) is RateLimitError
    assert not error.retryable


def test_the_message_names_the_request_for_the_support() -> None:
    headers: dict[str, Any] = {"request-id": "req_1"}
    assert str(sending_failed(refusal(500, "api_error", "oops", **headers), NAME)) == (
        f"{NAME}: 500 api_error: oops (request req_1)"
    )


def test_a_refused_key_says_where_to_look() -> None:
    assert "check ANTHROPIC_API_KEY" in str(sending_failed(refusal(401, "authentication_error"), NAME))


def test_an_answer_that_is_not_the_apis_is_quoted() -> None:
    response = httpx2.Response(502, request=REQUEST)
    error = anthropic.APIStatusError("Error code: 502", response=response, body="<html>Bad Gateway</html>")
    assert str(sending_failed(error, NAME)) == f"{NAME}: 502: <html>Bad Gateway</html>"


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"retry-after": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "1"}, 0.25),
        ({"retry-after": "-3"}, 0.0),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "Thu, 01 Jan 1970 00:01:40 GMT"}, 90.0),
        ({"retry-after": "Thu, 01 Jan 1970 00:00:01 GMT"}, 0.0),
    ],
)
def test_the_time_to_wait_is_read_in_each_of_its_forms(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after(headers, now=10.0) == seconds
