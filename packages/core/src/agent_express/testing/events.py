"""Assertions on streams and logs: what happened, in which order, and what the user was left to read.

assert_events(answer.events, TurnStarted, like(ToolReturned, name="weather", how="ran"), TurnEnded)
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from ..events import End, Event, ModelResponded, Restarted, TextDelta, TurnStarted

Item: TypeAlias = Event | End[Any]

_STAMPS = frozenset({"id", "position", "at", "path"})  # what the log writes on an event


@dataclass(frozen=True, slots=True)
class Like:
    """An event of a class, of which only some fields matter; made by `like`."""

    kind: type[Item]
    fields: Mapping[str, object]

    def __str__(self) -> str:
        said = ", ".join(f"{name}={value!r}" for name, value in self.fields.items())
        return f"{self.kind.__name__}({said})"


Expected: TypeAlias = type[Item] | Item | Like


def like(kind: type[Item], /, **fields: object) -> Like:
    """Stand for an event of the class *kind*, or of one below it, whose *fields* have these values.

    Raises:
        TypeError: The class has no such field.
    """
    known = [field.name for field in dataclasses.fields(kind)]
    unknown = [name for name in fields if name not in known]
    if unknown:
        have = ", ".join(name for name in known if name not in _STAMPS) or "none"
        raise TypeError(f"{kind.__name__} has no field {unknown[0]!r}; it has {have}")
    return Like(kind, fields)


def assert_events(events: Iterable[Item], *expected: Expected) -> list[Item]:
    """Check that *expected* happened in this order, with anything else in between; return the events that matched.

    Args:
        events: A stream's items, an answer's events, or a log.
        expected: A class, an event that must be equal (its stamps aside), or `like(...)`.

    Raises:
        AssertionError: One is missing; shows what was found so far, what comes nearest, and all events.
    """
    __tracebackhide__ = True
    seen = list(events)
    found: list[int] = []
    for each in expected:
        start = found[-1] + 1 if found else 0
        place = next((n for n in range(start, len(seen)) if not _reasons(each, seen[n])), None)
        if place is None:
            raise AssertionError(_account(seen, expected, found))
        found.append(place)
    return [seen[place] for place in found]


def names(events: Iterable[Item]) -> list[str]:
    """The class names of *events*: the shortest account of what happened."""
    return [type(event).__name__ for event in events]


def text_of(events: Iterable[Item], path: str = "") -> str:
    """Join the text that a client was sent and not told to discard.

    A model call that restarted loses the text since the last response; a turn that restarted loses the turn's.

    Args:
        events: A stream's items.
        path: The nested agent whose text it is; empty for the agent itself.
    """
    text = ""
    turn = call = 0  # where the text of the present turn and of the present model call begins
    for event in events:
        if isinstance(event, End) or event.path != path:
            continue
        match event:
            case TextDelta(text=piece):
                text += piece
            case TurnStarted():
                turn = call = len(text)
            case ModelResponded(purpose=""):
                call = len(text)
            case Restarted(level="model"):
                text = text[:call]
            case Restarted(level="turn"):
                text, call = text[:turn], turn
            case _:
                pass
    return text


# --- matching -----------------------------------------------------------------------------------


def _reasons(expected: Expected, event: Item) -> list[str]:
    """Why *event* is not the expected one; empty where it is."""
    kind = _kind(expected)
    if not isinstance(event, kind):
        return [f"is not a {kind.__name__}"]
    if isinstance(expected, type):
        return []
    return [
        f"{name} is {getattr(event, name)!r}"
        for name, value in _fields(expected).items()
        if getattr(event, name) != value
    ]


def _kind(expected: Expected) -> type[Item]:
    if isinstance(expected, Like):
        return expected.kind
    return expected if isinstance(expected, type) else type(expected)


def _fields(expected: Item | Like) -> Mapping[str, object]:
    if isinstance(expected, Like):
        return expected.fields
    return {field.name: getattr(expected, field.name) for field in dataclasses.fields(expected) if field.compare}


# --- the account of a failure -------------------------------------------------------------------


def _account(events: Sequence[Item], expected: Sequence[Expected], found: Sequence[int]) -> str:
    missing = expected[len(found)]
    start = found[-1] + 1 if found else 0
    lines = [f"event {len(found) + 1} of {len(expected)} did not happen{_after(found)}: {_shown(missing)}"]
    near = [(len(reasons), n) for n in range(start, len(events)) if _similar(reasons := _reasons(missing, events[n]))]
    if near:
        place = min(near)[1]
        lines.append(f"nearest is event {place}: {', '.join(_reasons(missing, events[place]))}")
    lines.append("what happened:" if events else "nothing happened")
    width = len(str(len(events)))
    for n, event in enumerate(events):
        mark = f"= expected {found.index(n) + 1}" if n in found else ""
        lines.append(f"  {n:>{width}}  {_shown(event)}  {mark}".rstrip())
    return "\n".join(lines)


def _similar(reasons: Sequence[str]) -> bool:
    return not any(reason.startswith("is not a ") for reason in reasons)


def _after(found: Sequence[int]) -> str:
    return f" after event {found[-1]}" if found else ""


WIDTH = 200  # characters of one event in the account


def _shown(item: Expected) -> str:
    text = item.__name__ if isinstance(item, type) else str(item) if isinstance(item, Like) else repr(item)
    return text if len(text) <= WIDTH else f"{text[: WIDTH - 1]}…"
