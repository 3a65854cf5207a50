"""The command `run`, as typer shows it."""

from __future__ import annotations

from typing import Annotated

import typer

from .options import (
    Debug,
    Json,
    Locked,
    MaxSteps,
    Model,
    Options,
    Profile,
    Shown,
    Stack,
    Stream,
    System,
    Timeout,
    Verbose,
    Which,
)

EPILOG = """\b
Which model answers, if neither --model nor the stack names one:
  the one in AGENT_EXPRESS_MODEL, else one of a provider whose key is set
  (OPENAI_API_KEY, ANTHROPIC_API_KEY), else the offline model, which needs no key.

\b
Examples:
  agent-express run "What can you do?"
  agent-express run --model openai:gpt-5 "Why is the sky blue?"
  git diff | agent-express run "Explain this change:" -
  agent-express run --stack agents:support "Where is my parcel?"
  agent-express run --json "Hello" | tail -n 1
In the fourth one agents.py holds a line such as: support = Agent(...)
"""


def add_to(app: typer.Typer) -> None:
    """Add the command to *app*."""

    @app.command("run", epilog=EPILOG)
    def run(
        text: Annotated[
            list[str] | None,
            typer.Argument(metavar="TEXT", help='What you want; "-" stands for what comes through a pipe.'),
        ] = None,
        model: Model = None,
        stack: Stack = None,
        profile: Profile = None,
        agent: Which = None,
        locked: Locked = False,
        system: System = None,
        max_steps: MaxSteps = None,
        timeout: Timeout = None,
        json: Json = False,
        stream: Stream = None,
        show: Shown = None,
        debug: Debug = False,
        verbose: Verbose = False,
    ) -> int:
        """Ask an agent something and print its answer.

        The answer goes to stdout; tool calls and everything else go to stderr.
        """
        from .once import run_once

        shown = frozenset(each.value for each in show or ())
        options = Options(
            model, stack, profile, agent, locked, system, max_steps, timeout, json, stream, shown, debug, verbose
        )
        return run_once(text or (), options)
