"""A small checkout that is laid out like this one: core, an area with an entry point, and a command; nothing of a third
party, so that it is built, locked and installed within a moment.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tomllib
from collections.abc import Mapping
from pathlib import Path

from checkout import ROOT

from releasing.builds import Build, build
from releasing.commands import run, uv
from releasing.workspace import Workspace

BUILD = """
[build-system]
requires = ["uv_build>=0.13,<0.14"]
build-backend = "uv_build"

[tool.uv.build-backend]
module-name = "{module}"
"""

PROJECT = """\
[project]
name = "{dist}"
version = "0.1.0"
description = "One of three"
readme = "README.md"
requires-python = ">=3.11"
license = "MIT"
license-files = ["LICENSE"]
dependencies = {needs}
"""

ROOT_PROJECT = """\
[project]
name = "small-workspace"
version = "0"
requires-python = ">=3.11"

[tool.uv]
package = false

[tool.uv.workspace]
members = ["packages/*"]

[tool.uv.sources]
agent-express = { workspace = true }
agent-express-cli = { workspace = true }
agent-express-guards = { workspace = true }
"""

AGENT = '''\
"""An agent."""

__all__ = ["Agent", "ask"]


class Agent:
    """It answers."""

    def run(self, text: str, timeout: float = 1.0) -> str:
        """Answer."""
        return text


def ask(text: str) -> str:
    """Answer at once."""
    return text


def helper(text: str) -> str:
    """Is not in `__all__`."""
    return text
'''

MAIN = '''\
"""The command."""

from pathlib import Path

__all__ = ["main"]


def main() -> None:
    """Count."""
    print(len(Path("README.md").read_text(encoding="utf-8").splitlines()), "lines")
'''

FILES = {
    "pyproject.toml": ROOT_PROJECT,
    "README.md": "# Small\n" * 7,
    "LICENSE": "Do what you like.\n",
    ".gitignore": "*.log\n__pycache__/\n",
    "docs/changelog.md": "# Changelog\n\n<!-- releases -->\n",
    "docs/reference.md": "# Reference\n\n::: agent_express.errors\n",
    "docs/changes/guards.cap.added.md": "`Cap` caps.\n",
    "packages/core/src/agent_express/__init__.py": '"""Core."""\n\nfrom agent_express.agent import Agent, ask\n\n'
    '__all__ = ["Agent", "ask"]\n',
    "packages/core/src/agent_express/agent.py": AGENT,
    "packages/core/src/agent_express/errors.py": '"""Errors."""\n\n\nclass AgentError(Exception):\n    """Failed."""\n',
    "packages/core/src/agent_express/inner.py": '"""Nobody else\'s."""\n\n\ndef turn(text: str) -> str:\n'
    '    """Turn."""\n    return text\n',
    "packages/core/src/agent_express/py.typed": "",
    "packages/guards/src/agent_express_guards/__init__.py": '"""Guards."""\n\n__all__ = ["Cap"]\n\n\nclass Cap:\n'
    '    """It caps."""\n',
    "packages/guards/src/agent_express_guards/py.typed": "",
    "packages/guards/src/agent_express_guards/agent_express.json": json.dumps(
        {"contract": 1, "entries": {"guards.cap": {"group": "middleware", "summary": "It caps."}}}
    ),
    "packages/cli/src/agent_express_cli/__init__.py": MAIN,
    "packages/cli/src/agent_express_cli/py.typed": "",
}

PROJECTS = {
    "core": PROJECT.format(dist="agent-express", needs=[]) + BUILD.format(module="agent_express"),
    "guards": PROJECT.format(dist="agent-express-guards", needs='["agent-express>=0.1,<0.2"]')
    + '\n[project.entry-points."agent_express.middleware"]\n"guards.cap" = "agent_express_guards:Cap"\n'
    + BUILD.format(module="agent_express_guards"),
    "cli": PROJECT.format(
        dist="agent-express-cli", needs='["agent-express>=0.1,<0.2", "agent-express-guards>=0.1,<0.2"]'
    )
    + '\n[project.scripts]\nagent-express = "agent_express_cli:main"\n'
    + BUILD.format(module="agent_express_cli"),
}


def make(root: Path) -> Workspace:
    """Write the checkout into *root*, lock it and commit it."""
    write(root, FILES)
    for area, project in PROJECTS.items():
        readme = f"# {area}\n\nOne of three.\n"
        write(root / "packages" / area, {"pyproject.toml": project, "README.md": readme, "LICENSE": FILES["LICENSE"]})
    shutil.copy(ROOT / "docs" / "changes" / "template.jinja", root / "docs" / "changes")
    towncrier = (ROOT / "pyproject.toml").read_text(encoding="utf-8").partition("[tool.towncrier]")[2]
    write(root, {"pyproject.toml": f"{ROOT_PROJECT}\n[tool.towncrier]{towncrier}"})
    run(uv(), "lock", "--quiet", "--offline", cwd=root)
    git(root, "init", "--quiet", "--initial-branch", "main")
    commit(root)
    return Workspace(root)


def write(root: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")


def git(root: Path, *arguments: str) -> str:
    who = [
        "-c",
        "user.name=A",
        "-c",
        "user.email=a@example.org",
        "-c",
        "commit.gpgsign=false",
        "-c",
        "tag.gpgsign=false",
    ]
    command = ["git", *who, *arguments]
    return subprocess.run(command, cwd=root, check=True, capture_output=True, encoding="utf-8").stdout


def commit(root: Path) -> None:
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--message", "Change something")


def change(workspace: Workspace, name: str, old: str, new: str) -> Workspace:
    """Replace a text in a file; return the checkout read anew."""
    path = workspace.root / name
    text = path.read_text(encoding="utf-8")
    assert old in text, f"{name} does not hold {old!r}"
    path.write_text(text.replace(old, new), encoding="utf-8", newline="\n")
    return Workspace(workspace.root)


def built(workspace: Workspace, *, sdists: bool = False) -> Build:
    """Build the checkout, beside it."""
    return build(Workspace(workspace.root), workspace.root.with_name("built"), sdists=sdists)


def version(workspace: Workspace, area: str) -> str:
    text = (workspace.root / "packages" / area / "pyproject.toml").read_text(encoding="utf-8")
    return str(tomllib.loads(text)["project"]["version"])
