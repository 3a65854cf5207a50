"""One of the two outputs: where its cursor is, and what it can do."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, TextIO

from .exits import CommandError, Exit
from .words import printable

if TYPE_CHECKING:
    from rich.console import Console


class Output:
    """Writes text at once, knows whether a line has begun, and what its terminal can do.

    Args:
        file: stdout or stderr.
    """

    def __init__(self, file: TextIO) -> None:
        self._file = file
        self._in_line = False
        self.is_terminal = file.isatty()
        self._is_painted = self.is_terminal or bool(os.environ.get("FORCE_COLOR"))

    @cached_property
    def _console(self) -> Console:
        """What knows the terminal; made when it is needed, for in a pipe its import is a third of a short command."""
        from rich.console import Console

        return Console(file=self._file, highlight=False, markup=False, emoji=False)

    @property
    def can_wipe(self) -> bool:
        """Whether rows can be taken back: the cursor of the terminal can be moved."""
        return self.is_terminal and not self._console.is_dumb_terminal and not self._console.legacy_windows

    @property
    def knows_signs(self) -> bool:
        """Whether its encoding has arrows and crosses."""
        try:
            "→←✗".encode(self._file.encoding or "utf-8")
        except (UnicodeEncodeError, LookupError):
            return False
        return True

    @property
    def width(self) -> int:
        """Columns."""
        return self._console.width if self.is_terminal else shutil.get_terminal_size().columns

    @property
    def height(self) -> int:
        """Rows."""
        return self._console.height

    def clean(self, text: str) -> str:
        """*text* as a terminal may have it; as it is where it goes into a pipe."""
        return printable(text) if self.is_terminal else text

    def paint(self, text: str, style: str) -> str:
        """*text* in a style of rich, where there is somebody to see it and NO_COLOR does not forbid it."""
        if not self._is_painted:
            return text
        from rich.text import Text

        with self._console.capture() as painted:
            self._console.print(Text(text, style), soft_wrap=True, end="")
        return painted.get()

    def write(self, text: str, style: str = "") -> None:
        """Write *text* at once, painted in *style*.

        Raises:
            CommandError: Nobody reads it any more, or there is no room for it.
        """
        if not text:
            return
        try:
            self._file.write(self.paint(text, style) if style else text)
            self._file.flush()
        except OSError as error:
            raise _closed(error) from error
        self._in_line = not text.endswith("\n")

    def table(self, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Write *rows* under *head*: drawn where a person reads, as plain columns without a head in a pipe."""
        if not self.is_terminal:
            self.write("".join(f"{line}\n" for line in columns(rows)))
            return
        from rich.table import Table
        from rich.text import Text

        drawn = Table(*head, box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold", show_header=any(head))
        for row in rows:
            drawn.add_row(*(Text(self.clean(cell)) for cell in row))
        with self._console.capture() as painted:
            self._console.print(drawn)
        self.write(painted.get())

    def end_line(self) -> None:
        """Go to the next line, unless one was just begun."""
        if self._in_line:
            self.write("\n")

    def wipe(self, rows: int) -> None:
        """Take back the last *rows* rows, the cursor's own included."""
        up = f"\x1b[{rows - 1}A" if rows > 1 else ""
        self.write(f"\r{up}\x1b[J")
        self._in_line = False


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Lines of *rows*, each cell padded to its column; two spaces lie between, and no cell holds a line end."""
    cells = [[" ".join(cell.split()) for cell in row] for row in rows]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return ["  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]


def _closed(error: OSError) -> CommandError:
    if isinstance(error, BrokenPipeError) or (os.name == "nt" and error.errno == errno.EINVAL):
        return CommandError("whoever read the output has gone", Exit.PIPE_CLOSED)
    return CommandError(f"the output cannot be written: {error.strerror or error}", Exit.FAILED)
