"""The public stream of one turn."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import Any, Generic, TypeVar

from .answer import Answer
from .errors import UseError
from .events import End, Event
from .stream import Feed

T = TypeVar("T")


class TurnStream(Generic[T], AbstractAsyncContextManager["TurnStream[T]"]):
    """The events of one turn; the last is `End(answer)`."""

    def __init__(self, work: Callable[[], Coroutine[Any, Any, Answer[T]]]) -> None:
        self._work = work
        self._feed: Feed | None = None
        self._answer: Answer[T] | None = None

    async def __aenter__(self) -> TurnStream[T]:
        if self._feed is not None:
            raise UseError("a stream is entered once: call session.stream(...) again for another turn")
        self._feed = Feed(self._work)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._feed is not None:
            await self._feed.aclose()

    def __aiter__(self) -> TurnStream[T]:
        return self

    async def __anext__(self) -> Event | End[Answer[T]]:
        feed = self._feed
        if feed is None:
            raise UseError("a stream is entered first: `async with session.stream(text) as events:`")
        event = await feed.__anext__()
        if type(event) is End:
            self._answer = event.result
        return event

    @property
    def answer(self) -> Answer[T]:
        """The answer, once the stream has ended.

        Raises:
            UseError: It has not.
        """
        if self._answer is None:
            raise UseError("the stream has not ended: read it to its End first")
        return self._answer

    def __del__(self) -> None:
        if self._feed is not None:
            self._feed.abandon()
