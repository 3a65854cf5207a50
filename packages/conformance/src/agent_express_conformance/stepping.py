"""Every await of a piece of work, one after the other, as a place where something can strike."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator
from contextlib import contextmanager
from typing import Any


class Strike:
    """Act once, right after the step of a given number that any task of a block has taken.

    A step is what a task does between two awaits. Steps are counted over all tasks that the block makes.

    Attributes:
        taken: Steps so far.
    """

    def __init__(self, step: int, act: Callable[[], object]) -> None:
        self.taken = 0
        self._step, self._act = step, act

    @contextmanager
    def watching(self) -> Generator[None]:
        """Count the tasks that are made in this block."""
        loop = asyncio.get_running_loop()
        before = loop.get_task_factory()
        loop.set_task_factory(self._made)
        try:
            yield
        finally:
            loop.set_task_factory(before)

    def _made(self, loop: asyncio.AbstractEventLoop, work: Any, **options: Any) -> asyncio.Task[Any]:
        return asyncio.Task(_Stepped(work, self), loop=loop, **options)

    def step(self, *, is_last: bool) -> None:
        """Note that a task has come to an await, or to its end."""
        self.taken += 1
        if self.taken == self._step:
            if is_last:  # act before anybody who waits for the task goes on
                asyncio.get_running_loop().call_soon(self._act)
            else:
                self._act()


class _Stepped(Coroutine[Any, Any, Any]):
    """A coroutine that tells of each of its steps."""

    def __init__(self, work: Coroutine[Any, Any, Any], strike: Strike) -> None:
        self._work, self._strike = work, strike

    def send(self, value: Any) -> Any:
        return self._go(lambda: self._work.send(value))

    def throw(self, *error: Any) -> Any:
        return self._go(lambda: self._work.throw(*error))

    def _go(self, on: Callable[[], Any]) -> Any:
        try:
            awaited = on()
        except BaseException:
            self._strike.step(is_last=True)
            raise
        self._strike.step(is_last=False)
        return awaited

    def close(self) -> None:
        self._work.close()

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._work.__await__()

    def __getattr__(self, name: str) -> Any:  # cr_frame and the like, for reports of what is left
        return getattr(self._work, name)
