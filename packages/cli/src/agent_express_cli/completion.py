"""The command `completion`: what a shell needs to complete this command line."""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from importlib import import_module
from typing import Annotated, Any

import typer

from .exits import CommandError

PROGRAM = "agent-express"
VARIABLE = "_AGENT_EXPRESS_COMPLETE"
"""What typer looks at: a shell sets it and calls the command for what may follow."""

EPILOG = """\b
Examples:
  agent-express completion bash --install
  agent-express completion fish > ~/.config/fish/completions/agent-express.fish
  agent-express completion powershell >> $PROFILE
"""


class Shell(StrEnum):
    """The shells that can complete it."""

    bash = "bash"
    zsh = "zsh"
    fish = "fish"
    powershell = "powershell"


def answer_shells(environ: Mapping[str, str]) -> None:
    """Let typer answer the shell that asks, as *environ* says; typer itself does so only with options of its own."""
    if VARIABLE in environ:
        machinery: Any = import_module("typer.completion")
        machinery.completion_init()


def add_to(app: typer.Typer) -> None:
    """Add the command to *app*."""

    @app.command("completion", epilog=EPILOG)
    def completion(
        shell: Annotated[Shell, typer.Argument(help="Your shell.", show_default=False)],
        install: Annotated[bool, typer.Option("--install", help="Add it to the files of your shell.")] = False,
    ) -> None:
        """Print the script with which a shell completes commands, options and names of plugins."""
        machinery: Any = import_module("typer.completion")  # what it takes from its inner modules it does not export
        if not install:
            typer.echo(machinery.get_completion_script(prog_name=PROGRAM, complete_var=VARIABLE, shell=shell.value))
            return
        if shell is Shell.powershell:  # typer would lift the execution policy of the user for it
            raise CommandError(
                "PowerShell has to allow scripts first, which is for you to decide; then: "
                "agent-express completion powershell >> $PROFILE"
            )
        try:
            name, path = machinery.install(shell=shell.value, prog_name=PROGRAM, complete_var=VARIABLE)
        except OSError as error:
            raise CommandError(f"the files of {shell} cannot be written: {error}") from error
        typer.echo(f"{name} completes {PROGRAM} from now on, in new terminals: {path}")
