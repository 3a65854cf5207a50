"""Random stacks of middleware: what hooks can do, and a note of how each was entered and left."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from hypothesis import strategies as st

from agent_express import (
    End,
    Event,
    Message,
    ModelContext,
    ModelResponse,
    Restarted,
    TextDelta,
    ToolContext,
    ToolResult,
    TurnContext,
)

LEVELS = ("turn", "model", "tool")
Spec: TypeAlias = Mapping[str, str]
"""What the hooks of one middleware do: the level, and a method of `Returning` or `Yielding`."""


class Noted(Event, type="test:noted"):
    """A durable event of a middleware's own."""

    text: str


class Hinted(Event, type="test:hinted", durable=False):
    """A delta of a middleware's own."""

    text: str


class Broken(Exception):
    """What a broken hook raises."""


@dataclass
class Notes:
    """Which hooks were entered and left, and how, in their own account."""

    lines: list[str] = field(default_factory=list)

    @contextmanager
    def of(self, name: str, ctx: TurnContext) -> Iterator[None]:
        self.lines.append(f"{where(ctx)} {name}: entered")
        try:
            yield
        except BaseException as error:
            self.lines.append(f"{where(ctx)} {name}: {type(error).__name__}")
            raise
        self.lines.append(f"{where(ctx)} {name}: returned")


def level_of(ctx: TurnContext) -> str:
    """The level of a context."""
    if isinstance(ctx, ToolContext):
        return "tool"
    return "model" if isinstance(ctx, ModelContext) else "turn"


def where(ctx: TurnContext) -> str:
    """The level of a context, and which call of that level it stands for."""
    if isinstance(ctx, ToolContext):
        return f"tool {ctx.call_id}"
    return f"model {ctx.call_index}" if isinstance(ctx, ModelContext) else "turn"


def own(name: str, ctx: TurnContext) -> Any:
    """An answer of a hook's own."""
    if isinstance(ctx, ModelContext):
        return ModelResponse(Message("assistant", f"own answer of {name}"))
    if isinstance(ctx, ToolContext):
        return ToolResult(f"own result of {name}")
    ctx.output = Message("assistant", f"own answer of {name}")
    return None


def own_end(name: str, ctx: TurnContext) -> End[Any]:
    """The same, as the end of a stream."""
    answer = own(name, ctx)
    return End(ctx.output if level_of(ctx) == "turn" else answer)


async def says_no(name: str) -> None:
    """Fail a little later."""
    await asyncio.sleep(0)
    raise Broken(f"{name} says no")


class Made:
    """A middleware of a random stack; its hooks are methods of `Returning` and `Yielding`."""

    events = (Noted, Hinted)

    def __init__(self, name: str, notes: Notes) -> None:
        self.name, self.notes = name, notes


def made(name: str, spec: Spec, notes: Notes) -> Made:
    """The middleware that *spec* describes."""
    kind = type("Made", (Made,), {level: BEHAVIOURS[act] for level, act in spec.items()})
    return kind(name, notes)  # type: ignore[no-any-return]


class Returning(Made):
    """Hooks that return."""

    async def passes(self, ctx: Any, next: Any) -> Any:
        with self.notes.of(self.name, ctx):
            return await next()

    async def answers(self, ctx: Any, next: Any) -> Any:
        with self.notes.of(self.name, ctx):
            return own(self.name, ctx)

    async def raises_before(self, ctx: Any, next: Any) -> Any:
        with self.notes.of(self.name, ctx):
            raise Broken(f"{self.name} before")

    async def raises_after(self, ctx: Any, next: Any) -> Any:
        with self.notes.of(self.name, ctx):
            await next()
            raise Broken(f"{self.name} after")

    async def retries(self, ctx: Any, next: Any) -> Any:
        with self.notes.of(self.name, ctx):
            for _ in range(2):
                try:
                    return await next()
                except Exception:
                    await asyncio.sleep(0)
            return await next()

    async def repeats(self, ctx: Any, next: Any) -> Any:
        with self.notes.of(self.name, ctx):
            await next()
            return await next.again()

    async def recovers(self, ctx: Any, next: Any) -> Any:
        with self.notes.of(self.name, ctx):
            try:
                return await next()
            except Exception:
                return own(self.name, ctx)

    async def in_a_task(self, ctx: Any, next: Any) -> Any:
        with self.notes.of(self.name, ctx):
            return await asyncio.create_task(next())

    async def in_a_group(self, ctx: Any, next: Any) -> Any:
        with self.notes.of(self.name, ctx):
            async with asyncio.TaskGroup() as tasks:
                inner = tasks.create_task(next())
                tasks.create_task(asyncio.sleep(0))
            return inner.result()

    async def guards(self, ctx: Any, next: Any) -> Any:
        with self.notes.of(self.name, ctx):
            try:
                async with asyncio.TaskGroup() as tasks:
                    tasks.create_task(next())
                    tasks.create_task(says_no(self.name))
            except* Broken:
                pass
            return own(self.name, ctx)

    async def guards_itself(self, ctx: Any, next: Any) -> Any:
        with self.notes.of(self.name, ctx):
            try:
                async with asyncio.TaskGroup() as tasks:
                    tasks.create_task(says_no(self.name))
                    await next()
            except* Broken:
                pass
            return own(self.name, ctx)

    async def in_time(self, ctx: Any, next: Any) -> Any:
        with self.notes.of(self.name, ctx):
            async with asyncio.timeout(3600):
                return await next()

    async def tells(self, ctx: Any, next: Any) -> Any:
        with self.notes.of(self.name, ctx):
            await ctx.emit(Noted(f"{self.name} before"))
            result = await next()
            await ctx.emit(Hinted(f"{self.name} after"))
            return result

    async def calls_next_twice(self, ctx: Any, next: Any) -> Any:
        with self.notes.of(self.name, ctx):
            await next()
            return await next()

    async def forgets_next(self, ctx: Any, next: Any) -> Any:
        with self.notes.of(self.name, ctx):
            return None


class Yielding(Made):
    """Hooks that yield."""

    async def yields(self, ctx: Any, next: Any) -> AsyncIterator[Any]:
        with self.notes.of(self.name, ctx):
            async for event in next():
                yield event

    async def alters(self, ctx: Any, next: Any) -> AsyncIterator[Any]:
        with self.notes.of(self.name, ctx):
            async for event in next():
                yield TextDelta(event.text.upper()) if isinstance(event, TextDelta) else event

    async def drops(self, ctx: Any, next: Any) -> AsyncIterator[Any]:
        with self.notes.of(self.name, ctx):
            async for event in next():
                if isinstance(event, End):
                    yield event

    async def adds(self, ctx: Any, next: Any) -> AsyncIterator[Any]:
        with self.notes.of(self.name, ctx):
            yield Hinted("before")
            async for event in next():
                yield event
                if isinstance(event, TextDelta):
                    yield TextDelta("!")
                    await ctx.emit(Hinted("emitted"))

    async def holds_back(self, ctx: Any, next: Any) -> AsyncIterator[Any]:
        with self.notes.of(self.name, ctx):
            held = [event async for event in next()]
            await asyncio.sleep(0)
            for event in held:
                yield event

    async def awaits_next(self, ctx: Any, next: Any) -> AsyncIterator[Any]:
        with self.notes.of(self.name, ctx):
            result = await next()
            yield End(ctx.output if level_of(ctx) == "turn" else result)

    async def breaks_off(self, ctx: Any, next: Any) -> AsyncIterator[Any]:
        with self.notes.of(self.name, ctx):
            async for event in next():
                if not isinstance(event, End):
                    yield event
                break
            yield own_end(self.name, ctx)

    async def replaces_the_end(self, ctx: Any, next: Any) -> AsyncIterator[Any]:
        with self.notes.of(self.name, ctx):
            async for event in next():
                yield own_end(self.name, ctx) if isinstance(event, End) else event

    async def has_no_end(self, ctx: Any, next: Any) -> AsyncIterator[Any]:
        with self.notes.of(self.name, ctx):
            async for event in next():
                if not isinstance(event, End):
                    yield event

    async def goes_on_after_the_end(self, ctx: Any, next: Any) -> AsyncIterator[Any]:
        with self.notes.of(self.name, ctx):
            async for event in next():
                yield event
            yield Hinted("too late")

    async def yields_again(self, ctx: Any, next: Any) -> AsyncIterator[Any]:
        with self.notes.of(self.name, ctx):
            async for event in next():
                if not isinstance(event, End):
                    yield event
            async for event in next.again():
                yield event

    async def retries_yielding(self, ctx: Any, next: Any) -> AsyncIterator[Any]:
        with self.notes.of(self.name, ctx):
            for tries in range(3):
                try:
                    async for event in next():
                        yield event
                    return
                except Exception:
                    if tries == 2:
                        raise

    async def recovers_yielding(self, ctx: Any, next: Any) -> AsyncIterator[Any]:
        with self.notes.of(self.name, ctx):
            try:
                async for event in next():
                    yield event
            except Exception:
                yield own_end(self.name, ctx)

    async def raises_at_once(self, ctx: Any, next: Any) -> AsyncIterator[Any]:
        with self.notes.of(self.name, ctx):
            if next:
                raise Broken(f"{self.name} at once")
            yield own_end(self.name, ctx)

    async def raises_between(self, ctx: Any, next: Any) -> AsyncIterator[Any]:
        with self.notes.of(self.name, ctx):
            async for event in next():
                if isinstance(event, TextDelta | Restarted):
                    raise Broken(f"{self.name} between")
                yield event

    async def raises_at_the_end(self, ctx: Any, next: Any) -> AsyncIterator[Any]:
        with self.notes.of(self.name, ctx):
            async for event in next():
                yield event
            raise Broken(f"{self.name} at the end")

    async def answers_yielding(self, ctx: Any, next: Any) -> AsyncIterator[Any]:
        with self.notes.of(self.name, ctx):
            yield TextDelta("own")
            yield own_end(self.name, ctx)


BEHAVIOURS: dict[str, Any] = {
    name: act for kind in (Returning, Yielding) for name, act in vars(kind).items() if not name.startswith("_")
}
HARMLESS = ["passes", "tells", "in_time", "in_a_task", "yields", "alters", "adds", "holds_back"]
REPEATING = ["retries", "repeats", "recovers", "retries_yielding", "yields_again", "recovers_yielding"]
HASTY = {"breaks_off", "raises_between", "guards", "guards_itself"}  # they end what is further in while it works


def stacks_of(acts: Iterable[str]) -> st.SearchStrategy[list[dict[str, str]]]:
    """Stacks of one to six middleware; most of their hooks are harmless or repeat, the others do any of *acts*."""
    act = st.one_of(st.sampled_from(HARMLESS), st.sampled_from(REPEATING), st.sampled_from(sorted(acts)))
    return st.lists(st.dictionaries(st.sampled_from(LEVELS), act, min_size=1), min_size=1, max_size=6)
