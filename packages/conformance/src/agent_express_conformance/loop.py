"""The event loop of the checks: nobody waits for a clock, and nobody waits for ever.

Time stands still while something happens and jumps to the next timer when nothing does. So a back-off of a minute
takes no time at all, and a middleware that waits for what never comes meets the patience of the check at once.
"""

from __future__ import annotations

import asyncio
import selectors
import threading
import time
from collections.abc import Coroutine
from typing import Any, TypeVar

from .failure import ConformanceError

T = TypeVar("T")
PATIENCE = 80_000.0
"""Seconds on the loop's own clock after which a check counts as hanging."""
THREADS_MAY_TAKE = {10_000.0: 10.0, 0.0: 0.1}
"""Where there are threads: how long, in real seconds, they may keep silent before time jumps so far and farther."""


class _Selector(selectors.DefaultSelector):
    """Waits for sockets and threads, and for timers not at all."""

    def __init__(self) -> None:
        super().__init__()
        self.jumped = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None or timeout <= 0 or len(self.get_map()) > 1:  # one is the loop's own, to be woken through
            return super().select(timeout)
        silence = next(each for far, each in THREADS_MAY_TAKE.items() if timeout >= far)
        found = super().select(min(timeout, silence) if threading.active_count() > 1 else 0)
        if not found:
            self.jumped += timeout
        return found


class JumpingLoop(asyncio.SelectorEventLoop):
    """An event loop whose clock jumps over waiting."""

    def __init__(self) -> None:
        self._jumps = _Selector()
        super().__init__(self._jumps)

    @property
    def waited(self) -> float:
        """Seconds that its clock has jumped over: how long everybody would have waited."""
        return self._jumps.jumped

    def time(self) -> float:
        """Seconds of the loop's own clock."""
        return time.monotonic() + self._jumps.jumped


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a check in a loop of its own.

    Raises:
        ConformanceError: It hangs.
        Exception: What it raises.
    """
    with asyncio.Runner(loop_factory=JumpingLoop) as runner:
        return runner.run(_patiently(work))


async def _patiently(work: Coroutine[Any, Any, T]) -> T:
    clock = asyncio.timeout(PATIENCE)
    try:
        async with clock:
            return await work
    except TimeoutError as error:
        if not clock.expired():
            raise
        raise ConformanceError(
            "it hangs: everything waits for something that never comes; look for an await without an end in a hook"
        ) from error
