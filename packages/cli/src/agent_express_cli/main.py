"""The command line: which commands there are, and how they end."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol, TextIO, runtime_checkable

from .exits import Exit

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
    args = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        speak_utf8(stream)
    try:
        code = _app()(args=args, prog_name="agent-express", standalone_mode=False)
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except Exception as error:
        if not isinstance(error, Refusal):
            raise
        return _refused(error, as_json="--json" in args)
    return _closed_quietly(Exit(code or 0))


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


def _refused(error: Refusal, *, as_json: bool) -> int:
    message = " ".join(error.format_message().split()).rstrip(".")
    context = getattr(error, "ctx", None)
    path = getattr(context, "command_path", "agent-express")
    told = f"{message}{' ' if message.endswith('?') else '; '}{path} --help says what there is"
    if as_json:
        value = {"type": "error", "error": type(error).__name__, "message": told, "exit_code": int(Exit.USAGE)}
        told = json.dumps(value, ensure_ascii=False)
    else:
        told = f"error: {told}"
    sys.stderr.write(f"{told}\n")
    return Exit.USAGE


def _closed_quietly(code: Exit) -> Exit:
    """Keep Python from complaining, while it ends, about a pipe whose reader has gone."""
    if code is Exit.PIPE_CLOSED:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return code
