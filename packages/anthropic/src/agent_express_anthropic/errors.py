"""Whatever the SDK raises, as a `ModelError`.

The classes are told by their names: the SDK is not imported here, and its HTTP client is no dependency of ours.

| from the SDK | becomes | retryable |
|---|---|---|
| 401, 403, missing or unreadable credentials | `AuthenticationError` | no |
| 400 "prompt is too long", 413 | `ContextOverflowError` | no |
| 400 "content filtering policy" | `ContentFilterError` | no |
| 400, 404, 422 and other 4xx; a request that cannot be put into bytes | `BadRequestError` | no |
| 429, 402 | `RateLimitError` | yes, unless money is what lacks |
| 408, 504, no answer in time | `ModelTimeoutError` | yes |
| 409, 499, 529 and other 5xx, no connection, a broken stream | `ProviderUnavailableError` | yes, 501 excepted |

An `error` event in mid-stream comes with the status 200; its type then says what it is. Where the server sends
`x-should-retry`, it decides.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from email.utils import mktime_tz, parsedate_tz
from math import isfinite
from typing import Any, Final

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

from .edge import as_object

_STATUS: Final = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "billing_error": 402,
    "permission_error": 403,
    "not_found_error": 404,
    "conflict_error": 409,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "api_error": 500,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""The status that the API gives to each type of error."""
_TOO_LONG: Final = re.compile(
    r"prompt is too long|exceeds? (the )?context|context (window|limit|length)|too many tokens"
)
_FILTERED: Final = re.compile(r"content filter")
_KEY: Final = "check ANTHROPIC_API_KEY, or the api_key given to AnthropicModel"


def sending_failed(error: Exception, name: str) -> ModelError:
    """Map what was raised while the request was sent and no answer had begun.

    Args:
        error: What the SDK raised.
        name: The model's full name, for the message.
    """
    if isinstance(error, TypeError) and "authentication method" in str(error):
        return no_key(name)
    return _from_sdk(error, name) or BadRequestError(f"{name}: the request cannot be put into JSON: {error}")


def reading_failed(error: Exception, name: str) -> ModelError:
    """Map what was raised while the answer was read.

    Here the SDK lets through what its HTTP client and its decoder raise: a dropped connection, a read that took too
    long, an event that is not JSON or not UTF-8.
    """
    return _from_sdk(error, name) or _broken(error, name)


def no_key(name: str) -> AuthenticationError:
    """What to say where no key can be found."""
    return AuthenticationError(
        f"{name}: no API key found: set ANTHROPIC_API_KEY, or pass AnthropicModel(..., api_key=...)"
    )


def _from_sdk(error: Exception, name: str) -> ModelError | None:
    kinds = _kinds(error)
    if "APIStatusError" in kinds:
        refusal: Any = error
        return _refused(refusal.status_code, refusal.body, refusal.response.headers, name)
    if "APIConnectionError" in kinds:
        return _broken(error, name)
    if "APIResponseValidationError" in kinds:
        return ProviderUnavailableError(f"{name} sent what the SDK cannot read: {error}")
    if kinds & {"CredentialsError", "WorkloadIdentityError"}:
        return AuthenticationError(f"{name}: the credentials cannot be loaded: {error}")
    if "AnthropicError" in kinds:
        return ModelError(f"{name}: {type(error).__name__}: {error}", retryable="RetryableError" in kinds)
    return None


def _kinds(error: BaseException) -> set[str]:
    return {kind.__name__ for kind in type(error).__mro__}


def _broken(error: BaseException, name: str) -> ModelError:
    """A failure of the connection, or of what came through it."""
    cause = error.__cause__ or error
    why = f"{type(cause).__name__}: {cause}".rstrip(": ")
    if _kinds(error) & {"APITimeoutError", "TimeoutException"}:
        return ModelTimeoutError(f"{name} did not answer in time ({why}): try again, or raise timeout")
    return ProviderUnavailableError(f"{name}: the connection failed or broke off ({why}): try again")


def _refused(status: int, body: object, headers: Mapping[str, str], name: str) -> ModelError:
    kind, said, code = _details(body)
    if status < 400:  # an event in mid-stream: the answer had begun well
        status = _STATUS.get(kind, 500)
    text = f"{status}{f' {kind}' if kind else ''}: {said or 'no reason given'}{_request_id(headers)}"
    known: dict[str, Any] = {"status": status, "retry_after": retry_after(headers, time.time())}
    advice = headers.get("x-should-retry")
    if advice in ("true", "false"):
        known["retryable"] = advice == "true"
    return _classified(status, f"{kind} {said}".lower(), code, f"{name}: {text}", known)


def _classified(status: int, said: str, code: str, text: str, known: dict[str, Any]) -> ModelError:
    match status:
        case 401 | 403:
            return AuthenticationError(f"{text}; {_KEY}", **known)
        case 402:
            return RateLimitError(f"{text}; see the billing page of the Claude Console", **{"retryable": False} | known)
        case 404:
            return BadRequestError(f"{text}; check the model's name and the base_url", **known)
        case 413:
            return ContextOverflowError(f"{text}; shorten the history or send smaller files", **known)
        case 400 if _TOO_LONG.search(said):
            return ContextOverflowError(f"{text}; shorten the history, or choose a model with a larger window", **known)
        case 400 if _FILTERED.search(said):
            return ContentFilterError(text, **known)
        case 408 | 504:
            return ModelTimeoutError(text, **known)
        case 429:
            return RateLimitError(text, **({"retryable": False} if "spend_limit" in code else {}) | known)
        case 501:
            return ProviderUnavailableError(text, **{"retryable": False} | known)
        case 409 | 499:
            return ProviderUnavailableError(text, **known)
        case _ if status >= 500:
            return ProviderUnavailableError(text, **known)
        case _:
            return BadRequestError(text, **known)


def _details(body: object) -> tuple[str, str, str]:
    """The type, the message and the code of an error's body; of another shape (Bedrock's, a proxy's) the message."""
    error = as_object(as_object(body).get("error"))
    if not error:
        return "", body[:500] if isinstance(body, str) else str(as_object(body).get("message") or ""), ""
    details = as_object(error.get("details"))
    return str(error.get("type") or ""), str(error.get("message") or ""), str(details.get("error_code") or "")


def _request_id(headers: Mapping[str, str]) -> str:
    found = headers.get("request-id")
    return f" (request {found})" if found else ""


def retry_after(headers: Mapping[str, str], now: float) -> float | None:
    """Return the seconds a server asks to wait, at least 0; None where it does not say.

    Args:
        headers: `retry-after-ms` in milliseconds, else `retry-after` in seconds or as a date (RFC 9110, 10.2.3).
        now: Seconds since 1970.
    """
    for key, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(key, "")) * unit
        except ValueError:
            continue
        if isfinite(seconds):
            return max(seconds, 0.0)
    date = parsedate_tz(headers.get("retry-after", ""))
    return None if date is None else max(mktime_tz(date) - now, 0.0)
