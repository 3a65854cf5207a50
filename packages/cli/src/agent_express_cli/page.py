"""What a command that is no talk prints: lines and tables for a person, objects for a machine; and how it ends."""

from __future__ import annotations

import json as jsons
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .exits import Exit
from .output import Output
from .talking.json_lines import JsonScreen
from .talking.options import Options
from .talking.terminal import TextScreen
from .talking.turns import told


class Page:
    """The output of one command.

    Args:
        as_json: Whether a machine reads.

    Attributes:
        as_json: As given.
        screen: What notes and failures go to, on stderr.
    """

    def __init__(self, *, as_json: bool) -> None:
        self.as_json = as_json
        self.screen = JsonScreen(sys.stdout, sys.stderr) if as_json else TextScreen(sys.stdout, sys.stderr)
        self._out = Output(sys.stdout)

    @property
    def width(self) -> int:
        """Columns of the terminal."""
        return self._out.width

    def line(self, text: str = "", style: str = "") -> None:
        """Write a line of text."""
        self._out.write(f"{self._out.clean(text)}\n", style)

    def table(self, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Write a table of text."""
        self._out.table(head, rows)

    def object(self, value: Mapping[str, Any]) -> None:
        """Write a JSON object in a line of its own."""
        self._out.write(f"{jsons.dumps(value, ensure_ascii=False, default=str)}\n")

    def document(self, value: Any) -> None:
        """Write a JSON document: over many lines for a person, in one for a machine."""
        self._out.write(f"{jsons.dumps(value, ensure_ascii=False, indent=None if self.as_json else 2)}\n")

    def note(self, text: str) -> None:
        """Say on stderr what the user should know."""
        self.screen.note(text)


def perform(work: Callable[[Page], int | None], *, as_json: bool, debug: bool = False) -> int:
    """Do *work*, and tell in one sentence what ends it; the exit code says it, too.

    Args:
        work: Gets the page; returns an exit code, or None where all went well.
        as_json: Whether a machine reads.
        debug: Whether a failure comes with its traceback.
    """
    page = Page(as_json=as_json)
    try:
        return work(page) or Exit.OK
    except KeyboardInterrupt:
        return Exit.INTERRUPTED
    except Exception as error:
        return told(error, page.screen, Options(debug=debug))
