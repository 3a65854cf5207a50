"""The owner task: opens things in order and closes them in reverse, all in one task.

Clients with cancel scopes must be closed in the task that opened them; whoever enters and leaves the agent may be any.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from .stream import settle

T = TypeVar("T")
CLOSE_SECONDS = 10.0
"""What each `dispose` may take."""


@dataclass(frozen=True, slots=True)
class Step:
    """Something that is opened and closed.

    Attributes:
        name: Named when it fails.
        open: Called once; None where there is nothing to do.
        close: Called once where *open* succeeded.
    """

    name: str
    open: Callable[[], Awaitable[Any]] | None
    close: Callable[[], Awaitable[Any]] | None


async def finish(task: asyncio.Task[T]) -> T:
    """Wait for *task*, which has time limits of its own, even if the caller is cancelled meanwhile; then say so."""
    interrupted: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])
        except asyncio.CancelledError as error:
            interrupted = error
    if interrupted is not None:
        raise interrupted
    return task.result()


def raise_all(errors: Sequence[Exception], what: str) -> None:
    """Raise what failed: itself if it is one, else an ExceptionGroup called *what*."""
    if len(errors) == 1:
        raise errors[0]
    if errors:
        raise ExceptionGroup(what, errors)


class Owner:
    """One task that opens steps, runs what is handed to it, and closes everything in reverse."""

    def __init__(self, steps: Sequence[Step]) -> None:
        self._steps = list(steps)
        self._opened: list[Step] = []
        self._jobs: deque[tuple[Step, asyncio.Future[None]]] = deque()
        self._wake = asyncio.Event()
        self._closing = False
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._task = asyncio.get_running_loop().create_task(self._live())

    @property
    def is_open(self) -> bool:
        """Whether all steps are open."""
        return self._ready.done() and not self.has_failed

    @property
    def has_failed(self) -> bool:
        """Whether opening failed; everything is closed again then."""
        return self._ready.cancelled() or (self._ready.done() and self._ready.exception() is not None)

    async def opened(self) -> None:
        """Wait until all steps are open.

        Raises:
            Exception: What a step raised; what was open before is closed again.
        """
        if not self._ready.done():
            await asyncio.shield(self._ready)
        self._ready.result()

    async def abandon(self) -> None:
        """Cancel an opening that nobody waits for any more; what was opened is closed again."""
        if not self._task.done():
            self._task.cancel()
            await settle(self._task)

    def follow(self, step: Step) -> None:
        """Open one more step after the others; called by a step that is being opened."""
        self._steps.append(step)

    async def adopt(self, step: Step) -> None:
        """Open one more step, in the owner's task; it is closed with the others."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._jobs.append((step, done))
        self._wake.set()
        await asyncio.shield(done)

    async def close(self) -> list[Exception]:
        """Close everything in reverse; all of it, even if one fails. Returns what failed."""
        self._closing = True
        self._wake.set()
        return await finish(self._task)

    async def _live(self) -> list[Exception]:
        try:
            for step in self._steps:
                await self._open(step)
        except BaseException as error:
            for failure in await self._close_all():
                error.add_note(f"and closing what was open: {failure!r}")
            if isinstance(error, asyncio.CancelledError):
                self._ready.cancel()
                raise
            self._ready.set_exception(error)
            self._ready.exception()  # seen: the opener may be gone
            return []
        self._ready.set_result(None)
        try:
            while not self._closing:
                await self._wake.wait()
                self._wake.clear()
                while self._jobs:
                    await self._do(*self._jobs.popleft())
        finally:
            errors = await self._close_all()
        return errors

    async def _do(self, step: Step, done: asyncio.Future[None]) -> None:
        try:
            await self._open(step)
        except Exception as error:
            if not done.done():
                done.set_exception(error)
        else:
            if not done.done():
                done.set_result(None)

    async def _open(self, step: Step) -> None:
        if step.close is not None:
            self._opened.append(step)
        if step.open is not None:
            try:
                await step.open()
            except BaseException as error:
                if step.close is not None:
                    self._opened.remove(step)  # a failing init cleans up after itself
                error.add_note(f"in init of {step.name}")
                raise

    async def _close_all(self) -> list[Exception]:
        errors: list[Exception] = []
        interrupted: asyncio.CancelledError | None = None
        while self._opened:
            step = self._opened.pop()
            clock = asyncio.timeout(CLOSE_SECONDS)
            try:
                async with clock:
                    await cast(Any, step.close)()
            except Exception as error:
                late = TimeoutError(f"it took longer than {CLOSE_SECONDS:g} seconds")
                failure = late if clock.expired() else error
                failure.add_note(f"in dispose of {step.name}")
                errors.append(failure)
            except asyncio.CancelledError as error:
                interrupted = error  # the others are closed all the same
        if interrupted is not None:
            raise interrupted
        return errors
