"""`agent-express completion`: the script for a shell, and what a shell gets from it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest


def complete(command: Any, line: str, env: dict[str, str] = {}) -> list[str]:
    """What bash is offered at the end of *line*."""
    words = line.split(" ")
    asked = {
        "_AGENT_EXPRESS_COMPLETE": "complete_bash",
        "COMP_WORDS": " ".join(words),
        "COMP_CWORD": str(len(words) - 1),
    }
    run = command(env={**asked, **env})
    assert run.stderr == ""
    return list(run.stdout.split())


def test_commands_are_completed_those_of_plugins_too_without_an_import(command: Any, site: Any) -> None:
    entry = {"commands": [{"name": "audit", "summary": "Say who did what."}]}
    site.add("acme.audit", "raise SystemExit(1)", entry=entry)
    assert {"run", "chat", "plugins", "completion", "audit"} <= set(complete(command, "agent-express ", site.env))
    assert complete(command, "agent-express pl") == ["plugins"]
    assert complete(command, "agent-express plugins sh") == ["show"]


def test_options_and_choices_are_completed(command: Any) -> None:
    assert "--stack" in complete(command, "agent-express run --st")
    assert complete(command, "agent-express plugins list --group mi") == ["middleware"]


def test_names_of_plugins_are_completed_without_an_import(command: Any, site: Any) -> None:
    site.add("acme.cost-cap", "raise SystemExit(1)", group="middleware")
    assert complete(command, "agent-express plugins show acme.", site.env) == ["acme.cost-cap"]
    assert "acme.cost-cap" in complete(command, "agent-express plugins schema ", site.env)


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "powershell"])
def test_the_script_of_each_shell_is_printed(command: Any, shell: str) -> None:
    run = command("completion", shell)
    assert (run.returncode, run.stderr) == (0, "")
    assert "_AGENT_EXPRESS_COMPLETE" in run.stdout
    assert f"complete_{shell}" in run.stdout


def test_it_is_added_to_the_files_of_the_shell(command: Any, tmp_path: Path) -> None:
    run = command("completion", "bash", "--install", env={"HOME": str(tmp_path)})
    assert run.returncode == 0
    assert "agent-express" in (tmp_path / ".bashrc").read_text(encoding="utf-8")
    assert "bash completes agent-express from now on" in run.stdout


def test_where_the_files_cannot_be_written_it_is_one_sentence(command: Any, tmp_path: Path) -> None:
    (tmp_path / ".bashrc").mkdir()
    run = command("completion", "bash", "--install", env={"HOME": str(tmp_path)})
    assert run.returncode == 2
    assert run.stderr.startswith("error: the files of bash cannot be written: ")


def test_powershell_is_left_to_the_user_who_has_to_allow_it(command: Any) -> None:
    run = command("completion", "powershell", "--install")
    assert run.returncode == 2
    assert "agent-express completion powershell >> $PROFILE" in run.stderr


def test_an_unknown_shell_is_refused_with_those_there_are(command: Any) -> None:
    run = command("completion", "tcsh")
    assert run.returncode == 2
    assert "'bash', 'zsh', 'fish', 'powershell'" in run.stderr


def test_bash_itself_completes_with_it(command: Any, tmp_path: Path) -> None:
    bash = shutil.which("bash")
    assert bash
    program = tmp_path / "agent-express"
    program.write_text(f'#!{bash}\nexec "{sys.executable}" -m agent_express_cli "$@"\n', encoding="utf-8")
    program.chmod(0o755)
    (tmp_path / "script").write_text(command("completion", "bash").stdout, encoding="utf-8")
    typed = (
        "source script; COMP_WORDS=(agent-express plugins do); COMP_CWORD=2; "
        'f=$(complete -p agent-express | sed "s/.*-F \\([^ ]*\\) .*/\\1/"); $f agent-express; echo "${COMPREPLY[@]}"'
    )
    env = {**os.environ, "PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}
    run = subprocess.run([bash, "-c", typed], cwd=tmp_path, env=env, capture_output=True, encoding="utf-8", check=False)
    assert run.stdout.split() == ["doctor"], run.stderr
