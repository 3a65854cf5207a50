from __future__ import annotations

import asyncio

import pytest

from agent_express import TurnAbortedError, errors
from agent_express_cli.errors import LONGEST, problem
from agent_express_cli.exits import CommandError, Exit


@pytest.mark.parametrize(
    ("error", "message", "code"),
    [
        (CommandError("say something"), "say something", Exit.USAGE),
        (CommandError("gone", Exit.PIPE_CLOSED), "gone", Exit.PIPE_CLOSED),
        (errors.UnknownModelError("no model"), "no model", Exit.USAGE),
        (errors.InputError("it is empty"), "it is empty", Exit.USAGE),
        (errors.AuthenticationError("no key"), "no key", Exit.USAGE),
        (errors.BadRequestError("no such model", status=404), "no such model", Exit.USAGE),
        (errors.BadRequestError("a bad request", status=400), "a bad request", Exit.FAILED),
        (errors.RateLimitError("slow down", retry_after=1.5), "slow down; try again in 1.5 seconds", Exit.FAILED),
        (errors.RateLimitError("slow down"), "slow down", Exit.FAILED),
        (errors.TurnTimeoutError("too long"), "too long; --timeout allows it more", Exit.TIMEOUT),
        (TurnAbortedError("too dear", "budget"), "budget stopped the turn: too dear", Exit.FAILED),
        (errors.NextForgottenError("guard forgot next()"), "guard forgot next()", Exit.FAILED),
        (ValueError("no"), "ValueError: no; --debug shows the traceback", Exit.FAILED),
        (ValueError(), "ValueError; --debug shows the traceback", Exit.FAILED),
    ],
)
def test_an_error_is_a_sentence_and_an_exit_code(error: Exception, message: str, code: Exit) -> None:
    found = problem(error)
    assert (found.kind, found.message, found.code) == (type(error).__name__, message, code)


def test_a_group_is_told_by_its_first_error_however_deep() -> None:
    group = ExceptionGroup("outer", [ExceptionGroup("inner", [errors.InputError("it is empty")]), ValueError("no")])
    assert problem(group).kind == "InputError"


def test_notes_say_where_a_foreign_error_was_raised() -> None:
    error = KeyError("colour")
    error.add_note("in guard.turn")
    error.add_note("in turn 0")
    assert problem(error).message == "KeyError: 'colour' (in guard.turn, in turn 0); --debug shows the traceback"


def test_a_cancellation_that_nobody_asked_for_is_told() -> None:
    assert "cancelled from within" in problem(asyncio.CancelledError()).message


def test_a_message_of_many_lines_is_one_sentence_of_a_length() -> None:
    message = problem(errors.ModelError("first\n  second\n" + "x" * 10_000)).message
    assert message.startswith("first second xxx")
    assert len(message) == LONGEST
