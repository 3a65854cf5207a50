"""The scripts on a machine that lacks what they need: one sentence with what to do, and a failure."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest
from checkout import ROOT

TOOLS = ("bash", "dirname", "rm", "sed")


@pytest.fixture
def bare(tmp_path: Path) -> Path:
    """A folder with the scripts, and in `bin` the few commands that every system has."""
    shutil.copytree(ROOT / "scripts", tmp_path / "scripts")
    (tmp_path / "bin").mkdir()
    for tool in TOOLS:
        found = shutil.which(tool)
        assert found, f"{tool} is not on the PATH"
        (tmp_path / "bin" / tool).symlink_to(found)
    return tmp_path


def add_command(folder: Path, name: str, script: str) -> None:
    path = folder / "bin" / name
    path.write_text(f"#!{folder / 'bin' / 'bash'}\n{script}\n", encoding="utf-8")
    path.chmod(0o755)


def start(folder: Path, script: str, *args: str, env: Mapping[str, str] = {}) -> subprocess.CompletedProcess[str]:
    command = [folder / "bin" / "bash", folder / "scripts" / script, *args]
    place = {"PATH": str(folder / "bin"), **env}
    return subprocess.run(command, env=place, cwd="/", capture_output=True, encoding="utf-8", check=False)


@pytest.mark.parametrize("script", ["demo", "test", "check", "bench", "docs", "manifests", "release"])
def test_without_python_a_script_says_which_one_to_install(bare: Path, script: str) -> None:
    run = start(bare, script)
    assert (run.returncode, run.stderr) == (1, "no python3 on the PATH: install Python 3.11 or newer\n")


def test_with_a_python_that_can_install_nothing_it_says_what_to_add(bare: Path) -> None:
    add_command(bare, "python3", "exit 1")
    run = start(bare, "check")
    assert run.returncode == 1
    assert "has neither venv nor pip" in run.stderr
    assert "apt install python3-venv" in run.stderr


def test_an_old_uv_is_not_taken(bare: Path) -> None:
    add_command(bare, "uv", "echo uv 0.9.30")
    run = start(bare, "check")
    assert run.returncode == 1
    assert "no python3" in run.stderr


@pytest.mark.parametrize("version", ["0.13.0", "0.19.2", "0.20.0", "1.0.0"])
def test_a_uv_that_fits_is_taken(bare: Path, version: str) -> None:
    add_command(bare, "uv", f'[ "$1" = --version ] && echo "uv {version} (linux)" || echo "ran uv $*"')
    run = start(bare, "bench", "--rows", "turn")
    assert run.returncode == 0, run.stderr
    assert "ran uv sync --locked" in run.stdout
    assert "ran uv run --no-sync python -m benchmarks --rows turn" in run.stdout


def test_a_missing_python_is_a_note_at_home_and_a_failure_in_ci(bare: Path) -> None:
    add_command(bare, "uv", 'case "$1 $2" in "--version "*) echo uv 0.13.9 ;; "python find") exit 2 ;; esac')
    at_home, in_ci = start(bare, "test", "--all"), start(bare, "test", "--all", env={"CI": "true"})
    assert at_home.returncode == 0, at_home.stderr
    assert "Not run: Python 3.13 is not on this machine" in at_home.stdout
    assert in_ci.returncode == 1
    assert "failed: Python 3.13 is not on this machine" in in_ci.stderr


def test_every_check_runs_although_one_fails_and_the_failures_are_told_last(bare: Path) -> None:
    add_command(bare, "uv", 'case "$*" in --version) echo uv 0.13.9 ;; *"ruff check"*|*mypy*) exit 1 ;; esac')
    run = start(bare, "check")
    assert run.returncode == 1
    assert run.stdout.splitlines()[-1] == "== lock"
    assert run.stderr == "\nfailed: lint\nfailed: types (mypy)\n"


def test_help_says_how_to_run_the_tests(bare: Path) -> None:
    add_command(bare, "uv", "echo uv 0.13.9")
    run = start(bare, "test", "--help")
    assert run.returncode == 0
    assert "scripts/test --all" in run.stdout
    assert "#" not in run.stdout
