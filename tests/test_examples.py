"""Every example runs without a key and without a network, and prints what it is there to show."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from checkout import ROOT
from examples.demo import Files, Redactor, TokenBudget, mask

FOLDER = ROOT / "examples"
QUESTION = 'List the Markdown files, count the lines of README.md and search the Markdown files for "API_KEY"'

PRINTED = {
    "streaming": """\
Agent Express| streams| word| by| word,| and| so| does| Agent Express's| answer.|
answer: Agent Express streams word by word, and so does Agent Express's answer.
""",
    "retry_with_fallback": """\
The answ
[again: retry, attempt 2]
The answer i
[again: fallback, attempt 2]
Here is the answer of the small model.
answer: Here is the answer of the small model.
calls: 2 to large, 1 to small
""",
    "racing_guard": """\
> How do I make pancakes?
Mix the two and heat.
> How do I make poison?
guard: no recipes for poison (3 of 5 words were made, 0 were shown)
""",
    "structured_output": """\
kettle: 5 stars, happy
the model was told: Your answer does not match the schema: stars: Input should be less than or equal to 5. \
Answer again with JSON of that schema only.
""",
    "per_tool_middleware": """\
looking up the weather in Oslo
paying 20 euros
the model was told: weather: sunny
the model was told: pay: paid
the model was told: weather: sunny
the model was told: pay: more than 50 euros must be paid by a person
answer: It is sunny; the large bill is yours to pay.
""",
    "two_agents_app": """\
[support serves ada]
Your neighbour has it.
[sales serves ada]
We have kettles.
customers_only: log in first
""",
}


def python(*args: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-X", "utf8", *args]
    return subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", check=False)


def test_every_example_is_listed_here() -> None:
    assert {path.stem for path in FOLDER.glob("*.py")} == {*PRINTED, "demo"}


@pytest.mark.parametrize("name", PRINTED)
def test_an_example_prints_what_it_shows_and_warns_of_nothing(name: str) -> None:
    run = python("-X", "dev", "-W", "error", FOLDER / f"{name}.py")
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout == PRINTED[name]


# --- the demo -------------------------------------------------------------------------------------


def lines_of(name: str) -> int:
    return len((ROOT / name).read_text(encoding="utf-8").splitlines())


def test_the_demo_runs_by_itself_and_counts_right() -> None:
    run = python("-X", "dev", "-W", "error", FOLDER / "demo.py")
    assert (run.returncode, run.stderr) == (0, "")
    assert f"**Count lines** (README.md): {lines_of('README.md')}\n" in run.stdout


@pytest.fixture(scope="module")
def demo() -> subprocess.CompletedProcess[str]:
    """What `scripts/demo` runs."""
    script = (ROOT / "scripts" / "demo").read_text(encoding="utf-8")
    assert QUESTION in script
    (line,) = re.findall(r"agent-express (run .*) \"\$@\"", script)
    return python("-m", "agent_express_cli", *line.split(), QUESTION)


def test_the_demo_answers_with_what_is_really_in_the_files(demo: subprocess.CompletedProcess[str]) -> None:
    assert demo.returncode == 0
    answer = demo.stdout.partition("\nevents\n")[0]
    assert f"**Count lines** (README.md): {lines_of('README.md')}\n" in answer
    assert "- CONTRIBUTING.md\n" in answer
    assert "- docs/why.md\n" in answer
    number = next(
        number
        for number, line in enumerate((ROOT / "README.md").read_text(encoding="utf-8").splitlines(), 1)
        if "API_KEY" in line
    )
    assert f"- README.md:{number}: " in answer


def test_the_redactor_masks_the_key_in_the_answer_and_not_in_what_the_tool_found(
    demo: subprocess.CompletedProcess[str],
) -> None:
    answer, _, rest = demo.stdout.partition("\nevents\n")
    assert "OPENAI_API_KEY=[key]" in answer
    assert "sk-your-own-key" not in answer
    assert "sk-" in rest


def test_the_demo_shows_its_tool_calls_its_events_and_its_onion(demo: subprocess.CompletedProcess[str]) -> None:
    assert '→ count_lines(path="README.md")\n' in demo.stderr
    assert f"← count_lines: {lines_of('README.md')}\n" in demo.stderr
    events, _, onion = demo.stdout.partition("\nevents\n")[2].partition("\nonion\n")
    for kind in ("user:said", "model:called", "demo:timed", "tool:returned", "state:changed", "turn:ended"):
        assert kind in events
    layers = [line.split()[0] for line in onion.splitlines()[1:4]]
    assert layers == ["timing", "token-budget", "redactor"]
    assert "redactor  local examples  streaming" in onion


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a file in it, a hidden one, a link that leads out of it, and a secret beside it."""
    inside = tmp_path / "inside"
    inside.mkdir()
    (tmp_path / "secret.md").write_text("secret", encoding="utf-8")
    (inside / "notes.md").write_text("one\nTwo\n", encoding="utf-8")
    (inside / ".env").write_text("KEY=sk-secret", encoding="utf-8")
    (inside / "link.md").symlink_to(tmp_path / "secret.md")
    (inside / "up").symlink_to(tmp_path, target_is_directory=True)
    return inside


def test_the_tools_read_their_folder(folder: Path) -> None:
    files = Files(folder)
    assert files.list_files("*.md") == ["notes.md"]
    assert files.list_files() == ["notes.md"]
    assert files.read_file("notes.md") == "one\nTwo\n"
    assert files.count_lines("notes.md") == 2
    assert files.search_text("two") == ["notes.md:2: Two"]
    assert files.search_text("two", "notes.md") == ["notes.md:2: Two"]
    assert files.search_text("two", "other.md") == []


@pytest.mark.parametrize("path", ["../secret.md", "link.md", "up/secret.md", ".env", "/etc/hostname", "up/inside/.env"])
@pytest.mark.parametrize("name", ["read_file", "count_lines"])
def test_the_tools_read_nothing_outside_of_their_folder_and_nothing_hidden(folder: Path, path: str, name: str) -> None:
    work: Any = getattr(Files(folder), name)
    with pytest.raises(PermissionError, match=re.escape(path)):
        work(path)


def test_a_search_does_not_look_outside_of_the_folder_either(folder: Path) -> None:
    files = Files(folder)
    assert files.search_text("secret") == []
    assert files.search_text("secret", "../secret.md") == []
    assert files.search_text("secret", "link.md") == []


async def test_the_redactor_masks_a_key_that_comes_in_pieces() -> None:
    from agent_express.testing import Harness, Say, text_of

    async with Harness(Redactor()) as harness:
        answer = await harness.turn("hi", answer=Say(["The key is s", "k-12", "3456789", "0, keep", " it."]))
        assert answer.text == "The key is [key], keep it."
        assert text_of(harness.events) == answer.text
    assert mask("no key here: sk-1") == "no key here: sk-1"


async def test_the_token_budget_stops_the_turn_after_the_call_that_crosses_it() -> None:
    from agent_express import TurnAbortedError, Usage
    from agent_express.testing import Harness, Say

    async with Harness(TokenBudget(limit=10)) as harness:
        await harness.turn("hi", answer=Say("hello", usage=Usage(9, 4)))
        with pytest.raises(TurnAbortedError, match="13 of 10 tokens are used"):
            await harness.turn("again")
