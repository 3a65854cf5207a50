"""What the cases of the provider kit are made of: calls, and checks that say what was found.

They raise `AssertionError` themselves: pytest explains an `assert` in test files only.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable
from contextlib import aclosing, asynccontextmanager
from typing import Any, cast

from ..errors import ModelError
from ..events import End, Event
from ..messages import Message, ModelRequest, ModelResponse, ToolDef
from ..models import Model, complete
from .stand_in import StandIn

WEATHER = ToolDef(
    "weather",
    "Tell the weather of a place.",
    {"type": "object", "properties": {"place": {"type": "string"}}, "required": ["place"]},
)


@asynccontextmanager
async def opened(model: Model) -> AsyncGenerator[Model]:
    """Open and close *model* as an agent does."""
    init, dispose = getattr(model, "init", None), getattr(model, "dispose", None)
    if init is not None:
        await init()
    try:
        yield model
    finally:
        if dispose is not None:
            await dispose()


def ask(model: Model, text: str) -> ModelRequest:
    """A request of one user message, with one tool on offer."""
    return ModelRequest(model, (Message("user", text),), tools=(WEATHER,))


def stream_of(model: Model, request: ModelRequest) -> AsyncGenerator[Event | End[ModelResponse]]:
    """The stream as the async generator that the protocol promises."""
    return cast(AsyncGenerator[Event | End[ModelResponse]], model.stream(request))


async def events_of(model: Model, request: ModelRequest) -> list[Event | End[ModelResponse]]:
    """Everything that the stream of one call yields."""
    async with aclosing(stream_of(model, request)) as events:
        return [event async for event in events]


def response_of(events: list[Event | End[ModelResponse]]) -> ModelResponse:
    """The response in the `End` that must come last."""
    last = events[-1] if events else None
    true(isinstance(last, End), f"the last item must be End, found {last!r}")
    return cast(End[ModelResponse], last).result


async def fails(model: Model, request: ModelRequest, kind: type[ModelError]) -> ModelError:
    """Return the error of the call; anything but a `ModelError` of that *kind* fails the case."""
    try:
        response = await complete(model, request)
    except kind as error:
        return error
    except Exception as error:
        raise AssertionError(f"expected {kind.__name__}, found {type(error).__qualname__}: {error}") from error
    raise AssertionError(f"expected {kind.__name__}, found the answer {response!r}")


async def cancel(call: asyncio.Task[ModelResponse], patience: float) -> None:
    """Cancel *call*; it must end, as cancelled, within *patience* seconds."""
    call.cancel()
    await within(patience, asyncio.wait({call}), "the call went on after it had been cancelled")
    true(call.cancelled(), "a cancelled call must raise CancelledError")


async def left(server: StandIn) -> None:
    """Wait until the client of the first request has gone."""
    await (await server.received()).left.wait()


async def within(patience: float, waited: Awaitable[object], complaint: str) -> None:
    """Await it; more than *patience* seconds become *complaint*."""
    try:
        async with asyncio.timeout(patience):
            await waited
    except TimeoutError:
        raise AssertionError(complaint) from None


def same(found: Any, expected: Any, what: str) -> None:
    """Check that they are equal."""
    if found != expected:
        raise AssertionError(f"{what}: found {found!r}, expected {expected!r}")


def true(holds: bool, complaint: str) -> None:
    """Check that it holds."""
    if not holds:
        raise AssertionError(complaint)
