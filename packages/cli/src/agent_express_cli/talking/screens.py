"""What shows a turn, whatever it looks like."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from agent_express import Answer, Event

from ..errors import Problem
from .json_lines import json_screen
from .options import Options
from .terminal import text_screen


class Screen(Protocol):
    """Shows what happens in a turn, and how it ends: by its answer, a problem, or an interruption.

    Every method may raise `CommandError`: the output has been closed.
    """

    def event(self, event: Event) -> None:
        """Show *event*."""
        ...

    def answer(self, answer: Answer[Any]) -> None:
        """Show the answer."""
        ...

    def problem(self, problem: Problem) -> None:
        """Show a failure."""
        ...

    def interrupted(self) -> None:
        """Show that Ctrl-C has ended the turn."""
        ...

    def note(self, text: str) -> None:
        """Show a remark of the command itself."""
        ...

    def report(self, title: str, lines: Iterable[str]) -> None:
        """Show something that was asked for beside the answer."""
        ...


def make_screen(options: Options) -> Screen:
    """The screen that *options* ask for, on stdout and stderr."""
    return json_screen() if options.json else text_screen(stream=options.stream)
