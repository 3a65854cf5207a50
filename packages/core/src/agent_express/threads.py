"""Synchronous tools: each call in a daemon thread of its own, with a token that tells it to stop."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from typing import Any


class CancelToken:
    """Tells a synchronous tool, in its thread, that nobody waits for it any more."""

    __slots__ = ("_event",)

    def __init__(self) -> None:
        self._event = threading.Event()

    def cancel(self) -> None:
        """Ask the tool to stop."""
        self._event.set()

    @property
    def is_cancelled(self) -> bool:
        """Whether the tool should stop."""
        return self._event.is_set()

    def wait(self, seconds: float) -> bool:
        """Sleep up to *seconds*; return at once, and True, when cancelled."""
        return self._event.wait(seconds)


async def in_thread(fn: Callable[..., Any], values: dict[str, Any], token_name: str | None) -> Any:
    """Run a synchronous function in a daemon thread of its own.

    Waiting for it can be cancelled at once; the thread is told through its token, and does not keep the program alive.
    """
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()
    token = CancelToken()
    if token_name is not None:
        values[token_name] = token
    context = contextvars.copy_context()

    def tell(result: Any, error: BaseException | None) -> None:
        if not future.done():
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)

    def work() -> None:
        result, failure = None, None
        try:
            result = context.run(fn, **values)
        except BaseException as error:
            failure = RuntimeError(f"it raised {error!r}") if isinstance(error, StopIteration) else error
        try:
            loop.call_soon_threadsafe(tell, result, failure)
        except RuntimeError:
            return  # the loop is closed: nobody waits any more

    threading.Thread(target=work, name=f"tool {getattr(fn, '__name__', '')}", daemon=True).start()
    try:
        return await future
    finally:
        token.cancel()
