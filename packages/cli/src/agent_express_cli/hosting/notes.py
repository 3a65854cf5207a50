"""What `--verbose` adds: a line for each plugin that is loaded, or fails."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from .hookspecs import hookimpl

if TYPE_CHECKING:
    from agent_express.plugins import Plugin


class StateNotes:
    """A plugin of the command line that says what becomes of the others.

    Args:
        note: Takes each line.
    """

    def __init__(self, note: Callable[[str], None]) -> None:
        self._note = note

    @hookimpl
    def plugin_state_changed(self, info: Plugin) -> None:
        """Say it."""
        self._note(f"plugin {info}: {info.state}{f', {info.reason}' if info.reason else ''}")
