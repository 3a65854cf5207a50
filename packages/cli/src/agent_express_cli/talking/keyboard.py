"""Lines from the user: from a keyboard with a prompt and line editing, or from a pipe."""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from typing import TextIO

from .said import LONGEST, check_length, decode

PROMPT = "> "


class Reader:
    """Reads what the user says, line by line.

    Args:
        stdin: A keyboard or a pipe.
        out: The prompt stands here, if it is a terminal.
        err: Else here; remarks always.
        prompts: Whether the user is asked; a machine is not.

    Attributes:
        is_terminal: Whether a person types.
    """

    def __init__(self, stdin: TextIO, out: TextIO, err: TextIO, *, prompts: bool) -> None:
        self._stdin, self._out, self._err = stdin, out, err
        self.is_terminal = stdin.isatty() and prompts
        self._interruptions = 0
        self._has_read = False
        if self.is_terminal:
            with suppress(ImportError):  # Windows has none, and edits lines itself
                import_module("readline")  # input() uses it from now on

    def line(self) -> str | None:
        """The next line without white space around it; None at the end.

        Raises:
            KeyboardInterrupt: Ctrl-C; `is_leaving` says what it means.
            CommandError: The line is not UTF-8, or too long.
        """
        if self._has_read:
            self._remark("\n")
        self._has_read = True
        try:
            text = input(PROMPT) if self.is_terminal and self._out.isatty() else self._asked()
        except EOFError:
            self._remark("\n")
            return None
        check_length(len(text))
        self._interruptions = 0
        return text.strip()

    def _asked(self) -> str:
        """A line by hand: `input` would put its prompt into the pipe that takes the answers."""
        self._remark(PROMPT)
        line = self._stdin.buffer.readline(LONGEST + 1)
        if not line:
            raise EOFError
        return decode(line)

    def _remark(self, text: str) -> None:
        if self.is_terminal:
            self._err.write(text)
            self._err.flush()

    def interrupted(self) -> None:
        """Take note that Ctrl-C has ended a turn: pressed once more, it means leaving."""
        self._interruptions = 1

    def is_leaving(self) -> bool:
        """Whether Ctrl-C at the prompt leaves: where nothing was said since the one before."""
        self._interruptions += 1
        if self._interruptions > 1:
            self._remark("\n")
            return True
        self._remark("\n(Ctrl-C once more leaves, and so does Ctrl-D)")
        return False
