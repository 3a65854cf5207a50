"""The command line: which commands there are, and how they end."""

from __future__ import annotations

import gc
import json
import os
import sys
import traceback
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, TextIO, runtime_checkable

from .exits import CommandError, Exit

if TYPE_CHECKING:
    import typer


@runtime_checkable
class Refusal(Protocol):
    """What typer raises where an option or a command does not fit; its class has moved between modules."""

    exit_code: int

    def format_message(self) -> str:
        """What is wrong, in one sentence."""
        ...


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code.

    Args:
        argv: The arguments; those of the process where it is left out.
    """
    if argv is not None:
        return _run(list(argv))
    try:
        return _run(sys.argv[1:])
    finally:
        gc.freeze()  # Python, while it ends, looks at all that is left: a fifth of what a short command takes


def _run(args: list[str]) -> int:
    for stream in (sys.stdout, sys.stderr):
        speak_utf8(stream)
    try:
        code = _app()(args=args, prog_name="agent-express", standalone_mode=False)
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except Exception as error:
        return _failed(error, args)
    return _closed_quietly(code if isinstance(code, int) else Exit.OK)


def _app() -> typer.Typer:
    """Build the app only now: importing this package costs nothing."""
    from .app import build

    return build()


def speak_utf8(stream: TextIO) -> None:
    """Let *stream* take any text: as UTF-8 into a pipe, with question marks on a terminal that cannot."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is None:
        return
    if stream.isatty() or "PYTHONIOENCODING" in os.environ:
        reconfigure(errors="replace")
    else:
        reconfigure(encoding="utf-8", errors="replace")


def _failed(error: Exception, args: Sequence[str]) -> int:
    """Tell what ended the command; an error of our own code goes on, with its traceback."""
    as_json = "--json" in args
    if isinstance(error, Refusal):
        message = " ".join(error.format_message().split()).rstrip(".")
        path = getattr(getattr(error, "ctx", None), "command_path", "agent-express")
        told = f"{message}{' ' if message.endswith('?') else '; '}{path} --help says what there is"
        _tell(type(error).__name__, told, Exit.USAGE, as_json=as_json)
        return Exit.USAGE
    import typer

    if isinstance(error, typer.Abort):
        return Exit.INTERRUPTED
    from agent_express import ExpressError

    if not isinstance(error, CommandError | ExpressError):
        raise error
    from .errors import problem

    if "--debug" in args:
        traceback.print_exception(error.__cause__ or error, file=sys.stderr)
    found = problem(error)
    for line in (found.message,) if as_json or not found.lines else found.lines:
        _tell(found.kind, line, found.code, as_json=as_json)
    return _closed_quietly(found.code)


def _tell(kind: str, message: str, code: Exit, *, as_json: bool) -> None:
    value = {"type": "error", "error": kind, "message": message, "exit_code": int(code)}
    sys.stderr.write(f"{json.dumps(value, ensure_ascii=False) if as_json else f'error: {message}'}\n")


def _closed_quietly(code: int) -> int:
    """Keep Python from complaining, while it ends, about a pipe whose reader has gone."""
    if code == Exit.PIPE_CLOSED:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code
