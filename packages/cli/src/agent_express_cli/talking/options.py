"""The options that `run` and `chat` share, as typer reads them and as the rest of the package gets them."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Annotated, TypeAlias

import typer


class Show(StrEnum):
    """What can be shown beside the answer."""

    events = "events"
    onion = "onion"


@dataclass(frozen=True, slots=True)
class Options:
    """What was asked for.

    Attributes:
        model: The model's name; None leaves it to the stack or the environment.
        stack: Where the agent is, "agent.toml" or "module:attribute"; None leaves it to the current folder.
        profile: Which profile of the stack file; None for none.
        agent: Which agent of the stack; None for its only one.
        locked: Whether what is installed must be what the lock of the stack file says.
        system: Instructions, in place of the stack's own.
        max_steps: Model calls a turn may take; None leaves it to the stack.
        timeout: Seconds a turn may take; None leaves it to the stack.
        json: Whether events are written as JSON.
        stream: Whether text is written while it is made; None: where a person reads.
        show: What to show beside the answer.
        debug: Whether failures come with their traceback.
        verbose: Whether what becomes of plugins is noted.
    """

    model: str | None = None
    stack: str | None = None
    profile: str | None = None
    agent: str | None = None
    locked: bool = False
    system: str | None = None
    max_steps: int | None = None
    timeout: float | None = None
    json: bool = False
    stream: bool | None = None
    show: frozenset[str] = frozenset()
    debug: bool = False
    verbose: bool = False


Model: TypeAlias = Annotated[
    str | None,
    typer.Option("--model", "-m", metavar="NAME", help="The model that answers, such as openai:gpt-5."),
]
Stack: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--stack",
        "-s",
        metavar="FILE|MODULE:NAME",
        help="Your own agent: a stack file, or an Agent in a Python module. The default is agent.toml, if it is here.",
    ),
]
Profile: TypeAlias = Annotated[
    str | None,
    typer.Option("--profile", metavar="NAME", help="Take this profile of the stack file."),
]
Which: TypeAlias = Annotated[
    str | None,
    typer.Option("--agent", metavar="NAME", help="Ask this agent, where the stack holds several."),
]
Locked: TypeAlias = Annotated[
    bool,
    typer.Option("--locked", help="Refuse plugins of other versions than the stack's lock file says."),
]
System: TypeAlias = Annotated[
    str | None,
    typer.Option("--system", metavar="TEXT", help="Instructions for the model, in place of the stack's."),
]
MaxSteps: TypeAlias = Annotated[
    int | None,
    typer.Option("--max-steps", metavar="N", min=1, help="Call the model at most N times for one answer."),
]
Timeout: TypeAlias = Annotated[
    float | None,
    typer.Option("--timeout", metavar="SECONDS", help="Give up after this time."),
]
Json: TypeAlias = Annotated[
    bool,
    typer.Option("--json", help="Write one JSON object per line: each event, the answer last."),
]
Stream: TypeAlias = Annotated[
    bool | None,
    typer.Option("--stream/--no-stream", help="Show the text while it comes; the default on a terminal."),
]
Shown: TypeAlias = Annotated[
    list[Show] | None,
    typer.Option("--show", help="Show the log of the turn, or the layers around the model. May be repeated."),
]
Debug: TypeAlias = Annotated[
    bool,
    typer.Option("--debug", help="Show the traceback of a failure."),
]
Verbose: TypeAlias = Annotated[
    bool,
    typer.Option("--verbose", help="Say which plugins are loaded."),
]
