"""The event log of a session and its projection, the history.

The log is append-only; `append` never waits, so it also works while a task is being cancelled.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Set
from functools import cache
from hashlib import blake2b
from time import time
from typing import Any, TypeVar

from pydantic import TypeAdapter

from . import events
from .errors import EventError
from .events import (
    ContextCompacted,
    Event,
    MessageInterrupted,
    ModelResponded,
    ToolReturned,
    TurnContinued,
    TurnEnded,
    TurnStarted,
    UserSaid,
)
from .messages import Message, Part, Text, ToolCall, ToolResult

E = TypeVar("E", bound=Event)

CORE_EVENTS: frozenset[type[Event]] = frozenset(
    kind
    for kind in map(vars(events).__getitem__, events.__all__)
    if isinstance(kind, type) and issubclass(kind, Event) and kind is not Event
)
CORE_ENTRIES = frozenset(kind for kind in CORE_EVENTS if kind.durable)
"""What the core writes into the log, and nobody else may."""
PENDING = "(no result yet)"
_COUNT = 1 << 64  # one step of a UUIDv7's counter


class LogView:
    """The entries of a session, oldest first; what `ctx.log` and `session.log` show."""

    __slots__ = ("_log",)

    def __init__(self, log: Log) -> None:
        self._log = log

    def __len__(self) -> int:
        return len(self._log)

    def __iter__(self) -> Iterator[Event]:
        return iter(self._log)

    def __getitem__(self, index: int) -> Event:
        return self._log[index]

    def of(self, *kinds: type[E]) -> list[E]:
        """The entries of these kinds, oldest first."""
        return self._log.of(*kinds)

    @property
    def messages(self) -> tuple[Message, ...]:
        """The history that these entries make."""
        return self._log.messages


class Log:
    """The entries of one session, oldest first.

    A nested agent's log hands its entries to the log it belongs to, with the path of the agent; projections count
    only what is a log's own.
    """

    __slots__ = (
        "_allowed",
        "_digest",
        "_entries",
        "_history",
        "_last_id",
        "_open",
        "_parent",
        "_places",
        "_results",
        "_tail",
        "_tick",
        "_turn_began",
        "path",
    )

    def __init__(self, allowed: Set[type[Event]] = CORE_EVENTS, parent: Log | None = None, path: str = "") -> None:
        self._allowed, self._parent, self.path = allowed, parent, path
        self._entries: list[Event] = []
        self._tail = 2 << 62 | random.getrandbits(62)
        self._last_id, self._tick = 0, 0.0
        self._history: list[Message] = []
        self._places: list[int] = []
        self._turn_began = 0
        self._open: tuple[ToolCall, ...] = ()
        self._results: dict[str, ToolResult] = {}
        self._digest = (0, blake2b(digest_size=8))

    def __len__(self) -> int:
        return len(self._entries)

    def __iter__(self) -> Iterator[Event]:
        return iter(self._entries)

    def __getitem__(self, index: int) -> Event:
        return self._entries[index]

    def of(self, *kinds: type[E]) -> list[E]:
        """The entries of these kinds, oldest first."""
        return [entry for entry in self._entries if isinstance(entry, kinds)]

    def append(self, event: Event) -> None:
        """Stamp *event* and add it.

        Raises:
            EventError: Nobody declared this kind, it was logged before, or JSON cannot hold it. Nothing was added.
        """
        kind = type(event)
        project = _PROJECTIONS.get(kind, _NOT_OURS)
        if project is _NOT_OURS:
            self._admit(event)
            project = None
        if event.position >= 0:
            raise EventError(f"{kind.__name__} was logged before: make a new event for each time it happens")
        root = self if self._parent is None else self._root_for(event)
        event.at = now = time()
        if now >= root._tick:
            # A new millisecond begins a new id, a UUIDv7 (RFC 9562, sections 5.7 and 6.2): 48 bits of milliseconds,
            # 12 of counter, a random tail drawn once per log; a counter that runs over borrows from the milliseconds.
            milliseconds = int(now * 1000)
            root._tick = (milliseconds + 1) / 1000
            root._last_id = max(root._last_id, ((milliseconds << 16 | 0x7000) << 64 | root._tail) - _COUNT)
        root._last_id = event.id = root._last_id + _COUNT
        event.position = len(root._entries)
        root._entries.append(event)
        if root is not self:
            self._entries.append(event)
        if project is not None:
            project(self, event)

    def _admit(self, event: Event) -> None:
        kind = type(event)
        if kind not in self._allowed:
            raise EventError(
                f"{kind.__name__} is declared by no middleware in use: list it in the middleware's `events = (...)`"
            )
        events.check(event)

    def _root_for(self, event: Event) -> Log:
        """The log that a nested agent's entries belong to; the event gets the path it comes by."""
        root = self
        while root._parent is not None:
            event.path = f"{root.path}/{event.path}" if event.path else root.path
            root = root._parent
        return root

    # --- the history ----------------------------------------------------------------------------

    @property
    def messages(self) -> tuple[Message, ...]:
        """The history: what a model is sent next. Calls without a result show a placeholder."""
        if not self._open:
            return tuple(self._history)
        return (*self._history, Message("tool", [self._result_of(call) for call in self._open]))

    def _result_of(self, call: ToolCall) -> ToolResult:
        found = self._results.get(call.id)
        return found if found is not None else ToolResult(PENDING, call_id=call.id, name=call.name)

    @property
    def open_calls(self) -> tuple[ToolCall, ...]:
        """Calls of the last response that have no result yet."""
        if not self._open:
            return ()
        return tuple([call for call in self._open if call.id not in self._results])

    @property
    def batch(self) -> tuple[ToolCall, ...]:
        """All calls of the last response, while one of them has no result."""
        return self._open

    def digest(self) -> str:
        """A short hash of the history; cheap while the history only grows."""
        count, hashed = self._digest
        history = self._history
        if count < len(history):
            new = "".join([canonical(message) for message in history[count:]])
            hashed.update(new.encode("utf-8", "surrogatepass"))
            self._digest = (len(history), hashed)
        return hashed.hexdigest()

    def place_after(self, message: Message) -> int:
        """The position in the log up to which `compact` includes *message*, found by identity.

        Raises:
            ValueError: It is not in the history.
        """
        for held, place in zip(self._history, self._places, strict=True):
            if held is message:
                return place
        raise ValueError("compact: that message is not in ctx.history; hand in one of its items")

    def compacted(self, upto: int) -> tuple[Message, ...]:
        """The messages that a compaction up to position *upto* would replace."""
        return tuple([m for m, place in zip(self._history, self._places, strict=True) if place <= upto])

    def _say(self, message: Message, place: int) -> None:
        self._history.append(message)
        self._places.append(place)

    def _rewrite_last(self, message: Message | None) -> None:
        """Replace the last message, or drop it."""
        if message is None:
            del self._history[-1], self._places[-1]
        else:
            self._history[-1] = message
        self._digest = (0, blake2b(digest_size=8))

    def _has_draft(self) -> bool:
        """Whether the running turn has said something that nothing follows."""
        if not self._history or self._open or self._places[-1] < self._turn_began:
            return False
        return self._history[-1].role == "assistant"


def digest_of(messages: Iterable[Message]) -> str:
    """The digest of a history that holds *messages*."""
    text = "".join([canonical(message) for message in messages])
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()


def canonical(message: Message) -> str:
    """The content of *message* as one text: its role and, part by part, what a model is sent of it."""
    return f"\0\0\0{message.role}\0{_SEPARATOR.join([_content(part) for part in message.parts])}"


def _content(part: Part) -> str:
    if type(part) is Text:
        return part.text
    if type(part) is ToolCall:
        return f"call\0{part.id}\0{part.name}\0{part.args}"
    if type(part) is ToolResult:
        return f"result\0{part.call_id}\0{part.is_error}\0{_SEPARATOR.join([_content(each) for each in part.parts])}"
    return _part_adapter().dump_json(part).decode()


_SEPARATOR = "\0\0"


@cache
def _part_adapter() -> TypeAdapter[Part]:
    return TypeAdapter(Part)


def _turn_started(log: Log, event: TurnStarted) -> None:
    log._turn_began = event.position


def _user_said(log: Log, event: UserSaid) -> None:
    log._say(event.message, event.position)


def _responded(log: Log, event: ModelResponded) -> None:
    if event.purpose:
        return
    log._say(event.response.message, event.position)
    log._open = event.response.message.tool_calls
    if log._open:
        log._results = {}


def _returned(log: Log, event: ToolReturned) -> None:
    if event.call_id not in [call.id for call in log._open]:
        return
    log._results[event.call_id] = event.result
    if log._open and len(log._results) == len(log._open):
        # The results stand where their calls do, so that no compaction can part them.
        log._say(Message("tool", [log._results[call.id] for call in log._open]), log._places[-1])
        log._open = ()


def _continued(log: Log, event: TurnContinued) -> None:
    if log._has_draft():
        draft = log._history[-1]
        log._rewrite_last(draft.replace(mark="superseded") if event.message is not None else None)
    if event.message is not None:
        log._say(event.message, event.position)


def _interrupted(log: Log, event: MessageInterrupted) -> None:
    log._say(event.message, event.position)


def _ended(log: Log, event: TurnEnded) -> None:
    if event.output is None:
        return
    if log._has_draft():
        log._rewrite_last(None)
    log._say(event.output, event.position)


def _compacted(log: Log, event: ContextCompacted) -> None:
    kept = [(m, place) for m, place in zip(log._history, log._places, strict=True) if place > event.upto]
    log._history = [event.summary, *[message for message, _ in kept]]
    log._places = [event.upto, *[place for _, place in kept]]
    log._digest = (0, blake2b(digest_size=8))


def _not_ours(log: Log, event: Event) -> None:
    """Stands for the kinds of events that the core does not know."""


_NOT_OURS: Callable[[Log, Any], None] | None = _not_ours
_OURS: dict[type[Event], Callable[[Log, Any], None] | None] = {
    TurnStarted: _turn_started,
    UserSaid: _user_said,
    ModelResponded: _responded,
    ToolReturned: _returned,
    TurnContinued: _continued,
    MessageInterrupted: _interrupted,
    TurnEnded: _ended,
    ContextCompacted: _compacted,
}
_PROJECTIONS: dict[type[Event], Callable[[Log, Any], None] | None] = {kind: _OURS.get(kind) for kind in CORE_EVENTS}
