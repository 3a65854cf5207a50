"""Whether the demo runs from the wheels, where there is no workspace."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

from releasing.builds import Build
from releasing.commands import CommandError, run
from releasing.environments import install

STACK = "examples.demo:agent"
QUESTION = 'List the Markdown files, count the lines of README.md and search the Markdown files for "API_KEY"'


def check_demo(build: Build) -> list[str]:
    """Let the demo count the lines of the README, in an environment that holds the wheels alone."""
    with TemporaryDirectory() as place:
        project = build.workspace.copy_to(Path(place, "project")).root
        try:
            environment = install(build, sorted(build.wheels), Path(place, "venv"))
            said = run(environment.command("agent-express"), "run", "--stack", STACK, QUESTION, cwd=project)
        except CommandError as error:
            return [str(error)]
        lines = str(len((project / "README.md").read_text(encoding="utf-8").splitlines()))
        return [] if lines in said else [f"the demo was to count {lines} lines in README.md, and said:\n{said}"]
