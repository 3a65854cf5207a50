"""Snapshots: events, messages, requests or answers as JSON that is the same in every run.

Left out is what differs from run to run: the log's stamps, times and durations. Ids become numbered placeholders,
"<turn-1>", "<call-2>", in the order in which they first appear, also where they stand inside a text.
"""

from __future__ import annotations

import difflib
import json
import os
import re
from base64 import urlsafe_b64encode
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import is_dataclass
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel

from ..contexts import TurnUsage
from ..events import End, Event
from ..messages import ModelRequest, ModelResponse, ToolCall
from .plain import JSON, is_list, is_object, told

MODE_VARIABLE = "AGENT_EXPRESS_SNAPSHOTS"

_STAMPS = frozenset({"id", "position", "at"})
_TIMES = re.compile(r"(?:^|_)(?:at|time|timestamp|seconds|duration|elapsed|latency)$")
_IDS = {
    "session_id": "session",
    "turn_id": "turn",
    "trace_id": "trace",
    "call_id": "call",
    "request_id": "request",
    "response_id": "response",
}
_UUID = re.compile(r"\b[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b|\b[0-9a-f]{32}\b", re.IGNORECASE)


def snapshot(value: object) -> JSON:
    """Return *value* as JSON data without ids, times, positions and durations.

    Args:
        value: An event, message, request, response or answer, or any nesting of lists and dicts of these.

    Raises:
        TypeError: It holds something that is none of these.
    """
    numbers = _Numbers()
    tree = _tree(value, numbers)
    return _inside(tree, numbers)


def assert_snapshot(value: object, path: str | Path, *, write: bool = False) -> None:
    """Compare the snapshot of *value* with the one in the file at *path*.

    The file is only written where *write* is true or the variable AGENT_EXPRESS_SNAPSHOTS is "write".

    Raises:
        AssertionError: They differ, shown as a unified diff, or there is no file yet.
    """
    __tracebackhide__ = True
    path = Path(path)
    now = json.dumps(snapshot(value), ensure_ascii=False, indent=2) + "\n"
    if write or os.environ.get(MODE_VARIABLE) == "write":
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(now, encoding="utf-8", newline="\n")
        return
    if not path.exists():
        raise AssertionError(
            f"no snapshot at {path}: write it with {MODE_VARIABLE}=write, and read it before you keep it"
        )
    before = path.read_text(encoding="utf-8")
    if now != before:
        lines = difflib.unified_diff(before.splitlines(), now.splitlines(), str(path), "now", lineterm="")
        diff = "\n".join(lines)
        raise AssertionError(f"not as in the snapshot; where that is wanted: {MODE_VARIABLE}=write\n{diff}")


class _Numbers:
    """Placeholders by value, numbered by kind."""

    def __init__(self) -> None:
        self.given: dict[str, str] = {}
        self._counts: dict[str, int] = {}

    def of(self, value: str, kind: str) -> str:
        if not value:
            return value
        if value not in self.given:
            self._counts[kind] = count = self._counts.get(kind, 0) + 1
            self.given[value] = f"<{kind}-{count}>"
        return self.given[value]


# --- from objects to JSON -----------------------------------------------------------------------


def _tree(value: object, numbers: _Numbers) -> JSON:
    match value:
        case None | bool() | int() | float() | str():
            return value
        case bytes():
            return urlsafe_b64encode(value).decode("ascii")
        case TurnUsage():
            return {name: _tree(getattr(value, name), numbers) for name in _COUNTS if getattr(value, name)}
        case BaseModel():
            return _tree(value.model_dump(mode="json"), numbers)
        case Mapping():
            return {str(key): _tree(each, numbers) for key, each in cast(Mapping[object, object], value).items()}
        case list() | tuple():
            return [_tree(each, numbers) for each in cast(Iterable[object], value)]
        case _ if is_dataclass(value) and not isinstance(value, type):
            return _head(value) | {name: _field(value, name, each, numbers) for name, each in _told(value)}
        case _:
            raise TypeError(f"{value!r} ({type(value).__name__}) cannot stand in a snapshot")


_COUNTS = ("tokens", "model_calls", "attempts", "unreported", "tool_calls", "failures")


def _head(value: object) -> dict[str, JSON]:
    if isinstance(value, Event):
        return {"event": value.type}
    return {"event": "end"} if isinstance(value, End) else {}


def _told(value: Any) -> Iterator[tuple[str, Any]]:
    for name, each in told(value):
        stamp = isinstance(value, Event) and name in _STAMPS
        time = bool(_TIMES.search(name)) and isinstance(each, int | float)
        if not stamp and not time:
            yield name, each


def _field(owner: object, name: str, value: Any, numbers: _Numbers) -> JSON:
    if isinstance(owner, ModelRequest) and name == "model":
        return value.name
    if name == "digests" and isinstance(value, Mapping):
        return {key: numbers.of(each, "digest") for key, each in cast(Mapping[str, str], value).items()}
    kind = "call" if isinstance(owner, ToolCall) else "response" if isinstance(owner, ModelResponse) else ""
    kind = kind if name == "id" else _IDS.get(name, "")
    return numbers.of(value, kind) if kind and isinstance(value, str) else _tree(value, numbers)


# --- ids inside texts ---------------------------------------------------------------------------

SHORTEST = 8  # characters: a shorter id, "call-1" or "0", may be a word of the text


def _inside(value: JSON, numbers: _Numbers) -> JSON:
    if isinstance(value, str):
        return _replaced(value, numbers)
    if is_list(value):
        return [_inside(each, numbers) for each in value]
    if is_object(value):
        return {_replaced(name, numbers): _inside(each, numbers) for name, each in value.items()}
    return value


def _replaced(text: str, numbers: _Numbers) -> str:
    for known in sorted((each for each in numbers.given if len(each) >= SHORTEST), key=len, reverse=True):
        text = text.replace(known, numbers.given[known])
    return _UUID.sub(lambda found: numbers.of(found[0], "id"), text)
