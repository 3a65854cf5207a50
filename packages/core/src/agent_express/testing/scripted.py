"""Models that answer from a script or a function: the tests' stand-in for a provider.

    model = ScriptedModel([call("weather", city="Oslo")], "It is 12 °C in Oslo.")

What an item can be stands in `replies`. Between two deltas these models give way to other tasks, as a provider's
stream does, so that every delta is a point where a turn can be cancelled.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing
from typing import TypeAlias, cast
from weakref import WeakSet

from ..events import End, Event
from ..messages import Message, ModelRequest, ModelResponse, ToolCall
from .errors import ScriptError
from .replies import EXPECTED, Play, Reply, Say, play

Replying: TypeAlias = Callable[[ModelRequest], Reply | Awaitable[Reply] | AsyncIterator[Event | End[ModelResponse]]]
ScriptItem: TypeAlias = Reply | Replying

MODELS: WeakSet[ScriptedBase] = WeakSet()  # every model of this module that is alive: `no_leaks` asks them


class ScriptedBase:
    """What scripted, function and replaying models share: requests, open streams, ids.

    Attributes:
        name: The full name.
        requests: Every request so far, in the order in which their streams began.
        open_streams: Streams that have begun and are not closed.
        context_window: Tokens, for middleware that ask; None: unknown.
        modalities: Of "text", "image", "audio", "file"; None: unknown.
    """

    def __init__(
        self,
        name: str,
        *,
        suspend: bool = True,
        context_window: int | None = None,
        modalities: frozenset[str] | None = None,
    ) -> None:
        self.name, self.context_window, self.modalities = name, context_window, modalities
        self.requests: list[ModelRequest] = []
        self.open_streams = 0
        self._suspend = suspend
        self._calls = 0
        MODELS.add(self)

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Event | End[ModelResponse], None]:
        """Answer *request* with the next reply; see `Model.stream`."""
        self.requests.append(request)
        self.open_streams += 1
        try:
            item = self._next(request)
            reply = item(request) if callable(item) else item
            if isinstance(reply, AsyncIterator):
                async with aclosing(cast(AsyncGenerator[Event | End[ModelResponse], None], reply)) as events:
                    async for event in events:
                        yield event
                return
            if inspect.isawaitable(reply):
                reply = await reply
            played = play(reply, request, self._new_id)
            for position, delta in enumerate(played.deltas[: played.stop]):
                await self._step(played, position)
                yield delta
            await self._step(played, played.stop)
            if played.error is not None:
                raise played.error
            yield End(played.response)
        finally:
            self.open_streams -= 1

    def _next(self, request: ModelRequest) -> ScriptItem:
        raise NotImplementedError

    async def _step(self, played: Play, position: int) -> None:
        if played.delay is not None and position == played.pause:
            await played.delay.wait()
        else:
            await self._give_way()

    async def _give_way(self) -> None:
        if self._suspend:
            await asyncio.sleep(0)

    def _new_id(self) -> str:
        self._calls += 1
        return f"call-{self._calls}"


class ScriptedModel(ScriptedBase):
    """Answer the n-th request with the n-th item of *script*.

    Args:
        script: One item per request: text, `Say`, tool calls or other parts, a message, a response, an exception to
            raise, or a function (sync, async, or an async generator of deltas and `End`) that takes the request and
            gives one of these. Calls without an id get "call-1", "call-2" ...; usage counts words.
        name: The full name.
        suspend: Whether to give way to other tasks before each delta.
        context_window: Tokens; None: unknown.
        modalities: Of "text", "image", "audio", "file"; None: unknown.

    Raises:
        TypeError: An item is none of these.
        ScriptError: While streaming: there are more requests than items.
    """

    def __init__(
        self,
        *script: ScriptItem,
        name: str = "scripted",
        suspend: bool = True,
        context_window: int | None = None,
        modalities: frozenset[str] | None = None,
    ) -> None:
        super().__init__(name, suspend=suspend, context_window=context_window, modalities=modalities)
        for position, item in enumerate(script):
            _check(item, position)
        self._script = script

    @property
    def remaining(self) -> int:
        """Items that no request has used."""
        return max(0, len(self._script) - len(self.requests))

    def _next(self, request: ModelRequest) -> ScriptItem:
        asked = len(self.requests)
        if asked > len(self._script):
            raise ScriptError(
                f"{self.name}: the script has {_items(len(self._script))} and this is request {asked}; "
                f"it was {shape(request)}; add an item, or find out who calls once more than expected"
            )
        return self._script[asked - 1]


class FunctionModel(ScriptedBase):
    """Answer each request with what *reply* makes of it.

    Args:
        reply: Takes the request, gives what a `ScriptedModel` has in its script; sync, async, or an async generator
            of deltas and `End`.
        name: The full name.
        suspend: Whether to give way to other tasks before each delta.
        context_window: Tokens; None: unknown.
        modalities: Of "text", "image", "audio", "file"; None: unknown.
    """

    def __init__(
        self,
        reply: Replying,
        *,
        name: str = "function",
        suspend: bool = True,
        context_window: int | None = None,
        modalities: frozenset[str] | None = None,
    ) -> None:
        super().__init__(name, suspend=suspend, context_window=context_window, modalities=modalities)
        self._reply = reply

    def _next(self, request: ModelRequest) -> ScriptItem:
        return self._reply


def _items(count: int) -> str:
    return f"{count} item" if count == 1 else f"{count} items"


_KNOWN = (str, Say, ModelResponse, Message, ToolCall, list, tuple, BaseException)


def _check(item: object, position: int) -> None:
    if isinstance(item, type):
        raise TypeError(f"script[{position}] is the class {item.__name__}: write an instance, {item.__name__}(...)")
    if not isinstance(item, _KNOWN) and not callable(item):
        raise TypeError(f"script[{position}] is {item!r}: {EXPECTED}, or a function of the request")


# --- what a request looks like, in one line -------------------------------------------------------


def shape(request: ModelRequest) -> str:
    """Describe *request* in one line: its messages by role and kind, its tools."""
    said = ", ".join(glance(message) for message in request.messages) or "none"
    tools = ", ".join(tool.name for tool in request.tools) or "none"
    return f"[messages: {said}; tools: {tools}]"


def glance(message: Message) -> str:
    """Describe *message* in a few words."""
    calls = [part.name for part in message.tool_calls]
    if calls:
        return f"{message.role} calls {'+'.join(calls)}"
    if message.role == "tool":
        return f"{len(message.parts)} tool result{'' if len(message.parts) == 1 else 's'}"
    text = message.text
    return f"{message.role} {text if len(text) <= 40 else text[:39] + '…'!r}"
