"""Fresh environments with our wheels in them, and commands run there. Nothing is downloaded: the pinned dependencies
come from uv's cache, which `scripts/test` has filled, the packages from wheels built for the test.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from checkout import ROOT

DEADLINE = 300.0
"""Seconds that a command may take on a busy machine."""

OURS = ("agent-express", "agent-express-offline", "agent-express-cli", "agent-express-conformance")
"""What somebody who writes a package has installed."""


def uv() -> str:
    found = os.environ.get("UV") or shutil.which("uv")
    assert found, "no uv on the PATH: run the tests by scripts/test"
    return found


def clean(more: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a user without keys, without our environment, colours or policies."""
    ours = ("AGENT_EXPRESS_", "OPENAI_", "ANTHROPIC_", "PYTHON", "PYTEST_", "UV_PROJECT", "VIRTUAL_ENV", "MYPY")
    seen = {"NO_COLOR", "FORCE_COLOR", "COLUMNS", "LINES", "COV_CORE_SOURCE"}
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours) and name not in seen}
    return {**kept, "UV_OFFLINE": "1", **(more or {})}


def run(
    *command: str | Path, folder: Path = ROOT, env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
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


@dataclass(frozen=True)
class Environment:
    """A virtual environment."""

    folder: Path

    @property
    def python(self) -> Path:
        return self._script("python")

    def _script(self, name: str) -> Path:
        return self.folder / ("Scripts" if os.name == "nt" else "bin") / (f"{name}.exe" if os.name == "nt" else name)

    def command(
        self, *args: str | Path, folder: Path, env: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run `agent-express`, as the script that was installed."""
        return run(self._script("agent-express"), *args, folder=folder, env=env)

    def json(self, *args: str | Path, folder: Path, env: Mapping[str, str] | None = None) -> list[Any]:
        """What `agent-express ... --json` writes, one value per line."""
        return [json.loads(line) for line in ok(self.command(*args, "--json", folder=folder, env=env)).splitlines()]

    def pytest(self, *args: str | Path, folder: Path) -> subprocess.CompletedProcess[str]:
        return run(self.python, "-m", "pytest", "-q", "-p", "no:cacheprovider", *args, folder=folder)

    def install(self, *what: str | Path) -> None:
        """Install wheels or folders and nothing else: what they need is there, which is checked."""
        ok(run(uv(), "pip", "install", "--quiet", "--offline", "--no-deps", "--python", self.python, *what))
        ok(run(uv(), "pip", "check", "--python", self.python))


def build_ours(folder: Path) -> Path:
    """Build the wheels of the workspace into *folder*."""
    ok(run(uv(), "build", "--quiet", "--offline", "--all-packages", "--wheel", "--out-dir", folder))
    return folder


def build(source: Path, folder: Path) -> Path:
    """Build the wheel of the package in *source*, which lies outside of the workspace."""
    ok(run(uv(), "build", "--quiet", "--offline", "--wheel", "--out-dir", folder, source, folder=source))
    (wheel,) = folder.glob("*.whl")
    return wheel


def make_environment(folder: Path, wheels: Path, dists: Sequence[str] = OURS) -> Environment:
    """An environment that holds what an author has: our wheels of *dists*, what they need, and pytest."""
    packages = [part for dist in dists for part in ("--package", dist)]
    pinned = ["--offline", "--locked", "--no-default-groups", "--group", "test", "--no-install-workspace", *packages]
    place = {"UV_PROJECT_ENVIRONMENT": str(folder)}
    ok(run(uv(), "sync", "--quiet", "--python", sys.executable, *pinned, env=place))
    made = Environment(folder)
    made.install(*(next(wheels.glob(f"{dist.replace('-', '_')}-[0-9]*.whl")) for dist in dists))
    return made
