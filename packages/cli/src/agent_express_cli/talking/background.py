"""An event loop in a thread of its own: the main thread reads lines there, and Ctrl-C ends there what it should."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine
from contextlib import suppress
from types import TracebackType
from typing import Any, Generic, Self, TypeVar, cast

T = TypeVar("T")

WINDOWS_POLL = 0.2
"""Seconds. On Windows a wait without an end cannot be interrupted, so it is cut into pieces."""


class Abandoned(KeyboardInterrupt):
    """Ctrl-C was pressed once more while what it had cancelled came to its end: nobody waits for that any longer."""


class BackgroundLoop:
    """Runs coroutines while the main thread waits, and what they left running while it reads.

    Python raises KeyboardInterrupt in the main thread alone. There is thus no signal handler here: whoever waits in
    `do` is interrupted, and cancels what he waits for.
    """

    def __enter__(self) -> Self:
        ready = threading.Event()
        self._is_over = False
        self._thread = threading.Thread(target=self._live, args=(ready,), name="agent-express", daemon=True)
        self._thread.start()
        ready.wait()
        return self

    def _live(self, ready: threading.Event) -> None:
        with asyncio.Runner() as runner:
            self._loop = runner.get_loop()
            self._loop.call_soon(ready.set)
            while not self._is_over:
                with suppress(SystemExit, KeyboardInterrupt):  # raised by a hook: `do` raises it in the main thread
                    self._loop.run_forever()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._is_over = True
        self._loop.call_soon_threadsafe(self._loop.stop)
        if kind is None or not issubclass(kind, Abandoned):
            self._thread.join()

    def do(self, work: Coroutine[Any, Any, T]) -> T:
        """Run *work* and return its result; Ctrl-C cancels it and waits until it has ended.

        Raises:
            KeyboardInterrupt: *work* was cancelled by Ctrl-C.
            Abandoned: And it has not ended before the next Ctrl-C.
            Exception: What *work* raised.
        """
        running = _Running[T](self._loop, work)
        try:
            running.start()
            running.wait()
        except KeyboardInterrupt:
            try:
                running.cancel()
                running.wait()
            except KeyboardInterrupt:
                raise Abandoned from None
            if running.was_cancelled:
                raise
        return running.result()


class _Running(Generic[T]):
    """A task of another thread's loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, T]) -> None:
        self._loop, self._work = loop, work
        self._done = threading.Event()
        self._task: asyncio.Task[T] | None = None

    def start(self) -> None:
        self._loop.call_soon_threadsafe(self._start)

    def _start(self) -> None:
        self._task = self._loop.create_task(self._work)
        self._task.add_done_callback(lambda _: self._done.set())

    def wait(self) -> None:
        while not self._done.wait(WINDOWS_POLL):
            pass

    def cancel(self) -> None:
        self._loop.call_soon_threadsafe(self._cancel)

    def _cancel(self) -> None:
        if self._task is None:  # Ctrl-C came before it could start
            self._start()
        cast("asyncio.Task[T]", self._task).cancel()

    @property
    def was_cancelled(self) -> bool:
        return cast("asyncio.Task[T]", self._task).cancelled()

    def result(self) -> T:
        return cast("asyncio.Task[T]", self._task).result()
