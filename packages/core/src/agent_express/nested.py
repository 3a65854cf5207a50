"""An agent inside a turn: a session of its own whose events, usage and guards are the parent's too."""

from __future__ import annotations

from contextvars import ContextVar
from copy import copy
from typing import Any, cast

from .answer import Answer
from .contexts import NestedOptions, TurnContext, TurnRecord, as_messages, still_counting, stop
from .errors import Aborted, HookError, TurnAbortedError, repeated
from .events import End, Event
from .middleware import Entry
from .stream import Channel, sink

DEPTH = 16
"""Agents within agents, at most."""
_calling: ContextVar[tuple[str, ...]] = ContextVar("agent_express_calling", default=())


class PathSink(Channel):
    """Hands a nested agent's deltas to the parent's stream, with the agent's path on them."""

    __slots__ = ("_out", "_path")

    def __init__(self, out: Channel, path: str) -> None:
        super().__init__()
        self._out, self._path = out, path

    @property
    def is_abandoned(self) -> bool:
        """Whether the reader of the stream is tearing down what runs behind it."""
        return self._out.is_abandoned

    async def send(self, event: Event | End[Any]) -> None:
        """Hand *event* on with its path."""
        await self._out.send(self._marked(event))

    def put(self, event: Event | End[Any]) -> None:
        """Hand *event* on at once, with its path."""
        self._out.put(self._marked(event))

    def _marked(self, event: Event | End[Any]) -> Event | End[Any]:
        if isinstance(event, Event) and not event.durable:  # the log has marked the durable ones
            event = copy(event)  # the model may keep its own
            event.path = f"{self._path}/{event.path}" if event.path else self._path
        return event


async def run_nested(ctx: TurnContext, agent: Any, options: NestedOptions) -> Answer[Any]:
    """Run *agent* inside the turn of *ctx*; see `TurnContext.run_agent`."""
    turn = still_counting(ctx._turn)
    if turn.signal is not None:
        raise repeated(turn.signal)
    path = options.name or agent.name
    callers = (*_calling.get(), options.by or "core")
    if len(callers) > DEPTH:
        raise HookError(f"{callers[-1]}: run_agent() within run_agent() {DEPTH} times: {' > '.join(callers)}")
    turn.nested_runs = run = turn.nested_runs + 1
    inherited = _inherited(turn, agent, callers) if options.inherit else []
    out = sink.get()
    called = _calling.set(callers)
    silenced = sink.set(PathSink(out, path)) if out is not None else None
    try:
        async with agent, agent._nested_session(turn, path, inherited, options.inherit) as session:
            lent = turn.session.state.lend(session._record.state, options.state)
            answer: Answer[Any] = await session.run(as_messages(options.input), output=options.output)
            turn.session.state.bring_back(session._record.state, lent, f"{path}, run {run}")
    except TurnAbortedError as error:
        _pass_on(turn, error, inherited)
        raise
    finally:
        _calling.reset(called)
        if silenced is not None:
            sink.reset(silenced)
    return answer


def _inherited(turn: TurnRecord, agent: Any, callers: tuple[str, ...]) -> list[Entry]:
    """The parent's model and tool hooks that go around the nested agent's own.

    What both use stands there once; a hook that runs an agent from within does not go around that agent.
    """
    theirs = (*agent._outer, *agent._entries)
    own = {id(entry.thing) for entry in theirs}
    names = {entry.name for entry in theirs}
    parent = turn.session.runtime.info
    found: list[Entry] = []
    for entry in turn.chains.entries:
        hooks = {level: hook for level, hook in entry.hooks.items() if level in ("model", "tool")}
        if id(entry.thing) not in own and hooks and entry.name not in callers:
            name = entry.name if entry.name not in names or parent is None else f"{parent.name}/{entry.name}"
            found.append(Entry(name, entry.thing, hooks, events=entry.events))
    return found


def _pass_on(turn: TurnRecord, error: TurnAbortedError, inherited: list[Entry]) -> None:
    """A guard of the parent stops the parent too, wherever it stood when it said so."""
    unknown = error.by == "core" and bool(inherited)  # it may have been one of them: a guard fails closed
    if unknown or error.by in {entry.name for entry in inherited}:
        if turn.signal is None:
            signal = Aborted(error.reason)
            signal.by = error.by
            stop(turn, signal)
        raise cast(Aborted, turn.signal) from error
