"""Drive a scenario step by step: act right after the k-th step of any of its tasks, or move the clock there.

A step is what a task does between two awaits. The places between steps are all places where a cancellation, a time
limit or a closing session can strike; a test that tries each of them leaves no timing untested.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Generator, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")
LONG = 10_000.0
"""Seconds that `Clock.jump` moves on: more than any time limit of a test."""


class Steps:
    """Counts the steps of all tasks that are made while it watches, and acts at some of them.

    Attributes:
        taken: Steps so far.
    """

    def __init__(self) -> None:
        self.taken = 0
        self._plan: dict[int, list[Callable[[], object]]] = {}

    def at(self, step: int, act: Callable[[], object]) -> None:
        """Call *act* right after the step of that number, counted from 1."""
        self._plan.setdefault(step, []).append(act)

    @contextmanager
    def watching(self) -> Iterator[Steps]:
        """Count the tasks that are made in this block."""
        loop = asyncio.get_running_loop()
        before = loop.get_task_factory()
        loop.set_task_factory(self._task)
        try:
            yield self
        finally:
            loop.set_task_factory(before)

    def _task(self, loop: asyncio.AbstractEventLoop, work: Any, **options: Any) -> asyncio.Task[Any]:
        return asyncio.Task(_Counted(work, self), loop=loop, **options)

    def suspended(self) -> None:
        """A task has come to an await."""
        self.taken += 1
        for act in self._plan.pop(self.taken, ()):
            act()

    def ended(self) -> None:
        """A task is about to end: act before anybody who waits for it goes on."""
        self.taken += 1
        for act in self._plan.pop(self.taken, ()):
            asyncio.get_running_loop().call_soon(act)


class _Counted(Coroutine[Any, Any, Any]):
    """A coroutine that tells of its steps."""

    def __init__(self, work: Coroutine[Any, Any, Any], steps: Steps) -> None:
        self._work, self._steps = work, steps

    def send(self, value: Any) -> Any:
        return self._step(self._work.send, value)

    def throw(self, *error: Any) -> Any:
        return self._step(self._work.throw, *error)

    def _step(self, go_on: Callable[..., Any], *given: Any) -> Any:
        try:
            awaited = go_on(*given)
        except BaseException:
            self._steps.ended()
            raise
        self._steps.suspended()
        return awaited

    def close(self) -> None:
        self._work.close()

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._work.__await__()

    def __getattr__(self, name: str) -> Any:  # cr_frame and the like, for reports of what is still running
        return getattr(self._work, name)


async def everywhere(what: str, once: Callable[[Steps, int], Awaitable[None]]) -> None:
    """Run *once* undisturbed, as step 0, then again and again, each time to disturb it at another of its steps.

    Args:
        what: What is done at a step, for the report of a failure.
        once: Takes what counts the steps and the step at which to act.
    """
    steps = Steps()
    await once(steps, 0)
    for k in range(1, steps.taken + 1):
        with telling(f"{what} at step {k} of {steps.taken}"):
            await once(Steps(), k)


async def ended(task: asyncio.Task[T]) -> BaseException | T:
    """Wait for *task*; return what it returned or raised."""
    await asyncio.wait([task])
    return outcome(task)


def outcome(task: asyncio.Task[T]) -> BaseException | T:
    """What *task*, which has ended, returned or raised."""
    if task.cancelled():
        return asyncio.CancelledError()
    return task.exception() or task.result()


@contextmanager
def telling(what: str) -> Iterator[None]:
    """Say with a failing check in which of many runs it failed."""
    try:
        yield
    except BaseException as error:
        error.add_note(what)
        raise


async def until(condition: Callable[[], bool], rounds: int = 1_000) -> None:
    """Let other tasks run until *condition* holds; a test that waits in vain fails instead of hanging."""
    for _ in range(rounds):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError(f"it did not happen in {rounds} rounds of the loop")


async def give_way(rounds: int) -> None:
    """Let other tasks run for so many rounds of the loop."""
    for _ in range(rounds):
        await asyncio.sleep(0)


@contextmanager
def nothing_lost() -> Iterator[None]:
    """Check that no task of the block fails unheard: what the event loop would only write to the log."""
    loop = asyncio.get_running_loop()
    before, lost = loop.get_exception_handler(), list[str]()
    loop.set_exception_handler(lambda _, about: lost.append(f"{about['message']}: {about.get('exception')!r}"))
    try:
        yield
    finally:
        loop.set_exception_handler(before)
    assert lost == [], lost


class Clock:
    """The clock of the running loop, which stands still until it is moved."""

    def __init__(self) -> None:
        self._now = 0.0

    @contextmanager
    def in_charge(self) -> Iterator[Clock]:
        """Let the running loop read this clock."""
        loop: Any = asyncio.get_running_loop()
        self._now = loop.time()
        loop.time = lambda: self._now
        try:
            yield self
        finally:
            del loop.time

    def jump(self, seconds: float = LONG) -> None:
        """Move on: whatever was to happen meanwhile happens in the next round of the loop."""
        self._now += seconds
