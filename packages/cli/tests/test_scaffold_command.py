"""`plugins new` and `new` as processes: what they print, what they refuse."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest


def test_a_new_package_is_told_file_by_file_with_what_to_run_next(command: Any, tmp_path: Path) -> None:
    run = command("plugins", "new", "my-guard", folder=tmp_path)
    assert (run.returncode, run.stderr) == (0, "")
    first, *lines = run.stdout.splitlines()
    assert first == "agent-express-my-guard: middleware my-guard.my-guard"
    listed = [line.strip() for line in lines[: lines.index("")]]
    folder = tmp_path / "agent-express-my-guard"
    assert listed == sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    assert lines[lines.index("Next:") + 1] == "  cd agent-express-my-guard"


def test_a_machine_reads_one_object(command: Any, tmp_path: Path) -> None:
    run = command("plugins", "new", "acme.my-guard", "--kind", "bundle", "--into", "there", "--json", folder=tmp_path)
    told = json.loads(run.stdout)
    assert (told["kind"], told["entry"], told["distribution"]) == ("bundle", "acme.my-guard", "agent-express-acme")
    assert [path for path in told["files"] if not (tmp_path / told["folder"] / path).is_file()] == []
    assert (tmp_path / "there" / "agent-express-acme").is_dir()


def test_a_new_project_is_told_with_what_to_run_next(command: Any, tmp_path: Path) -> None:
    run = command("new", "my-shop", folder=tmp_path)
    assert (run.returncode, run.stderr) == (0, "")
    assert '  agent-express run "Look up the opening hours of tomorrow"' in run.stdout.splitlines()
    assert json.loads(command("new", "my-bar", "--json", folder=tmp_path).stdout)["kind"] == "project"


def test_a_new_project_answers_where_it_lies(command: Any, tmp_path: Path) -> None:
    command("new", "my-shop", folder=tmp_path)
    run = command("run", "Look up the opening hours on 2026-03-02", folder=tmp_path / "my-shop")
    assert run.returncode == 0
    assert "Monday, 2026-03-02: open from 9 to 18" in run.stdout


@pytest.mark.parametrize("kind", ["plugins new", "new"])
def test_a_folder_that_is_taken_is_refused_until_it_is_forced(command: Any, tmp_path: Path, kind: str) -> None:
    words = [*kind.split(), "my-own"]
    assert command(*words, folder=tmp_path).returncode == 0
    run = command(*words, folder=tmp_path)
    assert (run.returncode, run.stdout) == (2, "")
    assert "exists and is not empty; choose another name, or write into it with --force" in run.stderr
    assert command(*words, "--force", folder=tmp_path).returncode == 0


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["plugins", "new", "My Guard"], "write my-guard"),
        (["plugins", "new", "class"], "class is a word of Python"),
        (["plugins", "new", "cli"], "agent-express-cli is a package of Agent Express itself"),
        (["plugins", "new", "my-store", "--kind", "store"], "agent-express-checkpoint"),
        (["plugins", "new", "my-guard", "--author", "<a@b>"], "--author '<a@b>': expected a name"),
        (["new", "logging"], "logging is a module of Python's standard library"),
        (["new", "typer"], "typer is an installed module"),
    ],
)
def test_a_refusal_is_one_sentence_and_writes_nothing(
    command: Any, tmp_path: Path, args: list[str], message: str
) -> None:
    run = command(*args, folder=tmp_path)
    assert (run.returncode, run.stdout) == (2, "")
    assert message in run.stderr
    assert len(run.stderr.splitlines()) == 1
    told = json.loads(command(*args, "--json", folder=tmp_path).stderr)
    assert message in told["message"]
    assert list(tmp_path.iterdir()) == []


def test_help_names_the_kinds(command: Any, tmp_path: Path) -> None:
    run = command("plugins", "new", "--help", folder=tmp_path)
    assert [word for word in ("middleware", "provider", "bundle", "--into", "--author") if word not in run.stdout] == []
