"""What a person sees: the screen on a small terminal of the test's own, and in a pipe."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import pytest

from agent_express import Agent, Event, Restarted, TextDelta
from agent_express.events import ReasoningDelta, ToolCalled
from agent_express.testing import ScriptedModel
from agent_express_cli.errors import Problem
from agent_express_cli.exits import Exit
from agent_express_cli.talking.terminal import TextScreen

WIDTH, HEIGHT = 60, 12


@pytest.fixture
def terminal(small_terminal: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    for name, value in {"COLUMNS": WIDTH, "LINES": HEIGHT, "TERM": "xterm"}.items():
        monkeypatch.setenv(name, str(value))
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    return small_terminal(WIDTH)


def show(screen: TextScreen, *events: Event | str) -> None:
    for event in events:
        screen.event(TextDelta(event) if isinstance(event, str) else event)


def answer_of(text: str) -> Any:
    return Agent(ScriptedModel(text)).run_sync("hi")


def add(**args: Any) -> ToolCalled:
    return ToolCalled("0.0.0", "c1", "add", args)


again = Restarted("retry", 2)


def test_text_is_shown_as_it_comes(terminal: Any) -> None:
    screen = TextScreen(terminal, terminal)
    show(screen, "It is ", "12 ")
    assert terminal.text == "It is 12"
    show(screen, "degrees.")
    screen.answer(answer_of("It is 12 degrees."))
    assert terminal.text == "It is 12 degrees.\n"


def test_lines_stand_between_the_parts_of_the_text_and_are_set_apart(terminal: Any) -> None:
    screen = TextScreen(terminal, terminal)
    show(screen, "Let me see.", add(a=2, b=3), "It is 5.")
    screen.answer(answer_of("It is 5."))
    assert terminal.text == "Let me see.\n→ add(a=2, b=3)\n\nIt is 5.\n"


@pytest.mark.parametrize(
    "pieces", [["It is wrong"], ["x" * WIDTH], ["word " * 30], ["one\ntwo\n", "three"], ["日本語" * 40]]
)
def test_a_try_that_starts_again_is_wiped_off_to_the_last_letter(terminal: Any, pieces: Sequence[str]) -> None:
    screen = TextScreen(terminal, terminal)
    show(screen, add(a=1), *pieces, again, "It is right.")
    screen.answer(answer_of("It is right."))
    assert terminal.text == "→ add(a=1)\n\n(starting again: retry, attempt 2)\n\nIt is right.\n"


def test_what_no_longer_stands_on_the_screen_is_taken_back_in_words(terminal: Any) -> None:
    screen = TextScreen(terminal, terminal)
    show(screen, "line\n" * HEIGHT, again, "It is right.")
    assert terminal.text.endswith("line\n(starting again: retry, attempt 2)\nIt is right.")


def test_a_terminal_that_cannot_wipe_is_told_in_words(terminal: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    screen = TextScreen(terminal, terminal)
    show(screen, "It is wrong", again, "It is right.")
    assert terminal.text == "It is wrong\n(starting again: retry, attempt 2)\nIt is right."


def test_an_answer_that_was_not_streamed_takes_the_place_of_what_was(terminal: Any) -> None:
    screen = TextScreen(terminal, terminal)
    show(screen, "A draft.")
    screen.answer(answer_of("The answer."))
    assert terminal.text == "(the answer is another one)\n\nThe answer.\n"


def test_thinking_is_shown_apart_from_the_answer(terminal: Any) -> None:
    screen = TextScreen(terminal, terminal)
    show(screen, ReasoningDelta("Let me "), ReasoningDelta("think."), "It is 5.")
    assert terminal.text == "Let me think.\nIt is 5."


def test_thinking_stays_out_of_pipes() -> None:
    out, err = io.StringIO(), io.StringIO()
    screen = TextScreen(out, err)
    show(screen, ReasoningDelta("Let me think."), "It is 5.")
    screen.answer(answer_of("It is 5."))
    assert (out.getvalue(), err.getvalue()) == ("It is 5.\n", "")


def test_failures_are_red_and_what_was_shown_stays(terminal: Any) -> None:
    screen = TextScreen(terminal, terminal)
    show(screen, "It is ")
    screen.problem(Problem("ValueError", "it broke", Exit.FAILED))
    assert terminal.text == "It is\nerror: it broke\n"
    assert "31m" in terminal.codes


def test_no_color_leaves_colours_out(terminal: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    screen = TextScreen(terminal, terminal)
    screen.problem(Problem("ValueError", "it broke", Exit.FAILED))
    assert terminal.text == "error: it broke\n"
    assert not [code for code in terminal.codes if code.startswith("3")]


def test_a_pipe_gets_neither_colours_nor_pieces() -> None:
    out, err = io.StringIO(), io.StringIO()
    screen = TextScreen(out, err)
    show(screen, "It is wrong", again, add(a=1), "It is right.")
    assert out.getvalue() == ""
    screen.answer(answer_of("It is right."))
    assert out.getvalue() == "It is right.\n"
    assert err.getvalue() == "(starting again: retry, attempt 2)\n→ add(a=1)\n"


def test_with_the_answer_in_a_pipe_the_terminal_still_shows_the_rest(terminal: Any) -> None:
    out = io.StringIO()
    screen = TextScreen(out, terminal)
    show(screen, "It is ", add(a=1), "It is 5.")
    screen.answer(answer_of("It is 5."))
    assert out.getvalue() == "It is 5.\n"
    assert terminal.text == "→ add(a=1)\n"


def test_what_a_model_says_cannot_steer_the_terminal_and_reaches_a_pipe_as_it_is(terminal: Any) -> None:
    hostile = "\x1b]0;owned\x07\x1b[2Jhidden"
    screen = TextScreen(terminal, terminal)
    show(screen, hostile)
    screen.answer(answer_of(hostile))
    assert terminal.text == "�]0;owned��[2Jhidden\n"
    out = io.StringIO()
    TextScreen(out, io.StringIO()).answer(answer_of(hostile))
    assert out.getvalue() == f"{hostile}\n"


def test_neither_can_an_error_of_a_provider(terminal: Any) -> None:
    TextScreen(terminal, terminal).problem(Problem("ModelError", "it said \x1b[2J", Exit.FAILED))
    assert terminal.text == "error: it said �[2J\n"


def test_reports_come_under_a_title_and_fit_the_terminal(terminal: Any) -> None:
    screen = TextScreen(terminal, terminal)
    screen.report("events", ["short", "x" * 100])
    assert terminal.text.splitlines() == ["", "events", "  short", f"  {'x' * (WIDTH - 3)}…"]


def test_an_interruption_keeps_what_was_shown(terminal: Any) -> None:
    screen = TextScreen(terminal, terminal)
    show(screen, "It is ")
    screen.interrupted()
    show(screen, "A new answer.")
    screen.answer(answer_of("A new answer."))
    assert terminal.text == "It is\n(interrupted)\n\nA new answer.\n"
