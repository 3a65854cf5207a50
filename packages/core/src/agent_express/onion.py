"""The onion: hooks folded around a core, the first one outermost.

A hook that returns sees the result:    response = await next()
A hook that yields sees the stream:     async for event in next(): yield event
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

from .events import End, Event
from .layers import Hook, Layer, Level
from .messages import Message
from .streaming import streaming

R_co = TypeVar("R_co", covariant=True)
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
            run = streaming(level, name, hook, is_rim=level == "model" and name == first_streaming)
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


__all__ = [
    "Call",
    "Events",
    "Hook",
    "Layer",
    "Level",
    "Next",
    "Observer",
    "compose",
    "streams",
]
