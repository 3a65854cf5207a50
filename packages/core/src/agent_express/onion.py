"""The onion: hooks folded around a core, the first one outermost.

A hook that returns sees the result:    response = await next()
A hook that yields sees the stream:     async for event in next(): yield event

One frame runs a hook, guards its `next`, puts the level's changeable values back and checks the result: a frame of
its own for each of these would cost a third more per layer.
"""

from __future__ import annotations

import asyncio
import inspect
import types
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Generator, Sequence
from typing import Any, Literal, Protocol, TypeAlias, TypeVar

from .contexts import HINT, layer_frames
from .errors import (
    HookError,
    MissingEndError,
    NextCalledTwiceError,
    NextForgottenError,
    Signal,
    WrongResultError,
)
from .events import Answered, End, Event, Recovered, Restarted, TextDelta
from .messages import Message
from .stream import Channel, Feed, sink

R_co = TypeVar("R_co", covariant=True)

Level: TypeAlias = Literal["session", "turn", "model", "tool"]
Hook: TypeAlias = Callable[..., Any]
Events: TypeAlias = AsyncIterator[Event | End[R_co]]
"""What a streaming hook returns: `async def model(self, ctx, next) -> Events[ModelResponse]`."""


class Call(Coroutine[Any, Any, R_co], AsyncIterator[Event | End[R_co]]):
    """What `next()` gives, for type checkers: await it in a hook that returns, iterate it in a hook that yields."""


class Next(Protocol[R_co]):
    """Everything further in."""

    def __call__(self) -> Call[R_co]:
        """Run what is further in; after a failure it may be called again.

        Raises:
            NextCalledTwiceError: It runs, or has succeeded.
        """
        ...

    def again(self, message: Message | str | None = None) -> Call[R_co]:
        """Run it once more although it succeeded; in a turn hook *message* is what the model is told."""
        ...


class Observer(Protocol):
    """Is told which hook of which middleware is entered and left; chosen before the agent opens."""

    def entered(self, level: Level, name: str, ctx: Any) -> None:
        """A hook begins."""
        ...

    def left(self, level: Level, name: str, ctx: Any, error: BaseException | None) -> None:
        """A hook has ended, by returning or with *error*."""
        ...


FRESH, RUNNING, DONE, FAILED = 0, 1, 2, 3
_OVER: Any = object()


class Layer:
    """A hook, or innermost the core, and what stands further in. Compiled once."""

    __slots__ = ("inner", "kind", "level", "name", "returns", "run")

    def __init__(self, level: Level, name: str, run: Hook, inner: Layer | None, returns: type | None) -> None:
        self.level: Level = level
        self.name, self.run, self.inner, self.returns = name, run, inner, returns
        self.kind = returns or type(None)

    def __call__(self, ctx: Any) -> Coroutine[Any, Any, Any]:
        """Run the chain for *ctx*."""
        return LayerNext(self, ctx)()


def compose(
    level: Level,
    hooks: Sequence[tuple[str, Hook]],
    core: Callable[[Any], Awaitable[Any]],
    returns: type | None = None,
    observer: Observer | None = None,
) -> Layer:
    """Fold named *hooks* around *core*, the first outermost.

    Args:
        level: Whose hooks they are.
        hooks: Middleware names and bound hooks; an async generator function is a streaming hook.
        core: What is innermost.
        returns: What each layer must return; None for levels that return nothing.
        observer: Told of each hook that is entered and left.
    """
    chain = Layer(level, "core", core, None, returns)
    first_streaming = next((name for name, hook in hooks if inspect.isasyncgenfunction(hook)), None)
    for name, hook in reversed(hooks):
        run = hook
        if inspect.isasyncgenfunction(hook):
            run = _streaming(level, name, hook, is_rim=level == "model" and name == first_streaming)
        chain = Layer(level, name, run if observer is None else _observed(level, name, run, observer), chain, returns)
    return chain


def streams(chain: Layer) -> bool:
    """Whether one of the hooks of *chain* is a streaming hook."""
    layer = chain
    while layer.inner is not None:
        if getattr(layer.run, "is_streaming", False):
            return True
        layer = layer.inner
    return False


def _observed(level: Level, name: str, run: Hook, observer: Observer) -> Hook:
    async def observed(ctx: Any, next: Any) -> Any:
        observer.entered(level, name, ctx)
        try:
            result = await run(ctx, next)
        except BaseException as error:
            observer.left(level, name, ctx, error)
            raise
        observer.left(level, name, ctx, None)
        return result

    observed.is_streaming = getattr(run, "is_streaming", False)  # type: ignore[attr-defined]
    return observed


class LayerNext:
    """`next` of one call of a hook, which at the same time runs the layer it leads to."""

    __slots__ = ("_attempt", "_ctx", "_error", "_layer", "_owner", "_state")

    def __init__(self, layer: Layer, ctx: Any, owner: Layer | None = None) -> None:
        self._layer, self._ctx, self._owner, self._state = layer, ctx, owner, FRESH

    async def __call__(self) -> Any:
        """Run the layer; see `Next`."""
        if self._state:
            await self._repeat()
        layer, ctx = self._layer, self._ctx
        if ctx._stopped is not None:  # a tool call that was denied: nothing further in runs
            self._state = DONE
            return ctx._stopped
        before = ctx._base
        self._state = RUNNING
        try:
            if layer.inner is None:
                result = await layer.run(ctx)
            else:
                inner = LayerNext(layer.inner, ctx, layer)
                result = await layer.run(ctx, inner)
                if inner._state != DONE or result.__class__ is not layer.kind:
                    _look_closer(layer, inner, ctx, result)
        except BaseException as error:
            self._state = FAILED
            ctx._base = before
            self._error = found = _leaving(layer, error)
            if found is not error:
                raise found from found.__cause__
            raise
        self._state = DONE
        ctx._base = before
        return result

    async def _repeat(self) -> None:
        if self._state != FAILED:
            state = "is still running" if self._state == RUNNING else "has succeeded"
            raise NextCalledTwiceError(
                f"{self._who}: next() {state}: call it once, or write `await next.again()` to repeat it on purpose"
            )
        if self._layer.level != "session" and still_cancelled(self._ctx):
            raise asyncio.CancelledError
        self._attempt = getattr(self, "_attempt", 1) + 1
        await self._ctx.emit(Restarted(self._by, self._attempt, self._layer.level))

    async def again(self, message: Message | str | None = None) -> Any:
        """Run the inner layers once more although they succeeded."""
        if self._state == RUNNING:
            await self._repeat()
        if self._layer.level == "turn":
            self._ctx._again(message, self._by)
        elif message is not None:
            raise HookError(f"{self._who}: next.again(message) is for turn hooks; others call next.again()")
        if self._state == DONE:
            self._state = FAILED
        return await self()

    @property
    def _by(self) -> str:
        return self._owner.name if self._owner is not None else "core"

    @property
    def _who(self) -> str:
        return f"{self._by}.{self._layer.level}"


layer_frames.add(LayerNext.__call__.__code__)


def _look_closer(layer: Layer, inner: LayerNext, ctx: Any, result: Any) -> None:
    """Tell an answer of the hook's own from a mistake."""
    who = f"{layer.name}.{layer.level}"
    if inspect.iscoroutine(result):
        result.close()
        raise WrongResultError(f"{who} returned next() without awaiting it: write `return await next()`")
    if inner._state == RUNNING:
        raise NextForgottenError(f"{who} returned while next() was still running: await it before returning")
    if layer.returns is not None and not isinstance(result, layer.returns):
        got = "nothing" if result is None else _kind(result)
        raise WrongResultError(
            f"{who} returned {got}, expected {layer.returns.__name__}: end it with `return await next()`"
        )
    if layer.returns is None and result is not None:
        raise WrongResultError(f"{who} returned {_kind(result)}, expected None: {_where_to(layer.level)}")
    if inner._state == FRESH:
        _answered_itself(layer, ctx)
    elif inner._state == FAILED and layer.level != "session":
        if isinstance(inner._error, Signal):
            raise inner._error  # a hook may see it go by, and cannot stop it
        ctx._session.log.append(Recovered(layer.level, layer.name, f"{type(inner._error).__name__}: {inner._error}"))


def _answered_itself(layer: Layer, ctx: Any) -> None:
    who = f"{layer.name}.{layer.level}"
    if layer.level == "session":
        raise NextForgottenError(f"{who} returned without calling next(): `await next()` keeps the session open")
    if layer.level == "turn" and ctx.output is None:
        raise NextForgottenError(f"{who} neither awaited next() nor set ctx.output: is an `await` missing?")
    ctx._answered(layer.name)
    ctx._session.log.append(Answered(layer.level, layer.name))


def _where_to(level: Level) -> str:
    return "a turn hook answers by setting ctx.output" if level == "turn" else "a session hook has no result"


def _leaving(layer: Layer, error: BaseException) -> BaseException:
    """What leaves a layer for *error*: out of its group, signed, with notes that say where it came from."""
    found = leaf(error)
    if layer.inner is None:
        return found
    if isinstance(found, Signal):
        found.by = found.by or layer.name
    elif isinstance(found, TypeError) and "__aiter__ method, got coroutine" in str(found):
        return HookError(
            f"{layer.name}.{layer.level} iterates next() but does not yield: yield the events on, or await next()"
        )
    elif isinstance(found, Exception):
        if isinstance(found, AttributeError) and "Context' object" in str(found):
            _note(found, f"a context takes no attributes of yours: {HINT}")
        if not getattr(found, "__notes__", None):
            _note(found, f"in {layer.name}.{layer.level}")
    return found


def _note(error: BaseException, text: str) -> None:
    if text not in getattr(error, "__notes__", ()):
        error.add_note(text)


def leaf(error: BaseException) -> BaseException:
    """The failure inside an exception group: control flow first, then the first one raised."""
    while isinstance(error, BaseExceptionGroup):
        group: BaseExceptionGroup[BaseException] = error
        signals = group.subgroup(Signal)
        error = (group if signals is None else signals).exceptions[0]
    return error


# --- hooks that yield ---------------------------------------------------------------------------


def _streaming(level: Level, name: str, hook: Hook, *, is_rim: bool) -> Hook:
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
                        raise WrongResultError(f"{name}.{level} yielded {_kind(event)} after its End")
                    if type(event) is End:
                        end = event
                    elif not isinstance(event, Event):
                        raise WrongResultError(f"{name}.{level} yielded {_kind(event)}, expected an event or End")
                    else:
                        turn = ctx._turn
                        if turn.signal is not None:
                            raise turn.signal
                        if is_rim and type(event) is TextDelta and not ctx._purpose:
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


def _kind(event: Any) -> str:
    return f"a {type(event).__name__}"


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
    return bool(
        turn.unwinding or (out is not None and out.abandoned) or (turn.clock is not None and turn.clock.expired())
    )


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


def still_cancelled(ctx: Any) -> bool:
    """Whether somebody cancelled the running task and no time-out has taken it back."""
    task = asyncio.current_task()
    if task is None:
        return False
    turn = ctx._turn
    return task.cancelling() > (turn.base_cancels if task is turn.task else 0)


async def _close_both(inner: _StreamNext, events: Any) -> None:
    """Close the inner layers, then the hook; both, whatever happens to either."""
    try:
        await inner.aclose()
    finally:
        await events.aclose()


def _take_output(ctx: Any, end: End[Any]) -> None:
    if end.result is not None:
        if not isinstance(end.result, Message):
            raise WrongResultError(f"a turn hook's End holds a Message, got {_kind(end.result)}")
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
