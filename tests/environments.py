"""Environments of users: our wheels in them, pytest, and whatever a test installs; and commands run there.

Nothing is downloaded: the pinned dependencies come from uv's cache, which `scripts/test` has filled.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from checkout import ROOT

from releasing.builds import Build
from releasing.builds import build as build_all
from releasing.commands import run as must_run
from releasing.commands import uv
from releasing.environments import Environment, install
from releasing.workspace import Workspace

DEADLINE = 300.0
"""Seconds that a command may take on a busy machine."""

OURS = ("agent-express", "agent-express-offline", "agent-express-cli", "agent-express-conformance")
"""What somebody who writes a package has installed."""


def clean(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a user without keys, and without what we set for ourselves."""
    ours = ("AGENT_EXPRESS_", "OPENAI_", "ANTHROPIC_", "PYTHON", "PYTEST_", "UV_PROJECT", "VIRTUAL_ENV", "MYPY")
    seen = {"NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES"}
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours) and name not in seen}
    return {**kept, **(more or {})}


def run(*command: str | Path, folder: Path, env: Mapping[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env=clean(env),
        capture_output=True,
        encoding="utf-8",
        check=False,
        stdin=subprocess.DEVNULL,
        timeout=DEADLINE,
    )


def ok(done: subprocess.CompletedProcess[str]) -> str:
    """What it printed; it must have gone well."""
    assert done.returncode == 0, f"{done.args} exited with {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout


class User(Environment):
    """An environment with somebody who types commands in it."""

    def express(
        self, *args: str | Path, folder: Path, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run `agent-express`, as the script that was installed."""
        return run(self.command("agent-express"), *args, folder=folder, env=env)

    def json(self, *args: str | Path, folder: Path) -> list[Any]:
        """What `agent-express ... --json` writes, one value per line."""
        return [json.loads(line) for line in ok(self.express(*args, "--json", folder=folder)).splitlines()]

    def pytest(self, *args: str | Path, folder: Path) -> subprocess.CompletedProcess[str]:
        return run(self.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *args, folder=folder)

    def install(self, *what: str | Path) -> None:
        """Install wheels or folders and nothing else: what they need is there, which is checked."""
        self.pip("install", "--quiet", "--no-deps", *what)
        self.pip("check", "--quiet")


def build_ours(folder: Path) -> Build:
    """Build the wheels of the workspace."""
    return build_all(Workspace(ROOT), folder, sdists=False)


def build(source: Path, folder: Path) -> Path:
    """Build the wheel of the package in *source*, which lies outside of the workspace."""
    must_run(uv(), "build", "--quiet", "--offline", "--wheel", "--out-dir", folder, source, cwd=source)
    (wheel,) = folder.glob("*.whl")
    return wheel


def make_user(folder: Path, ours: Build, dists: Sequence[str] = OURS) -> User:
    """Give a user what an author has: our wheels of *dists*, what they need, and pytest."""
    folder = install(ours, dists, folder).folder
    packages = [part for dist in dists for part in ("--package", dist)]
    pinned = ["--offline", "--frozen", "--no-default-groups", "--no-install-workspace"]
    more = ["--inexact", "--group", "test", *packages, "--python", sys.executable]
    place = {"UV_PROJECT_ENVIRONMENT": str(folder)}
    must_run(uv(), "sync", "--quiet", *pinned, *more, cwd=ROOT, env=place)
    return User(folder)
