"""What the user says: the words of the command line, or what comes through a pipe."""

from __future__ import annotations

from collections.abc import Sequence
from typing import BinaryIO

from ..exits import CommandError

LONGEST = 4_000_000
"""Bytes that are taken from a pipe: about a million tokens, which is more than models read at once."""

HOW = 'say what you want: agent-express run "List the files here", or send it through a pipe'


def said(words: Sequence[str], stdin: BinaryIO, *, is_terminal: bool) -> str:
    """Join *words*; a word that is "-" stands for all of *stdin*, and so does no word at all where it is a pipe.

    Args:
        words: The arguments; a newcomer may have left out the quotes.
        stdin: Read as UTF-8, with or without a byte order mark.
        is_terminal: Whether *stdin* is a keyboard.

    Raises:
        CommandError: Nothing was said, or *stdin* is not UTF-8 or too long.
    """
    if not words and not is_terminal:
        words = ["-"]
    if "-" not in words:
        text = " ".join(words)
    else:
        place = list(words).index("-")
        parts = [" ".join(words[:place]), decode(stdin.read(LONGEST + 1)), " ".join(words[place + 1 :])]
        text = "\n\n".join(part for part in parts if part)
    if not text.strip():
        raise CommandError(f"nothing was said; {HOW}")
    return text


def check_length(length: int) -> None:
    """Refuse what no model can read.

    Raises:
        CommandError: *length* is more than `LONGEST`.
    """
    if length > LONGEST:
        raise CommandError(
            f"what came through the pipe is longer than {LONGEST:,} bytes, which is more than a model reads at once: "
            "send a part of it, or let a tool of your own agent (--stack) look things up in the file"
        )


def decode(data: bytes) -> str:
    """Read *data* as UTF-8.

    Raises:
        CommandError: It is not UTF-8, or too long.
    """
    check_length(len(data))
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CommandError(
            f"what came through the pipe is not UTF-8 text: byte {error.start} is 0x{data[error.start]:02x}; convert it"
        ) from None
