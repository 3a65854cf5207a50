"""Faults: how the offline model can be told to misbehave, so that retries, time limits and guards can be tried.

offline:stall              the first call stalls, all later ones work (the same as offline:stall-once)
offline:stall-always       every call stalls
OfflineModel(faults=["rate-limit", "none", "truncate"])     call by call, then no more faults
"""

from __future__ import annotations

import difflib
from collections.abc import Callable
from typing import Final

from agent_express.errors import (
    ModelError,
    ModelTimeoutError,
    ProviderUnavailableError,
    RateLimitError,
    UnknownModelError,
)

RETRY_AFTER: Final = 0.2
"""Seconds that the pretended rate limit asks to wait."""

FAULTS: Final[dict[str, str]] = {
    "none": "answers as usual",
    "fail": "fails before the first word: ProviderUnavailableError, status 503, retryable",
    "rate-limit": f"fails before the first word: RateLimitError, status 429, retry after {RETRY_AFTER} seconds",
    "timeout": "fails before the first word: ModelTimeoutError, retryable",
    "stall": "sends the first piece of its answer and then nothing, until it is cancelled",
    "truncate": "sends half of its answer and breaks off: ProviderUnavailableError, retryable",
    "malformed-call": "cuts the arguments of its tool calls in the middle of the JSON; waits for an answer with calls",
}
"""Each fault and what it does to one model call."""

_RAISED: Final[dict[str, Callable[[], ModelError]]] = {
    "fail": lambda: ProviderUnavailableError("offline: fails because it was told to (fault 'fail')", status=503),
    "rate-limit": lambda: RateLimitError(
        "offline: refuses because it was told to (fault 'rate-limit')", status=429, retry_after=RETRY_AFTER
    ),
    "timeout": lambda: ModelTimeoutError("offline: times out because it was told to (fault 'timeout')"),
    "truncate": lambda: ProviderUnavailableError("offline: breaks off because it was told to (fault 'truncate')"),
}


def variants() -> tuple[str, ...]:
    """What may follow "offline:": "commands", and each fault by itself, with -once and with -always."""
    faults = [name for name in FAULTS if name != "none"]
    return ("commands", *(name + end for name in faults for end in ("", "-once", "-always")))


def parse_variant(variant: str) -> tuple[tuple[str, ...], bool]:
    """The faults that *variant* stands for, and whether the last of them is repeated for ever.

    Raises:
        UnknownModelError: There is no such variant; names the nearest and all of them.
    """
    if variant in ("", "commands"):
        return (), False
    name = variant.removesuffix("-once").removesuffix("-always")
    if variant in variants():
        return (name,), variant.endswith("-always")
    near = difflib.get_close_matches(variant, variants(), 1, cutoff=0.5)
    hint = f"meant 'offline:{near[0]}'? " if near else ""
    known = ", ".join(["commands", *(fault for fault in FAULTS if fault != "none")])
    raise UnknownModelError(
        f"the offline model has no variant {variant!r}; {hint}there are {known}; each fault also with -once and -always"
    )


def check_faults(faults: tuple[str, ...]) -> None:
    """Refuse a fault that does not exist.

    Raises:
        ValueError: Which one, and which there are.
    """
    for fault in faults:
        if fault not in FAULTS:
            raise ValueError(f"OfflineModel: there is no fault {fault!r}; faults are {', '.join(FAULTS)}")


def error_of(fault: str) -> ModelError | None:
    """The error that *fault* ends a call with; None for one that raises nothing."""
    make = _RAISED.get(fault)
    return make() if make else None
