"""`agent-express chat` as a process: through a pipe, and at a keyboard."""

from __future__ import annotations

import json
import subprocess
from typing import Any


def test_each_line_of_a_pipe_is_a_message_of_one_conversation(command: Any) -> None:
    run = command("chat", "-s", "stacks:counting", stdin="one\n\n  two  \nthree")
    assert (run.returncode, run.stdout) == (0, "one\none + two\none + two + three\n")
    assert run.stderr == ""


def test_the_answers_are_objects_where_a_machine_reads(command: Any) -> None:
    run = command("chat", "-s", "stacks:counting", "--json", "--show", "events", stdin="one\ntwo\n")
    told = [json.loads(line) for line in run.stdout.splitlines()]
    assert [each["text"] for each in told if each["type"] == "answer"] == ["one", "one + two"]
    assert told[-1]["type"] == "answer"


def test_the_exit_code_of_a_pipe_is_that_of_the_last_turn(command: Any) -> None:
    failed = command("chat", "-s", "stacks:aborting", stdin="hi\n")
    assert (failed.returncode, failed.stdout) == (1, "")
    assert failed.stderr == "error: guard stopped the turn: nobody may know that\n"
    assert command("chat", "-s", "stacks:aborting", stdin="hi\n/help\n").returncode == 1
    assert command("chat", "-s", "stacks:aborting", stdin="").returncode == 0


def test_a_turn_that_fails_does_not_end_the_conversation(command: Any) -> None:
    run = command("chat", "-s", "stacks:endless", "--timeout", "0.2", stdin="hi\nquick\n")
    assert (run.returncode, run.stdout) == (0, "There are 3 messages.\n")
    assert "took longer than 0.2 seconds" in run.stderr


def test_what_cannot_be_opened_is_refused_in_one_sentence(command: Any) -> None:
    run = command("chat", "-s", "stacks:a_failing_init", stdin="hi\n")
    assert run.returncode == 1
    assert run.stderr == (
        "error: ConnectionError: no database at port 1 (in init of 'database'); --debug shows the traceback\n"
    )
    assert command("chat", "--model", "gpt-5", stdin="hi\n").returncode == 2


def test_a_line_that_no_model_can_read_ends_the_conversation(command: Any) -> None:
    run = command("chat", "-s", "stacks:counting", stdin=b"one\ncaf\xe9\n")
    assert run.returncode == 2
    assert run.stderr == "error: what came through the pipe is not UTF-8 text: byte 3 is 0xe9; convert it\n"


def test_commands_show_the_log_and_the_onion(command: Any) -> None:
    run = command("chat", "-s", "stacks:retry", stdin="hi\n/events\n/onion\n/help\n/exit\nnever said\n")
    assert run.returncode == 0
    assert run.stdout.startswith("This is right.\n\nevents\n")
    assert "turn:ended" in run.stdout
    assert "\nonion\n  model\n    retry  local stacks\n" in run.stdout
    assert "Ctrl-C    stop the answer" in run.stdout
    assert "never said" not in run.stdout


def test_a_command_that_does_not_exist_is_not_sent_to_the_model(command: Any) -> None:
    run = command("chat", "-s", "stacks:counting", stdin="/evnts\n/etc/hosts is a file\n")
    assert run.stdout == "/etc/hosts is a file\n"
    assert run.stderr == "note: there is no /evnts; /help says what there is\n"


def test_events_are_those_of_the_last_turn(command: Any) -> None:
    run = command("chat", "-s", "stacks:counting", "--show", "events", stdin="one\ntwo\n")
    first, second = run.stdout.split("\nevents\n")[1:]
    assert first.count("turn:started") == second.count("turn:started") == 1
    assert "one" in first
    assert "user:said        two" in second


def test_deferred_work_goes_on_while_the_user_thinks(piped: Any) -> None:
    talk = piped("chat", "-s", "stacks:deferring", stderr=subprocess.STDOUT)
    talk.type("hi\n")
    talk.expect("That was quick.")
    talk.expect("[done afterwards]")  # and yet nothing more was said
    talk.process.stdin.close()
    assert talk.end() == 0


def test_a_person_is_told_who_answers_and_what_can_be_done(keyboard: Any) -> None:
    talk = keyboard("chat", "-s", "stacks:hello")
    talk.expect("note: you talk with function; /help says what else there is")
    talk.expect("> ")
    talk.type("/help\n")
    talk.expect("Ctrl-C    stop the answer that is being written")
    talk.expect("> ")
    talk.type("/exit\n")
    assert talk.end() == 0


def test_the_prompt_stays_out_of_a_pipe_that_takes_the_answers(keyboard: Any, tmp_path: Any) -> None:
    talk = keyboard("chat", "-s", "stacks:hello", stdout=tmp_path / "answers.txt")
    talk.expect("> ")
    talk.type("hi\n")
    talk.expect("> ")
    talk.type("\x04")
    assert talk.end() == 0
    assert (tmp_path / "answers.txt").read_text(encoding="utf-8") == "You said: hi\n"
