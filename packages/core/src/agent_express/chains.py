"""The onions of a stack: composed once, when the agent opens."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .contexts import places_of
from .loop import turn_core
from .messages import (
    ModelResponse,
    ToolResult,
)
from .middleware import Entry
from .model_call import model_core
from .onion import Layer, Observer, compose, streams
from .tool_call import tool_core
from .tools import Tool


class Chains:
    """The onions of a stack: composed once, when the agent opens."""

    __slots__ = (
        "_by_tool",
        "any_streaming",
        "asks",
        "core_is_rim",
        "entries",
        "identities",
        "model",
        "names",
        "observer",
        "places",
        "tool",
        "turn",
    )

    def __init__(self, entries: Sequence[Entry], observer: Observer | None = None) -> None:
        self.entries, self.observer = tuple(entries), observer
        self.names = tuple([entry.name for entry in entries])
        self.identities = {id(entry.thing): entry.name for entry in entries if not isinstance(entry.thing, Tool)}
        self.places = places_of([(entry.name, hook) for entry in entries for hook in entry.hooks.values()])
        self.turn = compose("turn", hooks_of(entries, "turn"), turn_core, None, observer)
        self.model = compose("model", hooks_of(entries, "model"), model_core, ModelResponse, observer)
        self.tool = compose("tool", hooks_of(entries, "tool"), tool_core, ToolResult, observer)
        self.core_is_rim = not streams(self.model)
        self.any_streaming = not self.core_is_rim or streams(self.turn) or streams(self.tool)
        self._by_tool: dict[int, Layer] = {}
        self.asks: dict[frozenset[str], Layer] = {}

    def for_tool(self, tool: Tool | None) -> Layer:
        """The onion around *tool*: the agent's hooks, and inside of them its own."""
        if tool is None or not tool.use:
            return self.tool
        found = self._by_tool.get(id(tool))
        if found is None:
            entries = [*self.entries, *tool_entries(tool)]
            found = compose("tool", hooks_of(entries, "tool"), tool_core, ToolResult, self.observer)
            self._by_tool[id(tool)] = found
        return found


def hooks_of(entries: Sequence[Entry], hook: str) -> list[tuple[str, Any]]:
    """Names and hooks of those that have *hook*, outermost first."""
    return [(entry.name, entry.hooks[hook]) for entry in entries if hook in entry.hooks]


def tool_entries(tool: Tool) -> list[Entry]:
    """The middleware around one tool, checked when the tool was registered."""
    return [each for each in tool.use if isinstance(each, Entry)]
