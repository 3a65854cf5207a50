"""A session: one conversation, one turn at a time."""

from __future__ import annotations

import asyncio
import inspect
import secrets
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, Generic, Literal, Self, TypeAlias, TypeVar, cast, overload

from pydantic import TypeAdapter

from .contexts import Resources, SessionContext, SessionRecord, TurnRecord, TurnUsage, as_messages
from .errors import InputError, SessionBusyError, SessionClosedError, SessionForbiddenError, UseError
from .events import End, Event, Failed, SessionClosed, SessionOpened, UserSaid, holds_nul
from .log import Log
from .messages import Limits, Message, Named, Part, Settings
from .middleware import PER_TURN, Entry, Usable, read
from .onion import compose
from .outputs import compile_output
from .runtime import OpenAgent
from .state import State
from .stream import Feed, settle
from .turn import Answer, Chains, TurnOptions, hooks_of, run_turn

T = TypeVar("T")
Input: TypeAlias = str | Message | Sequence[Part] | Sequence[Message]
OnBusy: TypeAlias = Literal["error", "wait"]
DRAIN_SECONDS = 10.0
"""What deferred functions may take, together, once their session closes."""


class LiveSession:
    """What all handles on one open session share: its record, its hooks' task, its deferred work."""

    __slots__ = (
        "chains",
        "closing",
        "dead",
        "handles",
        "inherited",
        "owner",
        "ready",
        "record",
        "reported",
        "runtime",
        "worker",
    )

    def __init__(self, runtime: OpenAgent, record: SessionRecord, inherited: Sequence[Entry] = ()) -> None:
        self.runtime, self.record = runtime, record
        self.inherited = tuple(inherited)
        entries = (*inherited, *runtime.entries)
        self.chains = Chains(entries, runtime.observer) if inherited else runtime.chains
        self.handles = 0
        self.owner: asyncio.Task[None] | None = None
        self.ready: asyncio.Future[None] | None = None
        self.closing: asyncio.Future[None] | None = None
        self.worker: asyncio.Task[None] | None = None
        self.dead: BaseException | None = None
        self.reported = False
        record.wake_deferred = self.start_worker

    async def open(self) -> None:
        """Enter the session hooks, in a task that also leaves them."""
        hooks = hooks_of(self.runtime.entries, "session")
        if hooks:
            loop = asyncio.get_running_loop()
            self.ready, self.closing = loop.create_future(), loop.create_future()
            chain = compose("session", hooks, self._body, None, self.runtime.observer)
            self.owner = loop.create_task(cast(Any, chain(SessionContext(self.record))))
            self.owner.add_done_callback(self._owner_ended)
            await self.wait_ready()
        self.record.opening = False

    async def wait_ready(self) -> None:
        """Wait until the session hooks have been entered.

        Raises:
            Exception: What a session hook raised before its `next()`.
        """
        if self.ready is not None:
            try:
                await asyncio.shield(self.ready)
            except asyncio.CancelledError:
                if self.owner is not None and self.handles == 1 and not self.ready.done():
                    self.owner.cancel()
                    await settle(self.owner)
                raise

    async def _body(self, ctx: SessionContext) -> None:
        self.record.opening = False
        if self.ready is not None and not self.ready.done():
            self.ready.set_result(None)
        if self.closing is not None:
            await self.closing

    def _owner_ended(self, task: asyncio.Task[None]) -> None:
        error = asyncio.CancelledError() if task.cancelled() else task.exception()
        if self.ready is not None and not self.ready.done():
            self.reported = True
            if task.cancelled():
                self.ready.cancel()
            else:
                self.ready.set_exception(
                    error or SessionClosedError("a session hook returned before the session opened")
                )
                self.ready.exception()
            return
        if self.closing is not None and not self.closing.done():
            self.dead = error or SessionClosedError("a session hook returned early")
            self.kill_turn(self.closed_error())

    def closed_error(self) -> SessionClosedError:
        """Why no turn can run, naming the session hook's failure where there is one."""
        self.reported = True
        why = "it was closed" if self.dead is None else f"a session hook ended: {self.dead!r}"
        error = SessionClosedError(f"session {self.record.id} is closed: {why}")
        error.__cause__ = self.dead
        return error

    def kill_turn(self, error: BaseException) -> None:
        """Cancel the running turn; its caller gets *error*."""
        turn = self.record.turn
        if turn is not None and turn.task is not None and turn.killed is None:
            turn.killed = error
            turn.task.cancel()

    async def close(self) -> None:
        """End the running turn, run what was deferred, leave the session hooks.

        Raises:
            Exception: What a session hook raised, unless a caller has got it already.
        """
        turn = self.record.turn
        if turn is not None and turn.task is not asyncio.current_task():
            self.kill_turn(self.closed_error())
            async with self.record.lock:
                pass
        try:
            await self._drain()
        finally:
            await self._leave_hooks()
            self.record.log.append(SessionClosed())

    async def _leave_hooks(self) -> None:
        if self.owner is None:
            return
        if self.closing is not None and not self.closing.done():
            self.closing.set_result(None)
        if not self.owner.done():
            await settle(self.owner)
        if not self.owner.cancelled():
            error = self.owner.exception()
            if error is not None and not self.reported:
                self.reported = True
                raise error

    # --- deferred work --------------------------------------------------------------------------

    def start_worker(self) -> None:
        """Run what is deferred, unless it is being run."""
        if self.worker is None or self.worker.done():
            self.worker = asyncio.get_running_loop().create_task(self._work())

    async def _work(self) -> None:
        waiting = self.record.deferred
        while waiting:
            by, fn = waiting.popleft()
            try:
                result = fn()
                if inspect.isawaitable(result):
                    await result
            except asyncio.CancelledError:
                self.record.log.append(Failed(by, "deferred: cancelled when the session closed"))
                raise
            except (Exception, BaseExceptionGroup) as error:
                self.record.log.append(Failed(by, f"deferred: {type(error).__name__}: {error}"))
            except BaseException as error:
                if isinstance(error, KeyboardInterrupt | SystemExit):
                    raise
                self.record.log.append(Failed(by, f"deferred: {type(error).__name__}: {error}"))

    async def _drain(self) -> None:
        if self.record.deferred and (self.worker is None or self.worker.done()):
            self.start_worker()
        worker = self.worker
        if worker is None or worker.done():
            return
        try:
            await asyncio.wait([worker], timeout=DRAIN_SECONDS)
        finally:
            if not worker.done():
                worker.cancel()
                await settle(worker)


class Session:
    """A handle on one conversation: `async with agent.session("id") as session`.

    Attributes:
        id: The conversation's id.
    """

    def __init__(self, agent: Any, id: str, options: SessionOptions) -> None:
        self._agent, self.id, self._options = agent, id, options
        self._live: LiveSession | None = None

    async def __aenter__(self) -> Self:
        runtime: OpenAgent = self._agent._open_runtime()
        live = cast(LiveSession | None, runtime.sessions.get(self.id))
        if live is None:
            await self._open(runtime)
        else:
            self._options.check_user(live.record)
            live.handles += 1
            self._live = live
            try:
                await live.wait_ready()
            except BaseException:
                live.handles -= 1
                self._live = None
                raise
        return self

    async def _open(self, runtime: OpenAgent) -> None:
        record = self._options.record(runtime, self.id)
        live = self._live = LiveSession(runtime, record, self._options.inherited)
        live.handles = 1
        runtime.sessions[self.id] = live
        record.log.append(SessionOpened(self.id, cast(Any, runtime.info).name, record.user_id))
        try:
            await live.open()
        except BaseException:
            runtime.sessions.pop(self.id, None)
            self._live = None
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        live, self._live = self._live, None
        if live is None:
            return
        live.handles -= 1
        if live.handles == 0:
            live.runtime.sessions.pop(self.id, None)
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
    def log(self) -> Log:
        """All entries."""
        return self._record.log

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
    async def run(
        self,
        input: Input,
        *,
        output: type[T],
        use: Iterable[Usable] = (),
        model: Named | str | None = None,
        settings: Settings | None = None,
        limits: Limits | None = None,
        metadata: Mapping[str, Any] | None = None,
        on_busy: OnBusy = "error",
    ) -> Answer[T]: ...
    @overload
    async def run(
        self,
        input: Input,
        *,
        output: TypeAdapter[T],
        use: Iterable[Usable] = (),
        model: Named | str | None = None,
        settings: Settings | None = None,
        limits: Limits | None = None,
        metadata: Mapping[str, Any] | None = None,
        on_busy: OnBusy = "error",
    ) -> Answer[T]: ...
    @overload
    async def run(
        self,
        input: Input,
        *,
        output: None = None,
        use: Iterable[Usable] = (),
        model: Named | str | None = None,
        settings: Settings | None = None,
        limits: Limits | None = None,
        metadata: Mapping[str, Any] | None = None,
        on_busy: OnBusy = "error",
    ) -> Answer[str]: ...
    async def run(
        self,
        input: Input,
        *,
        output: Any = None,
        use: Iterable[Usable] = (),
        model: Named | str | None = None,
        settings: Settings | None = None,
        limits: Limits | None = None,
        metadata: Mapping[str, Any] | None = None,
        on_busy: OnBusy = "error",
    ) -> Answer[Any]:
        """Run one turn and return its answer.

        Args:
            input: Text, one message, its parts, or messages of which the last is the user's.
            output: A type the answer must have.
            use: Middleware for this turn, innermost.
            model: Another model for this turn, an object or a name.
            settings: How the model is to answer.
            limits: Other limits for this turn.
            metadata: Shown to hooks as `ctx.metadata`.
            on_busy: While another turn runs: "error", or "wait".

        Raises:
            InputError: *input* is empty, or no store can hold it.
            SessionBusyError: Another turn is running.
            TurnError: The turn ended without an answer; its kind says why.
        """
        earlier, options = self._turn_options(input, output, use, model, settings, limits, metadata)
        return await self._turn(earlier, options, on_busy)

    @overload
    def stream(
        self,
        input: Input,
        *,
        output: type[T],
        use: Iterable[Usable] = (),
        model: Named | str | None = None,
        settings: Settings | None = None,
        limits: Limits | None = None,
        metadata: Mapping[str, Any] | None = None,
        on_busy: OnBusy = "error",
    ) -> TurnStream[T]: ...
    @overload
    def stream(
        self,
        input: Input,
        *,
        output: TypeAdapter[T],
        use: Iterable[Usable] = (),
        model: Named | str | None = None,
        settings: Settings | None = None,
        limits: Limits | None = None,
        metadata: Mapping[str, Any] | None = None,
        on_busy: OnBusy = "error",
    ) -> TurnStream[T]: ...
    @overload
    def stream(
        self,
        input: Input,
        *,
        output: None = None,
        use: Iterable[Usable] = (),
        model: Named | str | None = None,
        settings: Settings | None = None,
        limits: Limits | None = None,
        metadata: Mapping[str, Any] | None = None,
        on_busy: OnBusy = "error",
    ) -> TurnStream[str]: ...
    def stream(
        self,
        input: Input,
        *,
        output: Any = None,
        use: Iterable[Usable] = (),
        model: Named | str | None = None,
        settings: Settings | None = None,
        limits: Limits | None = None,
        metadata: Mapping[str, Any] | None = None,
        on_busy: OnBusy = "error",
    ) -> TurnStream[Any]:
        """Run one turn and stream its events: `async with session.stream(text) as events: async for event in events`.

        Nothing happens before the block is entered; leaving it early cancels the turn. The arguments are those of
        `run`. The last item is `End(answer)`.
        """
        earlier, options = self._turn_options(input, output, use, model, settings, limits, metadata)
        return TurnStream(self, earlier, options, on_busy)

    def _turn_options(
        self,
        input: Input,
        output: Any,
        use: Iterable[Usable],
        model: Named | str | None,
        settings: Settings | None,
        limits: Limits | None,
        metadata: Mapping[str, Any] | None,
    ) -> tuple[tuple[Message, ...], TurnOptions]:
        live = self._opened()
        if type(input) is str and output is None and not use and model is None:  # the common case
            *earlier, said = checked_input(input)
            return tuple(earlier), TurnOptions(said, settings=settings, limits=limits, metadata=metadata)
        *earlier, said = checked_input(input)
        hooks = ("turn", "model", "tool")
        entries = read(use, (*live.inherited, *live.runtime.entries), where=PER_TURN, hooks=hooks) if use else ()
        return tuple(earlier), TurnOptions(
            said,
            entries,
            compile_output(output) if output is not None else None,
            live.runtime.find_model(model) if model is not None else None,
            settings,
            limits,
            metadata,
        )

    async def _turn(self, earlier: Sequence[Message], options: TurnOptions, on_busy: OnBusy) -> Answer[Any]:
        live = self._opened()
        record = live.record
        lock = record.lock
        if on_busy not in ("error", "wait"):
            raise UseError(f'on_busy is "error" or "wait", got {on_busy!r}')
        if on_busy == "error" and lock.locked():
            raise SessionBusyError(f'session {self.id} is running a turn: wait for it, or run with on_busy="wait"')
        async with lock:
            if live.dead is not None or self._live is None:
                raise live.closed_error()
            for message in earlier:
                record.log.append(UserSaid(message))
            if not options.entries:
                return await run_turn(record, options, live.chains)
            return await self._turn_with(live, options)

    async def _turn_with(self, live: LiveSession, options: TurnOptions) -> Answer[Any]:
        """Run a turn with middleware of its own: chains, tools, events and state of this turn only."""
        record, runtime = live.record, live.runtime
        entries = options.entries
        chains = Chains((*live.chains.entries, *entries), runtime.observer)
        tools, own, allowed = record.tools, record.own_tools, record.allowed
        extra = [tool for entry in entries for tool in entry.tools]
        if extra:
            record.tools, record.own_tools = dict(tools), True
            for tool in extra:
                runtime._take(record.tools, tool)
        record.allowed = record.log._allowed = allowed | {kind for entry in entries for kind in entry.events}
        try:
            return await run_turn(record, options, chains)
        finally:
            if extra:
                kept = {name: tool for name, tool in record.tools.items() if tool not in extra}
                record.tools, record.own_tools = (tools, own) if kept.keys() == tools.keys() else (kept, True)
            record.allowed = record.log._allowed = allowed


_TEXT_MESSAGE: TypeAdapter[Message] = TypeAdapter(Message)


def checked_input(given: Input) -> tuple[Message, ...]:
    """What was said, as messages; the last is the user's.

    Raises:
        InputError: It is empty, not from the user, or no store can hold it.
    """
    messages = as_messages(given)
    last = messages[-1] if messages else None
    if last is None or not last.parts or not (last.text.strip() or any(part.kind != "text" for part in last.parts)):
        raise InputError("the input is empty: hand in text, parts, or messages whose last is the user's")
    if last.role != "user":
        raise InputError(f"the last message of the input is of role {last.role!r}, expected the user's")
    for message in messages:
        if message.tool_calls or message.role == "tool":
            raise InputError("the input holds tool calls: a session makes its own; hand in what was said only")
        _check_storable(message)
    return messages


def _check_storable(message: Message) -> None:
    for part in message.parts:
        if part.kind == "text":
            if "\x00" in part.text:
                raise InputError("the input holds a NUL character, which no store takes: remove it")
            if not part.text.isascii():
                try:
                    part.text.encode()
                except UnicodeEncodeError as error:
                    raise InputError(f"the input is not Unicode text: {error}") from None
        else:
            _check_part(message)


def _check_part(message: Message) -> None:
    try:
        text = _TEXT_MESSAGE.dump_json(message).decode()
    except Exception as error:
        raise InputError(f"the input holds what JSON cannot: {error}") from None
    if holds_nul(text):
        raise InputError("the input holds a NUL character, which no store takes: remove it")


class TurnStream(Generic[T], AbstractAsyncContextManager["TurnStream[T]"]):
    """The events of one turn; the last is `End(answer)`."""

    def __init__(self, session: Session, earlier: Sequence[Message], options: TurnOptions, on_busy: OnBusy) -> None:
        self._session, self._work = session, (earlier, options, on_busy)
        self._feed: Feed | None = None
        self._answer: Answer[T] | None = None

    async def __aenter__(self) -> TurnStream[T]:
        if self._feed is not None:
            raise UseError("a stream is entered once: call session.stream(...) again for another turn")
        session, work = self._session, self._work
        self._feed = Feed(lambda: session._turn(*work))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._feed is not None:
            await self._feed.aclose()

    def __aiter__(self) -> TurnStream[T]:
        return self

    def __anext__(self) -> Awaitable[Event | End[Answer[T]]]:
        if self._feed is None:
            raise UseError("a stream is entered first: `async with session.stream(text) as events:`")
        return self._next(self._feed)

    async def _next(self, feed: Feed) -> Event | End[Answer[T]]:
        event = await feed.__anext__()
        if type(event) is End:
            self._answer = event.result
        return event

    @property
    def answer(self) -> Answer[T]:
        """The answer, once the stream has ended.

        Raises:
            UseError: It has not.
        """
        if self._answer is None:
            raise UseError("the stream has not ended: read it to its End first")
        return self._answer

    def __del__(self) -> None:
        if self._feed is not None:
            self._feed.abandon()


class SessionOptions:
    """What a session is opened with."""

    __slots__ = ("credentials", "enclosing", "inherit", "inherited", "metadata", "path", "resources", "user_id")

    def __init__(
        self,
        user_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        resources: Mapping[Any, Any] | None = None,
        credentials: Any = None,
        enclosing: TurnRecord | None = None,
        path: str = "",
        inherited: Sequence[Entry] = (),
        inherit: bool = False,
    ) -> None:
        self.user_id, self.metadata, self.resources, self.credentials = user_id, metadata, resources, credentials
        self.enclosing, self.path, self.inherited, self.inherit = enclosing, path, inherited, inherit

    def check_user(self, record: SessionRecord) -> None:
        """Refuse a handle on somebody else's session.

        Raises:
            SessionForbiddenError: It belongs to another user.
        """
        if self.user_id is not None and record.user_id != self.user_id:
            raise SessionForbiddenError(f"session {record.id} belongs to another user than {self.user_id!r}")

    def record(self, runtime: OpenAgent, id: str) -> SessionRecord:
        """A new record."""
        turn = self.enclosing
        parent = turn.session if turn is not None else None
        allowed = runtime.allowed_with(self.inherited)
        log = Log(allowed, parent.log if parent is not None else None, self.path)
        record = SessionRecord(
            runtime,
            id,
            log,
            State(runtime.layout, parent.state if parent is not None and self.inherit else None),
            Resources(self.resources),
            runtime.tools,
            TurnUsage(turn.usage if turn is not None else None),
            asyncio.Lock(),
            self.user_id,
            metadata=self.metadata or {},
            credentials=self.credentials,
            trace_id=parent.trace_id if parent is not None else secrets.token_hex(16),
            allowed=allowed,
            path=self.path,
            enclosing=turn,
        )
        if parent is not None and self.inherit:
            record.user_id, record.scopes = parent.user_id, parent.scopes
            record.metadata, record.credentials = parent.metadata, parent.credentials
        return record
