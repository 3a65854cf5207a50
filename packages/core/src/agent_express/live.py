"""An open session: what all handles on it share, the task of its hooks, its deferred work."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, cast

from .chains import Chains
from .contexts import Resources, SessionContext, SessionRecord, TurnRecord, TurnUsage
from .errors import InputError, SessionClosedError, SessionForbiddenError, StateError
from .events import Failed, SessionClosed
from .log import Log
from .loop import record_state
from .middleware import Entry
from .runtime import OpenAgent
from .state import State
from .stream import settle
from .texts import clean, is_clean

DRAIN_SECONDS = 10.0
"""What deferred functions may take, together, once their session closes."""


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
        if record.user_id != self.user_id:
            raise SessionForbiddenError(f"session {record.id} belongs to another user than {self.user_id!r}")

    def record(self, runtime: OpenAgent, id: str) -> SessionRecord:
        """A new record.

        Raises:
            InputError: The user's id is what no store can hold.
        """
        if self.user_id is not None and not is_clean(self.user_id):
            raise InputError("user_id holds a NUL character or a lone surrogate, which no store takes")
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
            metadata=MappingProxyType(dict(self.metadata or {})),
            credentials=self.credentials,
            trace_id=parent.trace() if parent is not None else "",
            allowed=allowed,
            path=self.path,
            enclosing=turn,
        )
        if parent is not None and self.inherit:
            record.user_id, record.scopes = parent.user_id, parent.scopes
            record.metadata, record.credentials = parent.metadata, parent.credentials
        return record


class LiveSession:
    """What all handles on one open session share: its record, its hooks' task, its deferred work."""

    __slots__ = (
        "chains",
        "closed",
        "closing",
        "dead",
        "gone",
        "handles",
        "inherited",
        "owner",
        "ready",
        "record",
        "reported",
        "runtime",
        "told",
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
        self.told: SessionClosedError | None = None
        self.closed = False
        self.gone: asyncio.Future[None] | None = None
        record.wake_deferred = self.start_worker

    async def open(self) -> None:
        """Enter the session hooks, in a task that also leaves them."""
        chain = self.runtime.session
        if chain is not None:
            loop = asyncio.get_running_loop()
            self.ready, self.closing = loop.create_future(), loop.create_future()
            self.record.stay_open = self._stay_open
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
            await asyncio.shield(self.ready)

    async def _stay_open(self, ctx: SessionContext) -> None:
        self.record.opening = False
        if self.ready is not None and not self.ready.done():
            self.ready.set_result(None)
        if self.closing is not None:
            try:
                await asyncio.shield(self.closing)
            except asyncio.CancelledError:
                self.dead = SessionClosedError("a session hook cancelled its next()")
                await self._end_turn(self.owner)  # before the hook gives back what the turn works with
                raise

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
        if self.told is not None and self.dead is not None and error is not None:
            self.told.__cause__ = error  # a turn's caller was told before the hook said why
            self.reported = True
        if not self.closed:
            self.dead = error or SessionClosedError("a session hook returned early")
            if self.record.turn is not None:
                self.reported = True
                self.kill_turn(self.closed_error())

    def closed_error(self) -> SessionClosedError:
        """Why no turn can run, naming the session hook's failure where there is one."""
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
        if self.gone is not None:
            await asyncio.shield(self.gone)
        if self.closed:
            return
        self.closed = True
        if self.owner is None and self.record.turn is None and not self.record.deferred and self.worker is None:
            self._forget()  # nothing to wait for
            return
        self.gone = asyncio.get_running_loop().create_future()
        try:
            await self._end_all()
        finally:
            self._forget()

    async def _end_all(self) -> None:
        try:
            await self._end_turn(asyncio.current_task())
        finally:
            try:
                await self._drain()
            finally:
                await self._leave_hooks()

    def _forget(self) -> None:
        try:
            record_state(self.record)  # what session hooks and deferred work changed last
        except StateError as error:
            self.record.log.append(Failed("state", str(error)))
        self.record.log.append(SessionClosed())
        # The two hold each other; without this only the collector frees them.
        self.record.wake_deferred = self.record.stay_open = None
        if self.runtime.sessions.get(self.record.id) is self:
            del self.runtime.sessions[self.record.id]
        if self.gone is not None:
            self.gone.set_result(None)

    async def _end_turn(self, closer: asyncio.Task[Any] | None) -> None:
        """Cancel the running turn and wait until it has ended, unless the turn itself is closing its session."""
        turn = self.record.turn
        if turn is None or turn.task is closer:
            return
        self.told = self.closed_error()
        self.kill_turn(self.told)
        interrupted: asyncio.CancelledError | None = None
        while self.record.turn is turn:
            try:
                async with self.record.lock:
                    pass
            except asyncio.CancelledError as error:
                interrupted = error
        if interrupted is not None:
            raise interrupted

    async def _leave_hooks(self) -> None:
        if self.owner is None:
            return
        if self.ready is not None and not self.ready.done():
            self.owner.cancel()
        elif self.closing is not None and not self.closing.done():
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
            except (KeyboardInterrupt, SystemExit):
                raise
            except BaseException as error:
                self.record.log.append(Failed(by, clean(f"deferred: {type(error).__name__}: {error}")))

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
