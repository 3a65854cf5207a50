"""What a person reads, or a pipe takes: the answer on stdout, everything else on stderr."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any, TextIO

from agent_express import Answer, Event

from ..errors import Problem
from ..output import Output
from ..words import printable, shorten
from .describe import Line
from .narrate import Narrator, Say, Shown, TakeBack, Think
from .rows import rows_of

STYLES = {"call": "cyan", "result": "dim", "failure": "red", "aside": "dim italic", "nested": "dim"}
SIGNS = {"call": "→ ", "result": "← ", "failure": "✗ ", "aside": "", "nested": ""}
PLAIN_SIGNS = {"call": "> ", "result": "< ", "failure": "x ", "aside": "", "nested": ""}
INDENT = "  "


class TextScreen:
    """Shows turns as text.

    On a terminal the answer is streamed, tool calls stand between its parts, and what a try that starts again had
    said is wiped off. Piped, stdout gets the answer alone, whole, and stderr the rest.

    Args:
        out: Takes the answer.
        err: Takes the rest.
        stream: Whether text is shown while it comes; None: where *out* is a terminal.
    """

    def __init__(self, out: TextIO, err: TextIO, *, stream: bool | None = None) -> None:
        self._out, self._err = Output(out), Output(err)
        self._streaming = self._out.is_terminal if stream is None else stream
        self._block = ""
        self._width = 0
        self._after_line = False
        self._narrator = self._new_narrator()

    def _new_narrator(self) -> Narrator:
        return Narrator(streaming=self._streaming, room=max(self._err.width - 4, 40))

    # --- one turn ---------------------------------------------------------------------------------

    def event(self, event: Event) -> None:
        """Show *event*."""
        self._show(self._narrator.feed(event))

    def answer(self, answer: Answer[Any]) -> None:
        """Show what of the answer has not been streamed, and end the turn."""
        self._show(self._narrator.finish(answer))
        self._end_turn()
        if answer.limit is not None:
            self.note(f"the turn met its limit {answer.limit}; --{answer.limit.replace('_', '-')} allows more")
        elif not answer.text.strip():
            self.note("the answer holds no text")

    def interrupted(self) -> None:
        """Say that Ctrl-C has ended the turn; what was shown of it stays."""
        self._end_turn()
        self._line("(interrupted)", "aside")

    def problem(self, problem: Problem) -> None:
        """Say what went wrong, and end the turn."""
        self._end_turn()
        for line in problem.lines or (problem.message,):
            self._line(f"error: {line}", "failure", sign="")

    def _end_turn(self) -> None:
        self._break()
        self._narrator = self._new_narrator()

    # --- beside the turns -------------------------------------------------------------------------

    def note(self, text: str) -> None:
        """Say something that is no answer."""
        self._line(f"note: {text}", "aside")

    def report(self, title: str, lines: Iterable[str]) -> None:
        """Print what was asked for beside the answer, under a title."""
        self._break()
        self._out.write("\n")
        self._out.write(f"{title}\n", "bold")
        for line in lines:
            self._out.write(f"  {self._fitting(line)}\n")

    def _fitting(self, line: str) -> str:
        return shorten(printable(line), max(self._out.width - 2, 40)) if self._out.is_terminal else line

    # --- how it is written ------------------------------------------------------------------------

    def _show(self, shown: Iterable[Shown]) -> None:
        for each in shown:
            match each:
                case Say():
                    self._say(each.text)
                case Think():
                    self._think(each.text)
                case TakeBack():
                    self._take_back(each.why)
                case Line():
                    self._line(each.text, each.style, each.path)

    def _say(self, text: str) -> None:
        if not self._block:
            self._err.end_line()
            self._set_apart()
            self._width = self._out.width
        text = self._out.clean(text)
        self._block += text
        self._out.write(text)

    def _set_apart(self) -> None:
        """Leave a row empty between lines and the answer, where both are on one terminal."""
        if self._after_line and self._out.is_terminal and self._err.is_terminal:
            self._err.write("\n")
        self._after_line = False

    def _think(self, text: str) -> None:
        if self._err.is_terminal:
            self._break(keep=self._err)
            self._err.write(printable(text), STYLES["aside"])

    def _take_back(self, why: str) -> None:
        rows = rows_of(self._block, self._width) if self._width else 0
        if self._out.can_wipe and self._width == self._out.width and 0 < rows < self._out.height:
            self._out.wipe(rows)
            self._block = ""
            self._line(why, "aside")
        else:
            self._break()
            self._out.write(f"{why}\n")

    def _line(self, text: str, style: str, path: str = "", *, sign: str | None = None) -> None:
        self._break()
        if sign is None:
            sign = (SIGNS if self._err.knows_signs else PLAIN_SIGNS)[style]
        self._err.write(f"{_place(path)}{sign}{printable(text)}\n", STYLES[style])
        self._after_line = True

    def _break(self, keep: Output | None = None) -> None:
        """Begin a new line, unless one was just begun; *keep* goes on where it is."""
        self._block = ""
        for output in (self._out, self._err):
            if output is not keep:
                output.end_line()


def _place(path: str) -> str:
    """How lines of a nested agent begin: further in, with its name."""
    if not path:
        return ""
    *outer, name = path.split("/")
    return f"{INDENT * (len(outer) + 1)}{printable(name)}: "


def text_screen(*, stream: bool | None = None) -> TextScreen:
    """The screen of this process."""
    return TextScreen(sys.stdout, sys.stderr, stream=stream)
