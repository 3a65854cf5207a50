"""A flaw is seen on every level, in hooks that return and in hooks that yield."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from agent_express import End, Message, ModelResponse, ToolResult
from agent_express_conformance import CHECKS, Verdict
from agent_express_conformance.judge import judge
from agent_express_conformance.subject import Subject

LEVELS = ("turn", "model", "tool")


def own(ctx: Any) -> Any:
    """An answer of the hook's own, as its level wants it."""
    if hasattr(ctx, "call_id"):
        return ToolResult("own")
    if hasattr(ctx, "request"):
        return ModelResponse(Message("assistant", "own"))
    ctx.output = "own"
    return None


def own_end(ctx: Any) -> End[Any]:
    answer = own(ctx)
    return End(ctx.output if answer is None else answer)


class Returning:
    """Hooks that return, each with one flaw; the name is that of the check, with underscores, and a word."""

    async def exception_passes__swallows(self, ctx: Any, next: Any) -> Any:
        try:
            return await next()
        except Exception:
            return own(ctx)

    async def exception_passes__disguises(self, ctx: Any, next: Any) -> Any:
        try:
            return await next()
        except Exception as error:
            raise LookupError("something else") from error

    async def cancel_passes__swallows(self, ctx: Any, next: Any) -> Any:
        try:
            return await next()
        except asyncio.CancelledError:
            return own(ctx)

    async def result_passes__changes(self, ctx: Any, next: Any) -> Any:
        await next()
        return own(ctx)

    async def result_passes__fails(self, ctx: Any, next: Any) -> Any:
        await next()
        raise LookupError("too late")

    async def next_once__repeats(self, ctx: Any, next: Any) -> Any:
        await next()
        return await next.again()

    async def next_once__calls_twice(self, ctx: Any, next: Any) -> Any:
        await next()
        return await next()

    async def cancelled_anywhere__leaves_a_task(self, ctx: Any, next: Any) -> Any:
        task = asyncio.create_task(asyncio.sleep(1_000_000))
        result = await next()
        task.cancel()
        return result

    async def declared_only__keeps(self, ctx: Any, next: Any) -> Any:
        ctx.state.hidden = 1
        return await next()


class Yielding:
    """Hooks that yield, each with one flaw."""

    async def exception_passes__swallows(self, ctx: Any, next: Any) -> AsyncIterator[Any]:
        try:
            async for event in next():
                yield event
        except Exception:
            yield own_end(ctx)

    async def result_passes__changes(self, ctx: Any, next: Any) -> AsyncIterator[Any]:
        async for event in next():
            yield own_end(ctx) if isinstance(event, End) else event

    async def next_once__repeats(self, ctx: Any, next: Any) -> AsyncIterator[Any]:
        async for event in next():
            if not isinstance(event, End):
                yield event
        async for event in next.again():
            yield event

    async def end_passes__drops(self, ctx: Any, next: Any) -> AsyncIterator[Any]:
        async for event in next():
            if not isinstance(event, End):
                yield event

    async def end_passes__awaits_and_forgets(self, ctx: Any, next: Any) -> AsyncIterator[Any]:
        await next()
        if next is None:
            yield own_end(ctx)

    async def cancelled_anywhere__leaves_a_task(self, ctx: Any, next: Any) -> AsyncIterator[Any]:
        task = asyncio.create_task(asyncio.sleep(1_000_000))
        async for event in next():
            yield event
        task.cancel()

    async def cancelled_anywhere__leaves_a_generator(self, ctx: Any, next: Any) -> AsyncIterator[Any]:
        numbers = self._numbers()
        self.held = [numbers]
        async for event in next():
            await anext(numbers)
            yield event
        await numbers.aclose()  # type: ignore[attr-defined]

    async def _numbers(self) -> AsyncIterator[int]:
        while True:
            await asyncio.sleep(0)
            yield 1


FLAWS = [
    pytest.param(kind, name, level, id=f"{kind.__name__.lower()}, {name.replace('__', ': ')}, {level}")
    for kind in (Returning, Yielding)
    for name in vars(kind)
    if "__" in name.strip("_")
    for level in LEVELS
]


def judged(check: str, make: Callable[[], Any]) -> Verdict:
    found = next(each for each in CHECKS if each.name == check)
    return judge(found, Subject("made", make)).outcome


@pytest.mark.parametrize(("kind", "name", "level"), FLAWS)
def test_a_flaw_is_caught_on_the_level_on_which_it_is(kind: type, name: str, level: str) -> None:
    check = name.partition("__")[0].replace("_", "-")
    flawed = type("Flawed", (), {level: vars(kind)[name], "_numbers": vars(Yielding)["_numbers"]})
    assert judged(check, flawed) is Verdict.FAILED


async def passes(self: Any, ctx: Any, next: Any) -> Any:
    return await next()


async def passes_events(self: Any, ctx: Any, next: Any) -> AsyncIterator[Any]:
    async for event in next():
        yield event


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize("hook", [passes, passes_events])
@pytest.mark.parametrize("check", sorted({str(flaw.values[1]).partition("__")[0].replace("_", "-") for flaw in FLAWS}))
def test_a_hook_that_passes_everything_on_is_caught_by_none_of_them(check: str, hook: Any, level: str) -> None:
    assert judged(check, type("Plain", (), {level: hook})) is Verdict.PASSED
