"""The command `chat`, as typer shows it."""

from __future__ import annotations

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
While you talk:
  Ctrl-C stops the answer that is being written; the conversation goes on.
  Ctrl-D, /exit, or Ctrl-C twice leaves.
  /help shows what else there is.

\b
Examples:
  agent-express chat --model anthropic:claude-sonnet-5-5
  agent-express chat --stack examples.demo:agent
  agent-express chat --json < questions.txt
"""


def add_to(app: typer.Typer) -> None:
    """Add the command to *app*."""

    @app.command("chat", epilog=EPILOG)
    def chat(
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
        """Talk with an agent; it remembers what was said before.

        One line is one message. Through a pipe, each line is a message too.
        """
        from .talk import talk

        shown = frozenset(each.value for each in show or ())
        return talk(
            Options(
                model, stack, profile, agent, locked, system, max_steps, timeout, json, stream, shown, debug, verbose
            )
        )
