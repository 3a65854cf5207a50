"""The synchronous face: a loop in one thread, for any number of threads. No logic lives here."""

from __future__ import annotations

import asyncio
import sys
import threading
from collections.abc import Coroutine, Iterator
from concurrent.futures import wait
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

from .answer import Answer
from .errors import UseError
from .events import End, Event
from .inputs import Input
from .messages import Message
from .session import Session
from .turn_stream import TurnStream

T = TypeVar("T")


class Runs(Protocol):
    """What an agent is to this module."""

    name: str

    async def __aenter__(self) -> Any: ...
    async def __aexit__(self, *failure: Any) -> None: ...
    def session(self, session_id: str | None = None, **options: Any) -> Session:
        """A conversation."""
        ...

    async def run(self, input: Input, **options: Any) -> Answer[Any]:
        """One turn in a session of its own."""
        ...


class SyncAgent:
    """`with agent.sync() as a: a.run("hello")`: the agent on a loop of its own, in one thread."""

    def __init__(self, agent: Runs) -> None:
        self._agent = agent
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None

    def __enter__(self) -> Self:
        if self._thread is not None:
            raise UseError(f"agent {self._agent.name!r} is entered already: use it from any thread, enter it once")
        ready = threading.Event()

        def live() -> None:
            with asyncio.Runner() as runner:
                self._loop = runner.get_loop()
                self._loop.call_soon(ready.set)
                self._loop.run_forever()

        self._thread = threading.Thread(target=live, name=f"agent {self._agent.name}", daemon=True)
        self._thread.start()
        ready.wait()
        try:
            self._do(self._agent.__aenter__())
        except BaseException:
            self._stop()
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            self._do(self._agent.__aexit__(None, None, None))
        finally:
            self._stop()

    def _stop(self) -> None:
        if self._loop is not None and self._thread is not None:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
        self._loop = self._thread = None

    def _do(self, work: Coroutine[Any, Any, T]) -> T:
        if threading.current_thread() is self._thread:
            work.close()
            raise UseError(
                f"agent {self._agent.name!r} is called from its own event loop, which would wait for itself: "
                "await the agent there, `await agent.run(...)`"
            )
        if self._loop is None:
            work.close()
            raise UseError("the agent is not open: write `with agent.sync() as a:`")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            while sys.platform == "win32" and not future.done():
                wait([future], timeout=0.2)  # a wait without an end cannot be interrupted there
            return future.result()
        except BaseException:
            future.cancel()  # Ctrl-C here cancels there
            raise

    def run(self, input: Input, **options: Any) -> Answer[Any]:
        """Run one turn in a session of its own; see `Agent.run`."""
        return self._do(self._agent.run(input, **options))

    def session(self, session_id: str | None = None, **options: Any) -> SyncSession:
        """A conversation: `with a.session("id") as session`; see `Agent.session`."""
        return SyncSession(self, self._agent.session(session_id, **options))


class SyncSession:
    """A conversation for code without a loop."""

    def __init__(self, owner: SyncAgent, session: Session) -> None:
        self._owner, self._session = owner, session
        self.id = session.id

    def __enter__(self) -> Self:
        self._owner._do(self._session.__aenter__())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._owner._do(self._session.__aexit__(None, None, None))

    @property
    def history(self) -> tuple[Message, ...]:
        """The conversation so far."""
        return self._session.history

    def run(self, input: Input, **options: Any) -> Answer[Any]:
        """Run one turn; see `Session.run`."""
        return self._owner._do(self._session.run(input, **options))

    def stream(self, input: Input, **options: Any) -> SyncStream:
        """Stream one turn: `with session.stream(text) as events: for event in events`; see `Session.stream`."""
        return SyncStream(self._owner, self._session.stream(input, **options))


class SyncStream:
    """The events of one turn."""

    def __init__(self, owner: SyncAgent, stream: TurnStream[Any]) -> None:
        self._owner, self._stream = owner, stream

    def __enter__(self) -> Self:
        self._owner._do(self._stream.__aenter__())
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._owner._do(self._stream.__aexit__(None, None, None))

    def __iter__(self) -> Iterator[Event | End[Answer[Any]]]:
        return self

    def __next__(self) -> Event | End[Answer[Any]]:
        try:
            return self._owner._do(_next(self._stream))
        except StopAsyncIteration:
            raise StopIteration from None

    @property
    def answer(self) -> Answer[Any]:
        """The answer, once the stream has ended."""
        return self._stream.answer


async def _next(stream: TurnStream[Any]) -> Event | End[Answer[Any]]:
    return await stream.__anext__()
