"""How the command ends: exit codes, and errors of the command's own."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """What a script finds in `$?`."""

    OK = 0
    FAILED = 1
    USAGE = 2
    TIMEOUT = 124
    INTERRUPTED = 130
    PIPE_CLOSED = 141


MEANING: dict[Exit, str] = {
    Exit.OK: "done: there is an answer, or what was asked for is shown",
    Exit.FAILED: "the turn failed: the model, a middleware, a limit; or a check did",
    Exit.USAGE: "nothing was asked: an option, the input, the stack, a plugin, the model's name, package or key",
    Exit.TIMEOUT: "--timeout has passed",
    Exit.INTERRUPTED: "Ctrl-C",
    Exit.PIPE_CLOSED: "whoever read the output has gone",
}
"""Shown by --help."""


class CommandError(Exception):
    """The command cannot go on; its text is one sentence that says what to do.

    Attributes:
        code: The exit code.
    """

    def __init__(self, message: str, code: Exit = Exit.USAGE) -> None:
        super().__init__(message)
        self.code = code
