"""What went wrong at the provider, as one of our errors. Pure: statuses, bodies and headers in, errors out."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, cast

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

_OVERFLOW = frozenset({"context_length_exceeded", "exceed_context_size_error", "context_window_exceeded"})
_OVERFLOW_SAID = re.compile(
    r"maximum context|context (length|window|size)|prompt is too long|input is too long|too many (input|prompt) tokens",
    re.IGNORECASE,
)
_FILTER = frozenset(
    {
        *("content_filter", "content_policy_violation", "invalid_prompt", "moderation_blocked"),
        *("bio_policy", "cyber_policy", "misalignment_policy_violation", "image_content_policy_violation"),
    }
)
_UNSUPPORTED = frozenset({"unsupported_parameter", "unsupported_value", "unsupported_feature"})
_SPENT = frozenset({"insufficient_quota", "billing_hard_limit_reached", "billing_not_active", "insufficient_balance"})
_BUSY = frozenset({"rate_limit_exceeded", "rate_limit_error", "too_many_requests", "tokens", "requests"})
_KEY = frozenset({"invalid_api_key", "authentication_error", "permission_error", "permission_denied"})
_REQUEST = frozenset({"invalid_request_error", "bad_request", "badrequesterror", "model_not_found", "not_found_error"})


@dataclass(frozen=True, slots=True)
class Fault:
    """What a provider says of a failure.

    Attributes:
        message: In its words.
        status: The HTTP status; None in the middle of a stream, unless the event has one.
        words: Its codes and types, in lower case.
        retry_after: Seconds it asks to wait.
    """

    message: str = ""
    status: int | None = None
    words: frozenset[str] = frozenset()
    retry_after: float | None = None


def fault_in(body: Any, status: int | None = None, headers: Mapping[str, str] | None = None) -> Fault:
    """Read an error body: OpenAI's object, one level deeper or not, a bare string, or FastAPI's "detail"."""
    wait = retry_after(headers or {}, datetime.now(UTC))
    if not isinstance(body, Mapping):
        return Fault(str(body or "")[:500], status, retry_after=wait)
    fields = cast(Mapping[str, Any], body)
    if isinstance(fields.get("error"), Mapping | str):
        return fault_in(fields["error"], status, headers)
    code = fields.get("code")
    if status is None and isinstance(code, int) and 400 <= code < 600:
        status = code
    words = {str(each).lower() for each in (code, fields.get("type")) if isinstance(each, str)}
    said = fields.get("message") or fields.get("detail") or ""
    return Fault(str(said)[:2000], status, frozenset(words), wait)


def model_error(name: str, fault: Fault) -> ModelError:
    """The error for *fault* at the model *name*."""
    kind, what, retryable = _verdict(fault)
    codes = " ".join(filter(None, [str(fault.status or ""), *sorted(fault.words)]))
    said = f": {fault.message}" if fault.message else ""
    return kind(
        f"{name}: {what}{f' ({codes})' if codes else ''}{said}",
        retryable=retryable,
        retry_after=fault.retry_after,
        status=fault.status,
    )


def _verdict(fault: Fault) -> tuple[type[ModelError], str, bool | None]:
    """(class, what happened, retryable where the class does not say); words weigh more than the status."""
    status, words = fault.status, fault.words
    if words & _OVERFLOW or (status in (400, 413, 422, 500, None) and _OVERFLOW_SAID.search(fault.message)):
        return ContextOverflowError, "the request is longer than the context window", None
    if words & _FILTER:
        return ContentFilterError, "refused by the provider's content policy", None
    if words & _SPENT or status == 402:
        return RateLimitError, "the account's quota is spent; add credit or raise its limit", False
    if words & _UNSUPPORTED:
        return UnsupportedError, "the model lacks a setting of this request", None
    if status is not None:
        return _by_status(fault, status)
    if words & _BUSY:
        return RateLimitError, "too many requests", None
    if words & _KEY:
        return AuthenticationError, "the key was refused", None
    if words & _REQUEST:
        return BadRequestError, "the request was refused", None
    return ProviderUnavailableError, "the provider failed in the middle of its answer", None


def _by_status(fault: Fault, status: int) -> tuple[type[ModelError], str, bool | None]:
    match status:
        case 401:
            return AuthenticationError, "the key was refused; check OPENAI_API_KEY or api_key=", None
        case 403:
            return AuthenticationError, "the key may not do this; check its permissions", None
        case 404:
            return BadRequestError, "no such model or address; check the model's name and the base_url", None
        case 408 | 504:
            return ModelTimeoutError, "the provider did not answer in time", None
        case 409:
            return ProviderUnavailableError, "the provider is busy with a conflicting request", None
        case 429 if fault.message.startswith("Request too large"):
            return RateLimitError, "the request alone is over the account's tokens per minute; shorten it", False
        case 429:
            return RateLimitError, "too many requests", None
        case _ if status >= 500:
            return ProviderUnavailableError, "the provider failed", None
        case _:
            return BadRequestError, "the request was refused", None


def retry_after(headers: Mapping[str, str], now: datetime) -> float | None:
    """Seconds to wait: "retry-after-ms", or "retry-after" in seconds or as a date (RFC 9110, section 10.2.3)."""
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        with suppress(KeyError, ValueError):
            seconds = float(headers[name]) * scale
            if math.isfinite(seconds):
                return max(0.0, seconds)
    try:
        when = parsedate_to_datetime(headers["retry-after"])
    except (KeyError, ValueError):
        return None
    return max(0.0, (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp() - now.timestamp())
