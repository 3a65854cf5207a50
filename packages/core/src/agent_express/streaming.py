"""Hooks that yield: driven so that they run like one that returns.

Their events go to the sink, their `End` is the result; what is further in runs in a child task and is closed first.
"""

from __future__ import annotations

import asyncio
import types
from collections.abc import Awaitable, Callable, Coroutine, Generator
from typing import Any

from .errors import EventError, MissingEndError, WrongResultError, repeated
from .events import End, Event, TextDelta
from .layers import Hook, LayerNext, Level, kind_of, still_cancelled
from .log import CORE_EVENTS
from .messages import Message
from .stream import Channel, Feed, sink

_OVER: Any = object()


def streaming(level: Level, name: str, hook: Hook, *, is_rim: bool) -> Hook:
    """Make a streaming hook run like one that returns: its events go to the sink, its `End` is the result."""

    async def drive(ctx: Any, next: LayerNext) -> Any:
        out = sink.get()
        end: End[Any] | None = None
        inner = _StreamNext(next)
        events = hook(ctx, inner)
        try:
            event = await _pull(ctx, out, inner, events)
            while event is not _OVER:
                try:
                    if end is not None:
                        raise WrongResultError(f"{name}.{level} yielded {kind_of(event)} after its End")
                    if type(event) is End:
                        end = event
                        await inner.aclose()  # of a hook that breaks off: closed before the hook goes on
                    elif not isinstance(event, Event):
                        raise WrongResultError(f"{name}.{level} yielded {kind_of(event)}, expected an event or End")
                    else:
                        turn = ctx._turn
                        if turn.signal is not None:
                            raise repeated(turn.signal)
                        if type(event) is not TextDelta:
                            _admit(ctx, event)
                        elif is_rim and not ctx._purpose:
                            turn.partial.append(event.text)
                        if out is not None:
                            await out.send(event)
                except BaseException as error:
                    event = await _hand_back(error, inner, events)
                else:
                    event = await _pull(ctx, out, inner, events)
        finally:
            await _close_both(inner, events)
        if still_cancelled(ctx):
            raise asyncio.CancelledError
        if end is None:
            raise MissingEndError(f"{name}.{level} ended without End: pass on the one from next(), or yield your own")
        if level == "turn":
            return _take_output(ctx, end)
        return end.result

    drive.is_streaming = True  # type: ignore[attr-defined]
    return drive


def _admit(ctx: Any, event: Event) -> None:
    """Refuse an event nobody declared; log one of the hook's own that the log has not seen.

    A changed copy of an entry of the core's is for the client only: the log has the original.
    """
    kind = type(event)
    if kind in CORE_EVENTS or event.position >= 0:
        return
    if kind.durable:
        ctx._session.log.append(event)
    elif kind not in ctx._session.allowed:
        raise EventError(f"{kind.__name__} is declared by no middleware in use: list it in `events = (...)`")


@types.coroutine
def _pull(ctx: Any, out: Channel | None, inner: _StreamNext, events: Any) -> Generator[Any, Any, Any]:
    """The next item of a streaming hook.

    It steps the hook itself, to be first to see a cancellation that strikes while the hook waits for something of its
    own: where the turn, or what reads the stream, is being torn down, the inner layers unwind before the hook does. A
    time-out of the hook's own is left to the hook, which may go on.
    """
    step = events.__anext__()
    try:
        waiting = step.send(None)
        while True:
            try:
                sent = yield waiting
            except BaseException as error:
                cause = error
                if isinstance(error, asyncio.CancelledError) and _is_torn_down(ctx._turn, out):
                    try:
                        yield from inner.aclose().__await__()
                    except BaseException as other:  # cancelled once more: the hook must hear of it all the same
                        cause = other
                waiting = step.throw(cause)
            else:
                waiting = step.send(sent)
    except StopIteration as done:
        return done.value
    except StopAsyncIteration:
        return _OVER


def _is_torn_down(turn: Any, out: Channel | None) -> bool:
    """Whether the turn, or whoever reads this stream or the turn's, is being ended from outside."""
    if turn.unwinding or turn.killed is not None or (turn.clock is not None and turn.clock.expired()):
        return True
    return any(each is not None and each.is_abandoned for each in (out, turn.out))


async def _hand_back(error: BaseException, inner: _StreamNext, events: Any) -> Any:
    """Show the hook, where it yielded, why its event could not be handed on; return what it yields next.

    The inner layers unwind first. While the task is being cancelled, whatever the hook makes of it, it stays so.
    """
    await inner.aclose()
    try:
        return await events.athrow(error)
    except StopAsyncIteration:
        return _OVER
    finally:
        task = asyncio.current_task()
        if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
            raise error


async def _close_both(inner: _StreamNext, events: Any) -> None:
    """Close the inner layers, then the hook; both, whatever happens to either."""
    try:
        await inner.aclose()
    finally:
        await events.aclose()


def _take_output(ctx: Any, end: End[Any]) -> None:
    if end.result is not None:
        if not isinstance(end.result, Message):
            raise WrongResultError(f"a turn hook's End holds a Message, got {kind_of(end.result)}")
        ctx.output = end.result


class _StreamNext:
    """`next` of a streaming hook."""

    __slots__ = ("_current", "_next")

    def __init__(self, next: LayerNext) -> None:
        self._next = next
        self._current: _StreamCall | None = None

    def __call__(self) -> _StreamCall:
        return self._made(self._next)

    def again(self, message: Message | str | None = None) -> _StreamCall:
        """Run the inner layers once more although they succeeded."""
        return self._made(lambda: self._next.again(message))

    def _made(self, work: Callable[[], Coroutine[Any, Any, Any]]) -> _StreamCall:
        before = self._current
        if before is not None and before.is_running:
            return _StreamCall(self._next, work, self)
        self._current = _StreamCall(self._next, work, self)
        return self._current

    async def aclose(self) -> None:
        if self._current is not None:
            await self._current.aclose()


class _StreamCall:
    """What `next()` gives in a streaming hook: iterate it for the inner events, or await it to let them go by."""

    __slots__ = ("_feed", "_next", "_work")

    def __init__(self, next: LayerNext, work: Callable[[], Coroutine[Any, Any, Any]], owner: _StreamNext) -> None:
        self._next, self._work = next, work
        self._feed: Feed | None = None

    @property
    def is_running(self) -> bool:
        return self._feed is not None and not self._feed.is_done

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._work().__await__()

    def __aiter__(self) -> Feed:
        if self._feed is None:
            ctx, work = self._next._ctx, self._work
            turn_level = self._next._layer.level == "turn"

            async def run() -> Any:
                result = await work()
                return ctx.output if turn_level else result

            self._feed = Feed(run)
        return self._feed

    def __anext__(self) -> Awaitable[Any]:
        return self.__aiter__().__anext__()

    async def aclose(self) -> None:
        if self._feed is not None:
            await self._feed.aclose()
