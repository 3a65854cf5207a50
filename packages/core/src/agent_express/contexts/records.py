"""What contexts share: the records of a session and of a turn, and what the agent does for them."""

from __future__ import annotations

import asyncio
import secrets
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from ..errors import Signal, TurnError
from ..events import Event, TurnContinued, TurnStatus, UserSaid
from ..log import Log
from ..messages import Limits, Message, Named, Settings, ToolDef
from ..state import State
from ..stream import Channel, tell
from .resources import Resources
from .usage import TurnUsage

# list[str] as a factory costs four times as much as list: calling an alias tries to mark what it makes.
_new_list: Callable[[], list[Any]] = list
_new_dict: Callable[[], dict[str, Any]] = dict
_new_set: Callable[[], set[Any]] = set


class AnyTool(Protocol):
    """What a context knows of a tool."""

    @property
    def name(self) -> str:
        """The tool's name."""
        ...

    @property
    def definition(self) -> ToolDef:
        """What the model is told of it."""
        ...


@dataclass(frozen=True, slots=True)
class AgentInfo:
    """What middleware may know of the agent it serves."""

    name: str
    model: Named
    instructions: str
    limits: Limits


class Runtime(Protocol):
    """What the agent does on behalf of its contexts."""

    @property
    def info(self) -> AgentInfo | None:
        """The agent; None in an App's own middleware."""
        ...

    @property
    def identities(self) -> Mapping[int, str]:
        """Names of the middleware in use, by the identity of the object."""
        ...

    @property
    def places(self) -> Mapping[tuple[str, str], str | None]:
        """Names of the middleware in use, by where their hooks were written."""
        ...

    def find_model(self, model: Named | str) -> Named:
        """The model of that name."""
        ...

    def add_tool(self, session: SessionRecord | None, tool: AnyTool, by: str) -> None:
        """Register a tool for all sessions, or for one."""
        ...

    async def ask(self, ctx: Any, by: str, messages: Sequence[Message], options: AskOptions) -> Any:
        """Make a middleware's own model call."""
        ...

    async def run_nested(self, ctx: Any, agent: Any, options: NestedOptions) -> Any:
        """Run another agent inside this turn."""
        ...


@dataclass(frozen=True, slots=True)
class AskOptions:
    """How a middleware's own model call differs from the loop's."""

    model: Named | str | None
    output: Any
    purpose: str
    settings: Settings | None


@dataclass(frozen=True, slots=True)
class NestedOptions:
    """How a nested agent is run."""

    input: Any
    inherit: bool
    state: tuple[str, ...]
    output: Any
    name: str | None
    by: str | None


@dataclass(slots=True, eq=False, repr=False)
class SessionRecord:
    """One open session; shared by all its contexts."""

    runtime: Runtime
    id: str
    log: Log
    state: State
    resources: Resources
    tools: dict[str, AnyTool]
    usage: TurnUsage
    lock: asyncio.Lock
    user_id: str | None = None
    scopes: frozenset[str] = frozenset()
    is_resumed: bool = False
    metadata: Mapping[str, Any] = field(default_factory=_new_dict)
    credentials: Any = field(default=None, repr=False)
    trace_id: str = ""
    own_tools: bool = False
    opening: bool = True
    identified: bool = False
    turns: int = 0
    waiting: int = 0
    turn: TurnRecord | None = None
    deferred: deque[tuple[str, Callable[[], Awaitable[Any]]]] | None = None
    wake_deferred: Callable[[], None] | None = None
    stay_open: Callable[[Any], Awaitable[None]] | None = None
    allowed: frozenset[type[Event]] = frozenset()
    path: str = ""
    enclosing: TurnRecord | None = None

    def trace(self) -> str:
        """The trace id, drawn when somebody first asks."""
        if not self.trace_id:
            self.trace_id = secrets.token_hex(16)
        return self.trace_id


@dataclass(slots=True, eq=False, repr=False)
class TurnRecord:
    """One turn; shared by all its contexts."""

    session: SessionRecord
    id: str
    index: int
    started_at: float
    input: Message
    limits: Limits
    usage: TurnUsage
    chains: Any
    model: Named
    settings: Settings
    output_type: Any = None
    metadata: Mapping[str, Any] | None = None
    earlier: tuple[Message, ...] = ()
    output: Message | None = None
    delivered: Message | None = None
    value: Any = None
    status: TurnStatus = "running"
    limit: str | None = None
    signal: Signal | None = None
    said: bool = False
    looping: bool = False
    steps: int = 0
    attempts: int = 0
    continuations: int = 0
    final: Message | None = None
    output_retries: int = 0
    next_messages: list[tuple[str, Message]] | None = None
    assembled: tuple[Message, ...] | None = None
    partial: list[str] = field(default_factory=_new_list)
    offered: tuple[ToolDef, ...] = ()
    outcomes: dict[str, Any] = field(default_factory=_new_dict)
    base_cancels: int = 0
    task: asyncio.Task[Any] | None = None
    struck: set[asyncio.Task[Any] | None] | None = None
    unwinding: int = 0
    out: Channel | None = None
    nested: list[TurnRecord] | None = None
    clock: asyncio.Timeout | None = None
    busy: set[asyncio.Task[Any]] = field(default_factory=_new_set)
    killed: BaseException | None = None
    nested_runs: int = 0


def stop(turn: TurnRecord, signal: Signal) -> None:
    """Mark *turn* and the turns nested in it as stopped: no model or tool call starts in them any more."""
    if turn.signal is None:
        turn.signal = signal
    for each in turn.nested or ():
        stop(each, signal)


def still_counting(turn: TurnRecord) -> TurnRecord:
    """The record that work of *turn* counts in: itself, or, once it is over (deferred work), one of the session's."""
    if turn.status == "running":
        return turn
    fresh = TurnRecord(
        turn.session,
        turn.id,
        turn.index,
        turn.started_at,
        turn.input,
        turn.limits,
        TurnUsage(turn.session.usage),
        turn.chains,
        turn.model,
        turn.settings,
    )
    fresh.said = True
    return fresh


def say_input(turn: TurnRecord) -> None:
    """Log what the user said, in its final form, after what was handed in before it."""
    turn.said = True
    for message in turn.earlier:
        tell(turn.session.log, UserSaid(message))
    tell(turn.session.log, UserSaid(turn.input))


def log_continuation(turn: TurnRecord, by: str, message: Message | None) -> None:
    """Log that the model is sent back to work; counted against `max_continuations`.

    Raises:
        TurnError: It was sent back too often.
    """
    limit = turn.limits.max_continuations
    if turn.continuations >= limit:
        raise TurnError(f"{by}: the turn was continued {limit} times, which is its limit (max_continuations)")
    turn.continuations += 1
    if turn.steps >= turn.limits.max_steps:
        turn.limit = "max_steps"  # no step is left to go on with: the answer stands
        return
    if not turn.said:
        say_input(turn)
    turn.final = turn.output = None
    tell(turn.session.log, TurnContinued(by, turn.continuations, message))
