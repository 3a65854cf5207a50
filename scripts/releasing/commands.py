"""Other programs, run from here."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path

# Where these are set, an environment that is looked at would see the modules of this one.
OURS = frozenset({"PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV"})


class CommandError(Exception):
    """A program failed. The message is its command and what it said.

    Attributes:
        output: What it wrote, both to the output and to the errors.
    """

    def __init__(self, command: str, code: int, output: str) -> None:
        super().__init__(f"{command} ended with exit code {code}:\n{output.strip()}")
        self.output = output


def run(*command: str | Path, cwd: Path, env: Mapping[str, str] | None = None) -> str:
    """Run *command* in the folder *cwd* with *env* added to the environment; return what it wrote.

    Raises:
        CommandError: It ended with another exit code than 0.
    """
    words = [str(word) for word in command]
    outer = {name: value for name, value in os.environ.items() if name not in OURS}
    done = subprocess.run(
        words,
        cwd=cwd,
        env={**outer, **(env or {})},
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if done.returncode:
        raise CommandError(" ".join(words), done.returncode, done.stdout + done.stderr)
    return done.stdout


def uv() -> str:
    """Find the uv that runs this, or the one on the PATH.

    Raises:
        FileNotFoundError: There is none.
    """
    found = os.environ.get("UV") or shutil.which("uv")
    if not found:
        raise FileNotFoundError("no uv on the PATH: start this by scripts/release or scripts/test")
    return found
