"""How events travel: the channel, the feed that runs inner layers behind one, and the current sink."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import ContextVar
from typing import Any, Protocol

from .errors import UseError
from .events import End, Event

ROOM = 64
"""Events a channel holds before its senders wait."""


sink: ContextVar[Channel | None] = ContextVar("agent_express_sink", default=None)
"""The channel of the innermost streaming reader; None where nobody listens."""


class Channel:
    """Bounded hand-over of events from many senders to one reader.

    Attributes:
        abandoned: Whether the reader is tearing down what runs behind it.
    """

    __slots__ = ("_closed", "_error", "_items", "_reader", "_writers", "abandoned")

    def __init__(self) -> None:
        self._items: list[Event | End[Any]] = []  # a list: an empty deque takes 760 bytes
        self._closed = False
        self.abandoned = False
        self._error: BaseException | None = None
        self._reader: asyncio.Future[None] | None = None
        self._writers: deque[asyncio.Future[None]] | None = None

    async def send(self, event: Event | End[Any]) -> None:
        """Hand *event* on; waits while the reader is behind. What comes after the end is dropped."""
        while len(self._items) >= ROOM and not self._closed:
            await self._room()
        if self._closed or self.abandoned:
            return
        self._items.append(event)
        reader = self._reader
        if reader is not None:
            self._reader = None
            if not reader.done():
                reader.set_result(None)

    def put(self, event: Event | End[Any]) -> None:
        """Hand *event* on at once, beyond the bound: for what must not wait, such as the end of a turn."""
        if self._closed or self.abandoned:
            return
        self._items.append(event)
        reader = self._reader
        if reader is not None:
            self._reader = None
            if not reader.done():
                reader.set_result(None)

    @property
    def is_abandoned(self) -> bool:
        """Whether the reader is tearing down what runs behind it."""
        return self.abandoned

    def leave(self) -> None:
        """The reader goes: from now on everything is dropped, and nobody waits."""
        self.abandoned = True
        self._items.clear()
        while self._writers:
            self._wake_writer()

    async def _room(self) -> None:
        room = asyncio.get_running_loop().create_future()
        if self._writers is None:
            self._writers = deque()
        self._writers.append(room)
        try:
            await room
        except asyncio.CancelledError:
            if room.done() and not room.cancelled():
                self._wake_writer()  # the place given to us goes to the next in line
            raise

    def _wake_writer(self) -> None:
        while self._writers:
            room = self._writers.popleft()
            if not room.done():
                room.set_result(None)
                return

    async def receive(self) -> list[Event | End[Any]]:
        """The waiting events, at least one; none at the end of the stream.

        Raises:
            BaseException: What the channel was closed with, once all events are read.
            UseError: Somebody else is reading.
        """
        while not self._items and not self._closed:
            if self._reader is not None and not self._reader.done():
                raise UseError("a stream has one reader: another task is waiting for its next event")
            self._reader = asyncio.get_running_loop().create_future()
            await self._reader
        if not self._items and self._error is not None:
            raise self._error
        batch, self._items = self._items, []
        writers = self._writers
        if writers:
            for _ in range(ROOM):
                if not writers:
                    break
                self._wake_writer()
        return batch

    def close(self, error: BaseException | None = None) -> None:
        """End the stream; *error* is raised in the reader after what was sent before."""
        self._closed, self._error = True, error
        reader, self._reader = self._reader, None
        if reader is not None and not reader.done():
            reader.set_result(None)
        while self._writers:
            self._wake_writer()


class Entries(Protocol):
    """What takes durable events: a log."""

    def append(self, event: Event, /) -> None:
        """Add *event*."""
        ...


def tell(log: Entries, event: Event) -> None:
    """Log *event* and put it into the stream at once: for what must not wait."""
    log.append(event)
    out = sink.get()
    if out is not None:
        out.put(event)


class Feed:
    """Runs *work* in a child task and gives its events, one by one; the last is `End` of its result.

    The task starts at once. Whoever reads is responsible for `aclose`, which cancels the task and waits for it: inner
    layers have unwound when it returns.
    """

    __slots__ = ("_batch", "_channel", "_task")

    def __init__(self, work: Callable[[], Coroutine[Any, Any, Any]]) -> None:
        self._channel = Channel()
        self._batch: list[Event | End[Any]] = []  # the next item last
        self._task = asyncio.get_running_loop().create_task(self._run(work))

    async def _run(self, work: Callable[[], Coroutine[Any, Any, Any]]) -> None:
        channel = self._channel
        sink.set(channel)  # a task has a context of its own: only what runs inside sees this
        try:
            channel.put(End(await work()))
        except BaseException as error:
            channel.close(error)
            if isinstance(error, asyncio.CancelledError):
                raise
        else:
            channel.close()

    @property
    def is_done(self) -> bool:
        """Whether the work has ended."""
        return self._task.done()

    def __aiter__(self) -> Feed:
        return self

    async def __anext__(self) -> Event | End[Any]:
        if not self._batch:
            try:
                self._batch = await self._channel.receive()
            except asyncio.CancelledError:
                task = asyncio.current_task()
                if self._channel.abandoned and task is not None and not task.cancelling():
                    raise StopAsyncIteration from None  # another task closed it
                await self.aclose()  # inner layers unwind before the frame that waits here does
                raise
            if not self._batch:
                raise StopAsyncIteration
            self._batch.reverse()
        return self._batch.pop()

    def abandon(self) -> None:
        """Cancel the task, from whatever thread: nobody will read on."""
        if not self._task.done():
            loop = self._task.get_loop()
            if not loop.is_closed():
                loop.call_soon_threadsafe(self._channel.leave)
                loop.call_soon_threadsafe(self._task.cancel)

    async def aclose(self) -> None:
        """Cancel the task and wait until it has ended, however often the caller is cancelled meanwhile."""
        if not self._task.done():
            self._channel.leave()
            self._task.cancel()
            await settle(self._task)


async def settle(task: asyncio.Task[Any]) -> None:
    """Wait until *task* has ended. A cancellation of the caller is passed on to it, and raised when it has ended."""
    interrupted: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            interrupted = error
            task.cancel()
    if interrupted is not None:
        raise interrupted
