"""What --help says, and what it costs."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agent_express_cli.exits import MEANING, Exit

README = Path(__file__).parents[1] / "README.md"


def test_help_tells_a_newcomer_what_to_type_and_what_the_exit_codes_mean(command: Any) -> None:
    run = command("--help")
    assert run.returncode == 0
    assert 'agent-express run "What can you do?"' in run.stdout
    for code, meaning in MEANING.items():
        assert re.search(rf"^ *{code.value} +{re.escape(meaning)}$", run.stdout, re.MULTILINE)


@pytest.mark.parametrize(
    ("name", "example"), [("run", 'agent-express run "What can you do?"'), ("chat", "Ctrl-C stops")]
)
def test_each_command_has_its_own_help_with_examples(command: Any, name: str, example: str) -> None:
    run = command(name, "--help")
    assert run.returncode == 0
    assert example in run.stdout
    assert all(option in run.stdout for option in ("--model", "--stack", "--json", "--timeout", "--show", "-h, --help"))


def test_without_a_command_there_is_help(command: Any) -> None:
    run = command()
    assert "agent-express chat" in run.stdout + run.stderr


def test_a_mistyped_command_is_put_right(command: Any) -> None:
    run = command("rum")
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.startswith("error: No such command 'rum'. Did you mean 'run'?")
    assert run.stderr.endswith(" agent-express --help says what there is\n")


def test_the_versions_are_shown(command: Any) -> None:
    run = command("--version")
    assert run.returncode == 0
    assert re.fullmatch(r"agent-express \d\S+, agent-express-cli \d\S+\n", run.stdout)


def test_the_readme_lists_the_exit_codes_and_the_options_that_there_are(command: Any) -> None:
    text = README.read_text(encoding="utf-8")
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", text, re.MULTILINE)} == {int(code) for code in Exit}
    for meaning in MEANING.values():
        assert meaning.replace("--timeout", "`--timeout`") in text
    offered = set(re.findall(r"--[a-z-]+", command("run", "--help").stdout)) - {"--help"}
    assert {option for option in offered if f"`{option}" not in text} == set()


def test_help_imports_no_part_of_the_framework() -> None:
    script = (
        "import sys, json; from agent_express_cli import main; main(['run', '--help']);"
        "print(json.dumps([name for name in ('agent_express', 'asyncio') if name in sys.modules]))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, encoding="utf-8", check=True)
    assert json.loads(run.stdout.splitlines()[-1]) == []
