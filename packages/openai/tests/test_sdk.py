"""Every exception of the SDK, and of what lies under it, is one of ours."""

from __future__ import annotations

import ssl
from collections.abc import Iterator

import anyio
import httpx2
import openai
import pytest

from agent_express.errors import (
    AuthenticationError,
    BadRequestError,
    ModelError,
    ModelTimeoutError,
    ProviderUnavailableError,
    RateLimitError,
)
from agent_express_openai.endpoint import endpoint
from agent_express_openai.sdk import mapped

PLACE = endpoint("http://localhost:8000/v1", None, {})
REQUEST = httpx2.Request("POST", "http://localhost:8000/v1/responses")


def found(error: Exception) -> Exception:
    return mapped("openai:m", PLACE, error)


def subclasses(kind: type[Exception]) -> Iterator[type[Exception]]:
    yield kind
    for each in kind.__subclasses__():
        yield from subclasses(each)


def status_error(kind: type[openai.APIStatusError], status: int) -> openai.APIStatusError:
    response = httpx2.Response(status, request=REQUEST, headers={"retry-after": "3"})
    if kind is openai.OAuthError:
        return openai.OAuthError(response=response, body={"error": "invalid_grant"})
    return kind("said no", response=response, body={"message": "said no"})


@pytest.mark.parametrize(
    ("kind", "status", "becomes"),
    [
        (openai.BadRequestError, 400, BadRequestError),
        (openai.AuthenticationError, 401, AuthenticationError),
        (openai.OAuthError, 401, AuthenticationError),
        (openai.PermissionDeniedError, 403, AuthenticationError),
        (openai.NotFoundError, 404, BadRequestError),
        (openai.ConflictError, 409, ProviderUnavailableError),
        (openai.UnprocessableEntityError, 422, BadRequestError),
        (openai.RateLimitError, 429, RateLimitError),
        (openai.InternalServerError, 500, ProviderUnavailableError),
        (openai.APIStatusError, 418, BadRequestError),
    ],
)
def test_a_status_of_the_sdk_is_ours(kind: type[openai.APIStatusError], status: int, becomes: type[ModelError]) -> None:
    error = found(status_error(kind, status))
    assert isinstance(error, becomes)
    assert (error.status, error.retry_after) == (status, 3.0)


def test_no_status_of_the_sdk_is_forgotten() -> None:
    tested = {
        *(openai.BadRequestError, openai.AuthenticationError, openai.OAuthError, openai.PermissionDeniedError),
        *(openai.NotFoundError, openai.ConflictError, openai.UnprocessableEntityError, openai.RateLimitError),
        *(openai.InternalServerError, openai.APIStatusError),
    }
    assert {kind for kind in subclasses(openai.APIStatusError) if kind.__module__.startswith("openai")} <= tested


@pytest.mark.parametrize(
    ("error", "becomes", "retryable"),
    [
        (openai.APIConnectionError(request=REQUEST), ProviderUnavailableError, True),
        (openai.APITimeoutError(REQUEST), ModelTimeoutError, True),
        (
            openai.APIResponseValidationError(httpx2.Response(200, request=REQUEST), body=None),
            ProviderUnavailableError,
            True,
        ),
        (openai.APIError("slow", REQUEST, body={"code": "rate_limit_exceeded"}), RateLimitError, True),
        (openai.APIError("it died", REQUEST, body=None), ProviderUnavailableError, True),
        (openai.APIError("it died", REQUEST, body="it died"), ProviderUnavailableError, True),
        (openai.OpenAIError("no credentials"), ModelError, False),
        (ssl.SSLError("bad record"), ProviderUnavailableError, True),
        (ConnectionResetError("gone"), ProviderUnavailableError, True),
        (anyio.EndOfStream(), ProviderUnavailableError, True),
        (anyio.ClosedResourceError(), ProviderUnavailableError, True),
        (TimeoutError(), ModelTimeoutError, True),
        (UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad"), ProviderUnavailableError, True),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else None,
)
def test_a_failure_without_a_status_is_ours(error: Exception, becomes: type[ModelError], retryable: bool) -> None:
    mine = found(error)
    assert isinstance(mine, becomes)
    assert mine.retryable is retryable
    assert str(mine).startswith("openai:m: ")


@pytest.mark.parametrize("kind", [*subclasses(httpx2.TransportError), httpx2.StreamClosed, httpx2.DecodingError])
def test_what_leaks_from_the_http_client_is_retryable(kind: type[Exception]) -> None:
    error = found(kind() if kind is httpx2.StreamClosed else kind("broke"))
    assert isinstance(error, ProviderUnavailableError | ModelTimeoutError)
    assert isinstance(error, ModelTimeoutError) is issubclass(kind, httpx2.TimeoutException)


def test_the_cause_of_a_lost_connection_is_told() -> None:
    error = openai.APIConnectionError(request=REQUEST)
    error.__cause__ = ConnectionRefusedError(111, "Connection refused")
    assert str(found(error)) == (
        "openai:m: no connection to http://localhost:8000/v1, or it broke off: [Errno 111] Connection refused"
    )


def test_what_is_no_failure_of_the_provider_stays_what_it_is() -> None:
    mistake = KeyError("ours")
    assert found(mistake) is mistake
    own = RateLimitError("mapped before")
    assert found(own) is own
