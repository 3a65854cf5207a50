"""A layer of the onion: one hook, its guarded `next`, and what stands further in.

One frame runs a hook, guards its `next`, puts the level's changeable values back and checks the result: a frame of
its own for each of these would cost a third more per layer.
"""

from __future__ import annotations

import asyncio
import inspect
import sys
from collections.abc import Callable, Coroutine
from typing import Any, Literal, TypeAlias

from .contexts import HINT, layer_frames
from .errors import HookError, NextCalledTwiceError, NextForgottenError, Signal, WrongResultError, repeated
from .events import Answered, Recovered, Restarted
from .messages import Message
from .stream import tell
from .texts import clean

Level: TypeAlias = Literal["session", "turn", "model", "tool"]
Hook: TypeAlias = Callable[..., Any]

FRESH, RUNNING, DONE, FAILED = 0, 1, 2, 3


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
            self._error = found = _leaving(layer, ctx, error)
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
        if self._layer.level != "session":
            signal = self._ctx._turn.signal
            if signal is not None:
                raise repeated(signal)
            if still_cancelled(self._ctx):
                raise asyncio.CancelledError
        self._attempt = getattr(self, "_attempt", 1) + 1
        await self._ctx._post(Restarted(self._by, self._attempt, self._layer.level))

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
        got = "nothing" if result is None else kind_of(result)
        raise WrongResultError(
            f"{who} returned {got}, expected {layer.returns.__name__}: end it with `return await next()`"
        )
    if layer.returns is None and result is not None:
        raise WrongResultError(f"{who} returned {kind_of(result)}, expected None: {_where_to(layer.level)}")
    if inner._state == FRESH:
        _answered_itself(layer, ctx)
    elif inner._state == FAILED and layer.level != "session":
        if isinstance(inner._error, Signal):
            raise inner._error  # a hook may see it go by, and cannot stop it
        ctx._answered(layer.name)
        tell(
            ctx._session.log,
            Recovered(layer.level, layer.name, clean(f"{type(inner._error).__name__}: {inner._error}")),
        )


def _answered_itself(layer: Layer, ctx: Any) -> None:
    who = f"{layer.name}.{layer.level}"
    if layer.level == "session":
        raise NextForgottenError(f"{who} returned without calling next(): `await next()` keeps the session open")
    if layer.level == "turn" and ctx.output is None:
        raise NextForgottenError(f"{who} neither awaited next() nor set ctx.output: is an `await` missing?")
    ctx._answered(layer.name)
    tell(ctx._session.log, Answered(layer.level, layer.name))


def _where_to(level: Level) -> str:
    return "a turn hook answers by setting ctx.output" if level == "turn" else "a session hook has no result"


def _leaving(layer: Layer, ctx: Any, error: BaseException) -> BaseException:
    """What leaves a layer for *error*: out of its group, signed, with notes that say where it came from."""
    found = leaf(error)
    if isinstance(found, asyncio.CancelledError) and layer.level != "session":
        note_cancelled(ctx._turn)
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


def is_cancelled(turn: Any, task: asyncio.Task[Any] | None) -> bool:
    """Whether somebody cancelled *task*, in which a part of *turn* runs, and no time-out has taken it back.

    Before Python 3.13 a failing `TaskGroup` may leave its task counted as cancelled: there the count is believed only
    where a CancelledError was seen to pass.
    """
    if task is None:
        return False
    if task.cancelling() <= (turn.base_cancels if task is turn.task else 0):
        if turn.struck:
            turn.struck.discard(task)
        return False
    return _COUNTS_EXACTLY or (turn.struck is not None and task in turn.struck)


_COUNTS_EXACTLY = sys.version_info >= (3, 13)


def still_cancelled(ctx: Any) -> bool:
    """Whether somebody cancelled the running task and no time-out has taken it back."""
    return is_cancelled(ctx._turn, asyncio.current_task())


def note_cancelled(turn: Any) -> None:
    """Remember that a CancelledError passes through the running task."""
    if turn.struck is None:
        turn.struck = set()
    turn.struck.add(asyncio.current_task())


def kind_of(thing: Any) -> str:
    """ "a Thing", for messages."""
    return f"a {type(thing).__name__}"
