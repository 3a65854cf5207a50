"""The typer app, and the list of its commands."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from . import completion
from .exits import MEANING
from .hosting.group import CommandGroup
from .plugins import app as plugins_app
from .scaffold import project_command
from .stacks import app as stack_app
from .talking import chat, run

COMMANDS = (run, chat, project_command, plugins_app, stack_app, completion)
"""Modules with `add_to(app)`, in the order in which --help lists them."""

ABOUT = "Talk to an agent: a language model with tools, and middleware around it."

START = """\b
Start with:
  agent-express run "What can you do?"
  agent-express chat
  agent-express new my-shop
  agent-express run --help
"""


def build() -> typer.Typer:
    """Make the app."""
    app = typer.Typer(
        cls=CommandGroup,
        help=ABOUT,
        epilog=f"{START}\n\b\n{exit_codes()}",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=None,  # pages made by rich take three times as long
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback()(_root)
    completion.answer_shells(os.environ)
    for command in COMMANDS:
        command.add_to(app)
    return app


def built_in() -> frozenset[str]:
    """The names of the commands that are no plugin's."""
    commands: dict[str, object] = typer.main.get_command(build()).commands  # type: ignore[attr-defined]
    return frozenset(commands)


def exit_codes() -> str:
    """The exit codes, as --help lists them."""
    return "\n".join(["Exit codes:", *(f"  {code.value:<5}{meaning}" for code, meaning in MEANING.items())])


def _versions(asked: bool) -> None:
    if asked:
        from importlib.metadata import version  # a fifth of what --help takes

        typer.echo(f"agent-express {version('agent-express')}, agent-express-cli {version('agent-express-cli')}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_versions, is_eager=True, help="Show the versions and exit.")
    ] = False,
) -> None:
    """What holds for all commands: nothing but --version."""
