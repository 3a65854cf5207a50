"""What a check raises, and which error of the framework is the business of which check."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NoReturn

from agent_express.errors import (
    EventError,
    HookError,
    MissingEndError,
    NextCalledTwiceError,
    Signal,
    StateError,
    TurnAbortedError,
    WrongResultError,
)
from agent_express.testing import NetworkError


class ConformanceError(AssertionError):
    """A check found what must not be; the message says who, what was found, what was expected, what to do."""


OWNERS: Mapping[type[Exception], str] = {
    NextCalledTwiceError: "next-once",
    MissingEndError: "end-passes",
    EventError: "declared-only",
    StateError: "declared-only",
    NetworkError: "permissions",
    HookError: "result-passes",
}
"""Errors that say themselves what is wrong, so that one fault fails one check: the nearest class counts."""

AFTER_THE_END = "after its End"
"""What core says of a stream that goes on after its `End`."""


def owner_of(error: BaseException) -> str:
    """The check that reports *error*; empty where no check owns it."""
    if isinstance(error, WrongResultError) and AFTER_THE_END in str(error):
        return "end-passes"
    for kind, check in OWNERS.items():
        if isinstance(error, kind):
            return check
    return ""


def is_refusal(error: BaseException) -> bool:
    """Whether *error* is a turn that a middleware stopped on purpose: control flow, no failure."""
    return isinstance(error, Signal | TurnAbortedError)


def told(error: BaseException) -> str:
    """An error in one line."""
    text = " ".join(str(error).split())
    kind = type(error).__name__
    return f"{kind}: {text}" if text else kind


def fail(message: str) -> NoReturn:
    """Raise `ConformanceError` with *message*."""
    raise ConformanceError(message)
