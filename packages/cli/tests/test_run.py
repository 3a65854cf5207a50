"""`agent-express run` as a process: what comes out where, and what a script finds in `$?`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest


def objects(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


def test_the_answer_alone_goes_to_stdout(command: Any) -> None:
    run = command("run", "--stack", "stacks:tools", "What is 2 and 3?")
    assert (run.returncode, run.stdout) == (0, "The sum is 5.\n")


def test_tool_calls_are_told_on_stderr_as_they_happen(command: Any) -> None:
    run = command("run", "--stack", "stacks:tools", "What is 2 and 3?")
    assert run.stderr.splitlines() == [
        "→ add(a=2, b=3)",
        "← add: 5",
        "→ divide(a=1, b=0)",
        "✗ divide: ZeroDivisionError: division by zero",
        "→ subtract(a=1)",
        "✗ subtract (unknown): there is no tool 'subtract'; there are: add, divide",
    ]


def test_nobody_but_the_offline_model_answers_without_a_key(command: Any) -> None:
    run = command("run", "What can you do?")
    assert run.returncode == 0
    assert "offline model" in run.stdout
    assert "the offline model answers" in run.stderr
    assert "set OPENAI_API_KEY or ANTHROPIC_API_KEY" in run.stderr


def test_words_need_no_quotes(command: Any) -> None:
    assert command("run", "-s", "stacks:hello", "good", "morning").stdout == "You said: good morning\n"


@pytest.mark.parametrize("args", [[], ["-"]])
def test_what_comes_through_a_pipe_is_the_message(command: Any, args: list[str]) -> None:
    run = command("run", "-s", "stacks:hello", *args, stdin="Grüße aus der Röhre\n")
    assert (run.returncode, run.stdout) == (0, "You said: Grüße aus der Röhre\n")


def test_a_pipe_can_be_part_of_the_message(command: Any) -> None:
    run = command("run", "-s", "stacks:hello", "Shorten this:", "-", stdin="a long story")
    assert run.stdout == "You said: Shorten this:\n\na long story\n"


def test_an_app_holds_several_agents_and_one_of_them_is_asked(command: Any) -> None:
    assert command("run", "-s", "stacks:app", "--agent", "sales", "hi").stdout == "I was told: Sell.\n"


def test_a_model_of_ones_own_code_answers(command: Any) -> None:
    assert command("run", "--model", "stacks:router", "hi").stdout == "The router says hi.\n"
    assert command("run", "--model", "stacks:make_router", "hi").stdout == "The router says hi.\n"


def test_system_stands_in_place_of_the_instructions(command: Any) -> None:
    assert command("run", "-s", "stacks:system", "hi").stdout == "I was told: Be kind.\n"
    assert command("run", "-s", "stacks:system", "--system", "Be terse.", "hi").stdout == "I was told: Be terse.\n"


def test_python_dash_m_is_the_same_as_the_script_that_pip_installs() -> None:
    from importlib.metadata import entry_points

    from agent_express_cli import main

    (script,) = [each for each in entry_points(group="console_scripts") if each.name == "agent-express"]
    assert script.load() is main


# --- streaming ------------------------------------------------------------------------------------


def test_a_pipe_gets_nothing_of_a_try_that_failed(command: Any) -> None:
    run = command("run", "-s", "stacks:retry", "hi")
    assert run.stdout == "This is right.\n"
    assert run.stderr == "(starting again: retry, attempt 2)\n"


def test_a_pipe_that_is_streamed_into_is_told_to_start_again(command: Any) -> None:
    run = command("run", "-s", "stacks:retry", "--stream", "hi")
    assert run.stdout == "This is wro\n(starting again: retry, attempt 2)\nThis is right.\n"


def test_a_stream_also_holds_what_was_said_before_a_tool_call(command: Any) -> None:
    assert command("run", "-s", "stacks:tools", "--stream", "hi").stdout == "Let me see.\nThe sum is 5.\n"


def test_where_the_answer_is_not_what_was_streamed_it_is_given_again(command: Any) -> None:
    run = command("run", "-s", "stacks:redrafted", "--stream", "hi")
    assert run.stdout == "A rough draft.\n(the answer is another one)\nThe polished answer.\n"
    assert command("run", "-s", "stacks:redrafted", "hi").stdout == "The polished answer.\n"


def test_nested_agents_speak_further_in_and_never_in_the_answer(command: Any) -> None:
    run = command("run", "-s", "stacks:nested", "--stream", "hi")
    assert run.stdout == "The reader says two.\n"
    assert run.stderr.splitlines() == [
        '→ reader(task="read")',
        "  reader: → add(a=1, b=1)",
        "  reader: ← add: 2",
        "  reader: I have read it.",
        "  reader: It says two.",
        "← reader: I have read it. … (2 lines)",
    ]


def test_an_answer_without_text_is_said_to_be_one(command: Any) -> None:
    run = command("run", "-s", "stacks:silent", "hi")
    assert (run.returncode, run.stdout, run.stderr) == (0, "", "note: the answer holds no text\n")


# --- for machines ---------------------------------------------------------------------------------


def test_json_gives_one_object_per_line_and_the_answer_last(command: Any) -> None:
    run = command("run", "-s", "stacks:tools", "--json", "What is 2 and 3?")
    assert run.returncode == 0
    assert run.stderr == ""
    told = objects(run.stdout)
    assert told[0]["type"] == "turn:started"
    assert told[-1]["type"] == "answer"
    assert told[-1]["text"] == "The sum is 5."
    assert told[-1]["usage"]["tool_calls"] == 2
    called = next(each for each in told if each["type"] == "tool:called")
    assert (called["name"], called["args"], called["position"]) == ("add", {"a": 2, "b": 3}, 5)


def test_deltas_are_written_simply(command: Any) -> None:
    told = objects(command("run", "-s", "stacks:hello", "--json", "hi").stdout)
    assert [each for each in told if each["type"].startswith("delta")] == [
        {"type": "delta:text", "text": "You"},
        {"type": "delta:text", "text": " said:"},
        {"type": "delta:text", "text": " hi"},
    ]


def test_json_tells_a_repeat_and_a_nested_path(command: Any) -> None:
    again = objects(command("run", "-s", "stacks:retry", "--json", "hi").stdout)
    assert [each["by"] for each in again if each["type"] == "restarted"] == ["retry"]
    nested = objects(command("run", "-s", "stacks:nested", "--json", "hi").stdout)
    assert "".join(
        each["text"] for each in nested if each["type"] == "delta:text" and each.get("path") == "reader"
    ) == ("I have read it.\nIt says two.")


def test_json_tells_failures_and_notes_on_stderr(command: Any) -> None:
    run = command("run", "--json", "-s", "stacks:aborting", "hi")
    assert run.returncode == 1
    assert objects(run.stderr) == [
        {
            "type": "error",
            "error": "TurnAbortedError",
            "message": "guard stopped the turn: nobody may know that",
            "exit_code": 1,
        }
    ]
    assert objects(run.stdout)[-1]["type"] == "turn:ended"
    assert objects(command("run", "--json", "hi").stderr)[0]["type"] == "note"


def test_json_keeps_the_answer_last_whatever_else_is_shown(command: Any) -> None:
    run = command("run", "-s", "stacks:retry", "--json", "--show", "onion", "--show", "events", "hi")
    told = objects(run.stdout)
    assert told[0] == {"type": "onion", "lines": ["model", "  retry  local stacks"]}
    assert told[-1]["type"] == "answer"


# --- what is shown beside the answer --------------------------------------------------------------


def test_show_prints_the_log_and_the_onion_after_the_answer(command: Any) -> None:
    run = command("run", "-s", "stacks:retry", "--show", "events", "--show", "onion", "hi")
    answer, events, onion = run.stdout.split("\n\n")
    assert answer == "This is right."
    kinds = [line.split()[1] for line in events.splitlines()[1:]]
    assert kinds[:4] == ["session:opened", "turn:started", "user:said", "model:called"]
    assert kinds[-1] == "turn:ended"
    assert onion == "onion\n  model\n    retry  local stacks\n"


def test_the_log_of_a_turn_that_failed_is_shown_too(command: Any) -> None:
    run = command("run", "-s", "stacks:aborting", "--show", "events", "hi")
    assert run.returncode == 1
    assert "turn:ended" in run.stdout
    assert "aborted by guard: nobody may know that" in run.stdout


# --- exit codes -----------------------------------------------------------------------------------


def refusal(run: Any) -> str:
    """The one sentence of a command that failed."""
    lines = run.stderr.splitlines()
    assert lines[-1].startswith("error: "), run.stderr
    assert "Traceback" not in run.stderr
    assert run.stdout == ""
    return str(lines[-1]).removeprefix("error: ")


@pytest.mark.parametrize(
    ("stack", "code", "said"),
    [
        ("aborting", 1, "guard stopped the turn: nobody may know that"),
        ("too_fast", 1, "scripted: too many requests; try again in 7 seconds"),
        ("refused", 2, "scripted: the key was refused; set another one"),
        ("cancelled_within", 1, "the turn was cancelled from within: a hook or the model raised CancelledError"),
        ("no_such_model", 2, "scripted: there is no such model"),
        (
            "a_failing_init",
            1,
            "ConnectionError: no database at port 1 (in init of 'database'); --debug shows the traceback",
        ),
    ],
)
def test_a_turn_that_fails_says_why_in_one_sentence(command: Any, stack: str, code: int, said: str) -> None:
    run = command("run", "-s", f"stacks:{stack}", "hi")
    assert (run.returncode, refusal(run)) == (code, said)


def test_a_bug_in_a_middleware_is_named_and_its_traceback_is_for_those_who_ask(command: Any) -> None:
    run = command("run", "-s", "stacks:buggy", "hi")
    assert run.returncode == 1
    assert refusal(run).startswith("KeyError: 'colour' (in guard.turn, in turn 0 of session ")
    debugged = command("run", "-s", "stacks:buggy", "--debug", "hi")
    assert debugged.returncode == 1
    assert 'raise KeyError("colour")' in debugged.stderr


def test_of_several_failures_the_first_is_told(command: Any) -> None:
    run = command("run", "-s", "stacks:group", "hi")
    assert run.returncode == 1
    assert refusal(run).startswith("ValueError: the first (in gather.turn")


@pytest.mark.parametrize("name", ["run", "chat"])
def test_a_hook_that_exits_ends_the_command_with_its_code(command: Any, name: str) -> None:
    run = command(name, "-s", "stacks:leaving", stdin="hi\n")
    assert (run.returncode, run.stdout, run.stderr) == (3, "", "")


def test_a_turn_that_takes_too_long_ends_with_124(command: Any) -> None:
    run = command("run", "-s", "stacks:endless", "--timeout", "0.05", "hi")
    assert run.returncode == 124
    assert run.stderr.splitlines()[0] == "[tidied up]"
    assert run.stderr.splitlines()[1].endswith("took longer than 0.05 seconds; --timeout allows it more")


def test_a_turn_without_a_step_left_has_no_answer(command: Any) -> None:
    run = command("run", "-s", "stacks:steps", "--max-steps", "2", "hi")
    assert (run.returncode, run.stdout) == (1, "Stopped after 2 steps without an answer.\n")
    assert run.stderr.splitlines()[-1] == "note: the turn met its limit max_steps; --max-steps allows more"


BAD = {
    "unknown model": (["--model", "gpt-5"], "no model provider 'gpt-5'"),
    "unknown provider": (["--model", "opnai:gpt-5"], "no model provider 'opnai'"),
    "no such option": (["--modle", "x"], "--modle"),
    "a limit of none": (["--max-steps", "0"], "--max-steps"),
    "no time at all": (["--timeout", "0"], "--timeout must be more than 0 seconds, got 0"),
    "not a time": (["--timeout", "nan"], "--timeout must be more than 0 seconds, got nan"),
    "no such module": (["-s", "nowhere:agent"], "there is no module 'nowhere'"),
    "no such attribute": (["-s", "stacks:helo"], "stacks has no 'helo'; was 'hello' meant?"),
    "no agent": (["-s", "stacks:not_an_agent"], "is a str, expected an Agent or a function that makes one"),
    "a class": (["-s", "stacks:Retry"], "is the class Retry, expected an Agent"),
    "a function that makes none": (["-s", "stacks:nothing"], "returned None, expected an Agent"),
    "no agent of that name": (["-s", "stacks:app", "--agent", "suport"], "no agent of that name; was 'support' meant?"),
    "several agents": (["-s", "stacks:app"], "holds several agents, say which with --agent: support, sales"),
    "another agent": (["-s", "stacks:hello", "--agent", "sales"], "stacks:hello holds one agent alone, 'agent'"),
    "a profile of code": (["-s", "stacks:hello", "--profile", "dev"], "--profile is for stack files"),
    "a lock of code": (["-s", "stacks:hello", "--locked"], "--locked is for stack files"),
    "a profile of nothing": (["--profile", "dev"], "--profile is for a stack, and there is none"),
    "a file of a kind that nobody loads": (["-s", "stacks.yaml"], "a stack file ends in .toml"),
    "a stack file that is not there": (["-s", "agnet.toml"], "--stack agnet.toml: there is no such file"),
    "own code that holds no model": (["--model", "stacks:not_an_agent"], "is a str, expected a model"),
    "own code that makes no model": (["--model", "stacks:nothing"], "made None, expected a model"),
    "own code without that model": (["--model", "stacks:rooter"], "stacks has no 'rooter'; was 'router' meant?"),
    "a module of that name by chance": (["--model", "json:x"], "nor is a model provider 'json' installed"),
    "own code that fails": (["--model", "stacks:broken_router"], "calling broken_router() failed at stacks.py, line"),
    "an async function": (["-s", "stacks:awaited"], "is async, expected a plain function"),
    "a file": (["-s", "stacks.py:hello"], "write it as module:attribute, such as stacks:hello"),
    "no attribute": (["-s", "stacks"], "write it as module:attribute, such as stacks:agent"),
    "an unsupported annotation": (["-s", "stacks:unsupported_annotation"], "tool 'draw': "),
    "a hook of the wrong kind": (["-s", "stacks:wrong_kind_of_hook"], "audit.tool is not async"),
    "a name clash": (["-s", "stacks:name_clash"], "a middleware named 'retry' is in use already"),
    "a clash of tools": (["-s", "stacks:tool_clash"], "two tools are named 'add'"),
}


@pytest.mark.parametrize(("args", "said"), list(BAD.values()), ids=list(BAD))
def test_what_cannot_be_done_is_refused_in_one_sentence(command: Any, args: list[str], said: str) -> None:
    run = command("run", *args, "hi")
    assert run.returncode == 2
    assert said in refusal(run)


@pytest.mark.parametrize("case", ["unknown model", "no such option", "no such module"])
def test_a_refusal_is_an_object_where_a_machine_reads(command: Any, case: str) -> None:
    args, said = BAD[case]
    run = command("run", *args, "--json", "hi")
    (told,) = [each for each in objects(run.stderr) if each["type"] == "error"]
    assert (run.returncode, told["exit_code"]) == (2, 2)
    assert said in told["message"]


INPUT: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "nothing was said"),
    "white space": (b" \n\t ", "nothing was said"),
    "five megabytes": (b"word " * 1_048_576, "longer than 4,000,000 bytes"),
    "not UTF-8": (b"caf\xe9", "is not UTF-8 text: byte 3 is 0xe9"),
    "a NUL": (b"a\x00b", "NUL"),
}


@pytest.mark.parametrize(("data", "said"), list(INPUT.values()), ids=list(INPUT))
def test_input_that_no_model_can_read_is_refused(command: Any, data: bytes, said: str) -> None:
    run = command("run", "-s", "stacks:hello", stdin=data)
    assert run.returncode == 2
    assert said in refusal(run)


def test_an_argument_that_is_not_unicode_is_refused(command: Any) -> None:
    run = command("run", "-s", "stacks:hello", "caf\udce9")
    assert run.returncode == 2
    assert "lone surrogate" in refusal(run)


# --- a stack that cannot be imported, a provider that cannot be used ------------------------------


STACKS = {
    "a syntax error": ("agent = Agent(\n", "importing shop failed at shop.py, line 1: SyntaxError"),
    "an error": ("x = 1\n1 / 0\n", "importing shop failed at shop.py, line 2: ZeroDivisionError: division by zero"),
    "a missing package": ("import no_such_package\n", "shop imports 'no_such_package', which is not installed here"),
    "an exit": ("import sys\nsys.exit(3)\n", "importing shop failed at shop.py, line 2: SystemExit: 3"),
}


@pytest.mark.parametrize(("code", "said"), list(STACKS.values()), ids=list(STACKS))
def test_a_stack_that_cannot_be_imported_is_named_with_its_line(
    command: Any, tmp_path: Path, code: str, said: str
) -> None:
    (tmp_path / "shop.py").write_text(code, encoding="utf-8")
    run = command("run", "-s", "shop:agent", "hi", folder=tmp_path)
    assert run.returncode == 2
    assert said in refusal(run)


def test_a_traceback_of_the_stack_is_shown_to_those_who_ask(command: Any, tmp_path: Path) -> None:
    (tmp_path / "shop.py").write_text("x = 1\n1 / 0\n", encoding="utf-8")
    run = command("run", "-s", "shop:agent", "--debug", "hi", folder=tmp_path)
    assert "Traceback" in run.stderr
    assert "1 / 0" in run.stderr


@pytest.fixture
def ghost(tmp_path: Path) -> dict[str, str]:
    """An environment with a package that offers models "ghost:..." and lacks what it needs for them."""
    (tmp_path / "ghost_models.py").write_text("import no_such_package\n", encoding="utf-8")
    info = tmp_path / "ghost_models-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: ghost-models\nVersion: 1.0\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[agent_express.models]\nghost = ghost_models:create\n", encoding="utf-8")
    return {"PYTHONPATH": str(tmp_path)}


def test_a_provider_that_lacks_a_package_says_what_to_install(command: Any, ghost: dict[str, str]) -> None:
    run = command("run", "--model", "ghost:any", "hi", env=ghost)
    assert run.returncode == 2
    assert "ghost-models offers 'ghost', but cannot be imported" in refusal(run)
    assert "pip install" in run.stderr


def test_the_environment_names_the_model_and_the_flag_names_another(command: Any, ghost: dict[str, str]) -> None:
    named = {"AGENT_EXPRESS_MODEL": "ghost:any", **ghost}
    assert command("run", "hi", env=named).returncode == 2
    flagged = command("run", "--model", "offline:commands", "hi", env=named)
    assert (flagged.returncode, flagged.stderr) == (0, "")


# --- the output -----------------------------------------------------------------------------------


def test_a_reader_that_goes_away_ends_the_command_quietly(piped: Any) -> None:
    import subprocess

    talk = piped("run", "-s", "stacks:hello", stderr=subprocess.PIPE)
    talk.process.stdout.close()
    _, err = talk.process.communicate(b"x" * 100_000, timeout=60)
    assert (talk.process.returncode, err) == (141, b"")


def test_text_leaves_as_utf_8_whatever_the_locale(command: Any) -> None:
    narrow = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"}
    run = command("run", "-s", "stacks:tools", stdin="日本語 ✓", env=narrow)
    assert (run.returncode, run.stdout) == (0, "The sum is 5.\n")
    assert run.stderr.startswith("→ add(a=2, b=3)\n")


def test_an_encoding_that_was_asked_for_is_kept_and_loses_no_line(command: Any) -> None:
    narrow = {"PYTHONIOENCODING": "ascii"}
    run = command("run", "-s", "stacks:tools", "hi", env=narrow)
    assert run.stderr.splitlines()[:2] == ["> add(a=2, b=3)", "< add: 5"]
    assert command("run", "-s", "stacks:hello", stdin="Grüße", env=narrow).stdout == "You said: Gr??e\n"


def test_an_output_that_takes_nothing_is_a_failure_and_no_traceback(command: Any) -> None:
    with Path(__file__).open("rb") as unwritable:
        run = command("run", "-s", "stacks:hello", "hi", stdout=unwritable)
    assert run.returncode == 1
    assert run.stderr == "error: the output cannot be written: Bad file descriptor\n"
