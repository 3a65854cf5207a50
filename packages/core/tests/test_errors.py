"""The tree of errors, and the rules its members keep."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator

import pytest

from agent_express import ExpressError, ToolError, TurnAbortedError, errors
from agent_express.errors import (
    Aborted,
    ContextOverflowError,
    InputError,
    ModelError,
    ProviderUnavailableError,
    RateLimitError,
    Signal,
)

LINE = re.compile(r"^    (?P<branches>[│├└─ ]*)(?P<name>\w+Error)\b")


def drawn() -> Iterator[tuple[str, str]]:
    """Each error of the docstring's tree and the one it hangs on."""
    above: list[str] = []
    for line in (errors.__doc__ or "").splitlines():
        found = LINE.match(line)
        if found:
            depth = len(found["branches"]) // 4
            del above[depth:]
            yield found["name"], above[-1] if above else "Exception"
            above.append(found["name"])


def defined() -> set[type[BaseException]]:
    found = {kind for _, kind in inspect.getmembers(errors, inspect.isclass) if kind.__module__ == errors.__name__}
    return {kind for kind in found if issubclass(kind, BaseException)}


def test_the_tree_in_the_docstring_is_the_tree_of_the_classes() -> None:
    real = {(kind.__name__, kind.__bases__[0].__name__) for kind in defined() if issubclass(kind, Exception)}
    assert set(drawn()) == real


def test_every_error_is_drawn_once_and_its_name_ends_in_error() -> None:
    names = [name for name, _ in drawn()]
    assert len(names) == len(set(names))
    assert {kind.__name__ for kind in defined() if not issubclass(kind, Signal)} == set(names)


def test_every_error_says_in_one_sentence_what_it_means() -> None:
    told = {kind.__name__: (kind.__doc__ or "").strip().splitlines()[:1] for kind in defined()}
    assert [name for name, first in told.items() if not first or not first[0].endswith(".")] == []


def test_signals_are_no_exceptions_so_that_a_broad_except_does_not_meet_them() -> None:
    assert not issubclass(Signal, Exception)
    assert {kind for kind in defined() if not issubclass(kind, ExpressError)} == {Signal, Aborted, errors.Parked}


def test_input_that_is_refused_is_a_value_error_too() -> None:
    assert issubclass(InputError, ValueError)


def test_an_aborted_turn_says_why_and_by_whom() -> None:
    error = TurnAbortedError("budget spent", "cost-cap")
    assert (str(error), error.reason, error.by) == ("cost-cap: budget spent", "budget spent", "cost-cap")


def test_a_tool_error_keeps_the_tool_and_what_it_raised() -> None:
    cause = LookupError("nothing there")
    error = ToolError("search", cause)
    assert (str(error), error.tool, error.error) == ("LookupError: nothing there", "search", cause)


@pytest.mark.parametrize(
    ("kind", "retryable"), [(RateLimitError, True), (ProviderUnavailableError, True), (ContextOverflowError, False)]
)
def test_a_model_error_says_whether_the_same_request_may_succeed_later(kind: type[ModelError], retryable: bool) -> None:
    assert kind("x").retryable is retryable
    assert kind("x", retryable=not retryable).retryable is not retryable


def test_a_model_error_carries_what_the_provider_said() -> None:
    error = RateLimitError("slow down", retry_after=2.5, status=429)
    assert (str(error), error.retry_after, error.status) == ("slow down", 2.5, 429)
