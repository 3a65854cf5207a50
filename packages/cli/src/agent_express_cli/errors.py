"""Failures as one sentence and an exit code."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

from agent_express import ExpressError, TurnAbortedError
from agent_express.errors import (
    AuthenticationError,
    InputError,
    ModelError,
    RateLimitError,
    StackError,
    TurnTimeoutError,
    UseError,
)

from .exits import CommandError, Exit

LONGEST = 2000
"""Characters of a message that are shown."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A failure, to be told.

    Attributes:
        kind: The class of the error.
        message: One sentence, with what to do; of several problems all, one after the other.
        code: The exit code.
        lines: The same with a line for each problem; empty where there is one.
    """

    kind: str
    message: str
    code: Exit
    lines: tuple[str, ...] = ()


def problem(error: BaseException) -> Problem:
    """Say *error* in one sentence. A group of errors is told by its first."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    message, code = _told(error)
    lines = tuple(map(_line, str(error).splitlines())) if isinstance(error, StackError) else ()
    return Problem(type(error).__name__, "; ".join(lines) or _line(message), code, lines)


def _told(error: BaseException) -> tuple[str, Exit]:
    match error:
        case CommandError():
            return str(error), error.code
        case TurnTimeoutError():
            return f"{error}; --timeout allows it more", Exit.TIMEOUT
        case TurnAbortedError():
            return f"{error.by} stopped the turn: {error.reason}", Exit.FAILED
        case RateLimitError():
            return f"{error}{_wait(error)}", Exit.FAILED
        case ModelError():
            return str(error), Exit.USAGE if _is_setup(error) else Exit.FAILED
        case UseError() | InputError():
            return str(error), Exit.USAGE
        case ExpressError():
            return str(error), Exit.FAILED
        case asyncio.CancelledError():
            return "the turn was cancelled from within: a hook or the model raised CancelledError", Exit.FAILED
        case _:
            return f"{_foreign(error)}; --debug shows the traceback", Exit.FAILED


def _is_setup(error: ModelError) -> bool:
    """Whether the same command cannot succeed before somebody changes the key or the name of the model."""
    return isinstance(error, AuthenticationError) or error.status == 404


def _wait(error: RateLimitError) -> str:
    return "" if error.retry_after is None else f"; try again in {error.retry_after:g} seconds"


def _foreign(error: BaseException) -> str:
    """An error of the user's own code, with the notes on where it was raised."""
    told = f"{type(error).__name__}: {error}".rstrip(": ")
    notes = ", ".join(getattr(error, "__notes__", []))
    return f"{told} ({notes})" if notes else told


def _line(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 1]}…"
