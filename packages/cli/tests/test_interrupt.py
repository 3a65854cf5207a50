"""Ctrl-C: the turn is cancelled in good order, the conversation goes on, and the exit code says what happened."""

from __future__ import annotations

import json
import signal
import subprocess
from collections.abc import Iterator
from typing import Any

import pytest


@pytest.fixture(autouse=True)
def heeded() -> Iterator[None]:
    """A shell starts background jobs with Ctrl-C ignored, and children inherit that."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_ctrl_c_cancels_the_turn_of_run_and_keeps_what_was_shown(keyboard: Any) -> None:
    talk = keyboard("run", "-s", "stacks:endless", "hi")
    talk.expect("begun")
    talk.type("\x03")
    talk.expect("[tidied up]")
    talk.expect("(interrupted)")
    assert talk.end() == 130
    assert "Traceback" not in talk.text


def test_a_signal_does_what_ctrl_c_does(piped: Any) -> None:
    talk = piped("run", "-s", "stacks:endless", "--stream", "hi")
    talk.expect("begun")
    talk.process.send_signal(signal.SIGINT)
    assert talk.end() == 130
    assert talk.text.split() == ["begun[tidied", "up]", "(interrupted)"]


def test_an_interruption_is_an_object_where_a_machine_reads(piped: Any) -> None:
    talk = piped("run", "-s", "stacks:endless", "--json", "hi", stderr=subprocess.PIPE)
    talk.expect("begun")
    talk.process.send_signal(signal.SIGINT)
    assert talk.end() == 130
    last = talk.process.stderr.read().decode().splitlines()[-1]
    assert json.loads(last) == {"type": "interrupted"}


def test_the_log_of_an_interrupted_turn_is_shown(piped: Any) -> None:
    talk = piped("run", "-s", "stacks:endless", "--stream", "--show", "events", "hi")
    talk.expect("begun")
    talk.process.send_signal(signal.SIGINT)
    assert talk.end() == 130
    assert "model:interrupted  begun" in talk.text
    assert "turn:ended         cancelled" in talk.text


@pytest.mark.parametrize("name", ["run", "chat"])
def test_a_second_ctrl_c_does_not_wait_for_a_turn_that_will_not_end(keyboard: Any, name: str) -> None:
    talk = keyboard(name, "-s", "stacks:stubborn", *(["hi"] if name == "run" else []))
    if name == "chat":
        talk.expect("> ")
        talk.type("hi\n")
    talk.expect("begun")
    talk.type("\x03")
    talk.expect("[not yet]")
    talk.type("\x03")
    talk.expect("(interrupted)")
    assert talk.end() == 130


def test_a_chat_goes_on_after_ctrl_c_with_all_that_was_said(keyboard: Any) -> None:
    talk = keyboard("chat", "-s", "stacks:endless")
    talk.expect("> ")
    for _ in range(2):
        talk.type("hi\n")
        talk.expect("begun")
        talk.type("\x03")
        talk.expect("[tidied up]")
        talk.expect("(interrupted)")
        talk.expect("> ")
    talk.type("quick\n")
    talk.expect("There are 5 messages.")  # hi, begun, hi, begun, quick
    talk.expect("> ")
    talk.type("\x04")
    assert talk.end() == 0


def test_ctrl_c_at_the_prompt_after_an_interrupted_turn_leaves(keyboard: Any) -> None:
    talk = keyboard("chat", "-s", "stacks:endless")
    talk.expect("> ")
    talk.type("hi\n")
    talk.expect("begun")
    talk.type("\x03")
    talk.expect("(interrupted)")
    talk.expect("> ")
    talk.interrupt("\n")
    assert talk.end() == 0


def test_ctrl_c_at_a_fresh_prompt_drops_the_line_and_leaves_when_pressed_again(keyboard: Any) -> None:
    talk = keyboard("chat", "-s", "stacks:hello")
    talk.expect("> ")
    talk.type("half a li")
    talk.expect("half a li")
    talk.interrupt("(Ctrl-C once more leaves, and so does Ctrl-D)")
    talk.expect("> ")
    talk.type("whole\n")
    talk.expect("You said: whole")
    talk.expect("> ")
    talk.interrupt("once more leaves")
    talk.expect("> ")
    talk.interrupt("\n")
    assert talk.end() == 0


def test_a_chat_through_a_pipe_ends_by_ctrl_c(piped: Any) -> None:
    talk = piped("chat", "-s", "stacks:endless", "--stream")
    talk.type("hi\nquick\n")
    talk.expect("begun")
    talk.process.send_signal(signal.SIGINT)
    assert talk.end() == 130
    assert "There are" not in talk.text
