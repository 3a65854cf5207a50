"""A session: one conversation, one turn at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from types import TracebackType
from typing import Any, Literal, Self, TypeAlias, TypedDict, TypeVar, Unpack, cast, overload

from pydantic import TypeAdapter

from .answer import Answer
from .chains import Chains
from .checks import PER_TURN, read
from .contexts import Resources, SessionRecord, TurnUsage
from .errors import SessionBusyError, SessionClosedError, UseError
from .events import SessionOpened
from .inputs import Input, check_metadata, checked_input
from .live import LiveSession, SessionOptions
from .log import LogView
from .messages import Limits, Message, Named, Settings
from .middleware import Usable
from .order import check_order
from .outputs import compile_output
from .runtime import OpenAgent
from .state import State
from .stream import sink
from .turn import TurnOptions, run_turn
from .turn_stream import TurnStream

T = TypeVar("T")
_inside: ContextVar[frozenset[int]] = ContextVar("agent_express_inside", default=frozenset())
"""The sessions in whose turns the running code stands."""
OnBusy: TypeAlias = Literal["error", "wait"]


class RunOptions(TypedDict, total=False):
    """How one turn is run.

    Attributes:
        use: Middleware for this turn, innermost.
        model: Another model for this turn, an object or a name.
        settings: How the model is to answer.
        limits: Other limits for this turn.
        metadata: Shown to hooks as `ctx.metadata`.
        on_busy: While another turn runs: "error", or "wait".
    """

    use: Iterable[Usable]
    model: Named | str | None
    settings: Settings | None
    limits: Limits | None
    metadata: Mapping[str, Any] | None
    on_busy: OnBusy


class Session:
    """A handle on one conversation: `async with agent.session("id") as session`.

    Attributes:
        id: The conversation's id.
    """

    def __init__(self, agent: Any, id: str, options: SessionOptions) -> None:
        self._agent, self.id, self._options = agent, id, options
        self._live: LiveSession | None = None

    async def __aenter__(self) -> Self:
        if self._live is not None:
            raise UseError(f"a handle is entered once: call agent.session({self.id!r}) again for another")
        runtime: OpenAgent = self._agent._open_runtime()
        live = cast(LiveSession | None, runtime.sessions.get(self.id))
        while live is not None and live.gone is not None:
            await asyncio.shield(live.gone)  # what is closing is not joined
            live = runtime.sessions.get(self.id)
        is_new = live is None
        if live is None:
            live = self._made(runtime)
        else:
            self._options.check_user(live.record)
        self._live = live
        live.handles += 1
        try:
            await (live.open() if is_new else live.wait_ready())
        except BaseException:
            await self._let_go()
            raise
        return self

    def _made(self, runtime: OpenAgent) -> LiveSession:
        record = self._options.record(runtime, self.id)
        live = LiveSession(runtime, record, self._options.inherited)
        runtime.sessions[self.id] = live
        record.log.append(SessionOpened(self.id, cast(Any, runtime.info).name, record.user_id))
        return live

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._let_go()

    async def _let_go(self) -> None:
        live, self._live = self._live, None
        if live is not None:
            live.handles -= 1
            if live.handles == 0:
                await live.close()

    # --- what a session shows -------------------------------------------------------------------

    @property
    def _record(self) -> SessionRecord:
        return self._opened().record

    def _opened(self) -> LiveSession:
        if self._live is None:
            raise SessionClosedError(
                f"session {self.id} is not open: write `async with agent.session({self.id!r}) as session`"
            )
        return self._live

    @property
    def history(self) -> tuple[Message, ...]:
        """The conversation so far."""
        return self._record.log.messages

    @property
    def log(self) -> LogView:
        """All entries."""
        return LogView(self._record.log)

    @property
    def state(self) -> State:
        """The state of all middleware."""
        return self._record.state

    @property
    def resources(self) -> Resources:
        """Live objects of the open session."""
        return self._record.resources

    @property
    def usage(self) -> TurnUsage:
        """What the session has used."""
        return self._record.usage

    @property
    def user_id(self) -> str | None:
        """Who is talking."""
        return self._record.user_id

    # --- turns ----------------------------------------------------------------------------------

    @overload
    async def run(self, input: Input, *, output: type[T], **options: Unpack[RunOptions]) -> Answer[T]: ...
    @overload
    async def run(self, input: Input, *, output: TypeAdapter[T], **options: Unpack[RunOptions]) -> Answer[T]: ...
    @overload
    async def run(self, input: Input, *, output: None = None, **options: Unpack[RunOptions]) -> Answer[str]: ...
    async def run(self, input: Input, *, output: Any = None, **options: Unpack[RunOptions]) -> Answer[Any]:
        """Run one turn and return its answer.

        Args:
            input: Text, one message, its parts, or messages of which the last is the user's.
            output: A type the answer must have.
            **options: See `RunOptions`.

        Raises:
            InputError: *input* is empty, or no store can hold it.
            SessionBusyError: Another turn is running.
            TurnError: The turn ended without an answer; its kind says why.
        """
        prepared = self._prepared(input, output, **options)
        if sink.get() is None or self._record.enclosing is not None:
            return await self._turn(*prepared)
        silenced = sink.set(None)  # the stream of another turn, in whose hook or tool this one is run
        try:
            return await self._turn(*prepared)
        finally:
            sink.reset(silenced)

    @overload
    def stream(self, input: Input, *, output: type[T], **options: Unpack[RunOptions]) -> TurnStream[T]: ...
    @overload
    def stream(self, input: Input, *, output: TypeAdapter[T], **options: Unpack[RunOptions]) -> TurnStream[T]: ...
    @overload
    def stream(self, input: Input, *, output: None = None, **options: Unpack[RunOptions]) -> TurnStream[str]: ...
    def stream(self, input: Input, *, output: Any = None, **options: Unpack[RunOptions]) -> TurnStream[Any]:
        """Run one turn and stream its events: `async with session.stream(text) as events: async for event in events`.

        Nothing happens before the block is entered; leaving it early cancels the turn. The arguments are those of
        `run`. The last item is `End(answer)`.
        """
        prepared = self._prepared(input, output, **options)
        return TurnStream(lambda: self._turn(*prepared))

    def _prepared(
        self,
        input: Input,
        output: Any,
        use: Iterable[Usable] = (),
        model: Named | str | None = None,
        settings: Settings | None = None,
        limits: Limits | None = None,
        metadata: Mapping[str, Any] | None = None,
        on_busy: OnBusy = "error",
    ) -> tuple[TurnOptions, OnBusy]:
        live = self._opened()
        if on_busy not in ("error", "wait"):
            raise UseError(f'on_busy is "error" or "wait", got {on_busy!r}')
        *earlier, said = checked_input(input)
        if metadata:
            check_metadata(metadata)
        options = TurnOptions(said, earlier, settings=settings, limits=limits, metadata=metadata)
        if use:
            known = (*live.inherited, *live.runtime.entries)
            options.entries = read(use, known, where=PER_TURN, hooks=("turn", "model", "tool"))
            check_order((*known, *options.entries), opening=True)
        if output is not None:
            options.output = compile_output(output)
        if model is not None:
            options.model = live.runtime.find_model(model)
        return options, on_busy

    async def _turn(self, options: TurnOptions, on_busy: OnBusy) -> Answer[Any]:
        live = self._opened()
        record = live.record
        lock = record.lock
        if on_busy == "error" and (lock.locked() or record.waiting):
            raise SessionBusyError(f'session {self.id} is running a turn: wait for it, or run with on_busy="wait"')
        inside = _inside.get()
        if id(record) in inside:
            raise SessionBusyError(f"session {self.id}: a turn that runs another in its own session waits for itself")
        record.waiting += 1
        try:
            await lock.acquire()
        finally:
            record.waiting -= 1
        within = _inside.set(inside | {id(record)})
        try:
            if live.closed or live.dead is not None or self._live is None:
                live.reported = live.reported or live.dead is not None
                raise live.closed_error()
            if not options.entries:
                return await run_turn(record, options, live.chains)
            return await self._turn_with(live, options)
        finally:
            _inside.reset(within)
            lock.release()

    async def _turn_with(self, live: LiveSession, options: TurnOptions) -> Answer[Any]:
        """Run a turn with middleware of its own: chains, tools, events and state of this turn only."""
        record, runtime = live.record, live.runtime
        entries = options.entries
        chains = Chains((*live.chains.entries, *entries), runtime.observer)
        tools, own = record.tools, record.own_tools
        extra = [tool for entry in entries for tool in entry.tools]
        if extra:
            offered = dict(tools)
            for tool in extra:
                runtime.take_tool(offered, tool, for_all=False)
            record.tools, record.own_tools = offered, True
        # They stay allowed in this session: what the turn deferred may emit them still.
        record.allowed = record.log._allowed = record.allowed | {kind for entry in entries for kind in entry.events}
        try:
            return await run_turn(record, options, chains)
        finally:
            if extra:
                added = {tool.name for tool in extra}
                kept = {name: tool for name, tool in record.tools.items() if name not in added}
                record.tools, record.own_tools = (tools, own) if kept.keys() == tools.keys() else (kept, True)
