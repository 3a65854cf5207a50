"""Nothing is left running: a context manager around what is tested."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from types import AsyncGeneratorType
from typing import Any, TypeAlias
from weakref import WeakSet

from .scripted import MODELS

Gen: TypeAlias = AsyncGenerator[Any, Any]


@asynccontextmanager
async def no_leaks() -> AsyncGenerator[None]:
    """Check that the block leaves no task, no open async generator and no open stream of a scripted model.

    What was there before the block does not count. A generator that was dropped instead of closed counts: the garbage
    collector closes it some time later, in another task. A block that raises is not checked.

    Raises:
        AssertionError: Names what is left and where it waits.
    """
    __tracebackhide__ = True
    tasks = asyncio.all_tasks()
    streams = {model: model.open_streams for model in MODELS}
    with _generators() as seen:
        yield
    left = [_task(task) for task in asyncio.all_tasks() - tasks]
    left += [_generator(each) for each in seen.begun if _is_open(each)]
    left += seen.dropped
    for model in list(MODELS):
        count = model.open_streams - streams.get(model, 0)
        left += [f"{count} open stream(s) of the model {model.name!r}"] if count > 0 else []
    if left:
        raise AssertionError("\n  ".join(["left behind:", *sorted(left)]))


class _Seen:
    """Async generators that were first iterated while it watched, as long as anybody holds them."""

    def __init__(self) -> None:
        self.begun: WeakSet[Gen] = WeakSet()
        self.dropped: list[str] = []


@contextmanager
def _generators() -> Generator[_Seen]:
    """Watch the generators of this thread, and let the event loop watch them too."""
    seen, hooks = _Seen(), sys.get_asyncgen_hooks()

    def begun(generator: Gen) -> None:
        seen.begun.add(generator)
        if hooks.firstiter is not None:
            hooks.firstiter(generator)

    def dropped(generator: Gen) -> None:
        seen.dropped.append(f"dropped without being closed: {_generator(generator)}")
        if hooks.finalizer is not None:
            hooks.finalizer(generator)

    sys.set_asyncgen_hooks(begun, dropped)
    try:
        yield seen
    finally:
        sys.set_asyncgen_hooks(*hooks)


def _is_open(generator: Gen) -> bool:
    return isinstance(generator, AsyncGeneratorType) and generator.ag_frame is not None


def _generator(generator: Gen) -> str:
    where = ""
    if isinstance(generator, AsyncGeneratorType) and generator.ag_frame is not None:
        code = generator.ag_frame.f_code
        where = f" at {code.co_filename}:{generator.ag_frame.f_lineno}"
    return f"async generator {getattr(generator, '__qualname__', generator)}{where}"


def _task(task: asyncio.Task[Any]) -> str:
    frames = task.get_stack(limit=1)
    where = f" at {frames[-1].f_code.co_filename}:{frames[-1].f_lineno}" if frames else ""
    return f"task {task.get_name()} running {getattr(task.get_coro(), '__qualname__', task.get_coro())}{where}"
