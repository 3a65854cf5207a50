"""An abort holds, whatever the hooks around it do: nothing starts any more, no text and no answer comes out."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

from hypothesis import event as counted
from hypothesis import given, settings
from hypothesis import strategies as st
from packages.core.tests.stacks import LEVELS, level_of, own, own_end
from packages.core.tests.stepping import ended, give_way, nothing_lost

from agent_express import (
    Agent,
    End,
    Message,
    ModelRequest,
    ModelResponse,
    Session,
    TextDelta,
    ToolContext,
    TurnAbortedError,
    TurnContext,
    TurnEnded,
    tool,
)
from agent_express.messages import Text
from agent_express.testing import FunctionModel, call, check_history, no_leaks


@dataclass
class Watch:
    """What had happened when the turn was aborted, and what happens afterwards.

    Attributes:
        told: How many pieces of text were made; each carries its number.
        started: Model calls and tool bodies that have begun.
        aborted: The first abort: its reason, whom it may name, and both counts at that moment.
        helpers: Tasks that hooks have left behind on purpose.
    """

    told: int = 0
    started: list[str] = field(default_factory=list)
    aborted: tuple[str, set[str], int, int] | None = None
    helpers: list[asyncio.Task[Any]] = field(default_factory=list)

    def text(self) -> str:
        """The next piece of text."""
        self.told += 1
        return f"{self.told} "

    def abort(self, ctx: TurnContext, by: str, *, anonymous: bool = False) -> None:
        """Abort the turn of *ctx*."""
        if self.aborted is None and not ctx.log.of(TurnEnded):
            names = {by, "core"} if anonymous else {by}
            self.aborted = (f"{by} has seen enough", names, self.told, len(self.started))
        ctx.abort(f"{by} has seen enough")


class Made:
    """A middleware of a random stack; its hooks are methods of `Stubborn` and `Aborting`."""

    def __init__(self, name: str, watch: Watch) -> None:
        self.name, self.watch = name, watch


class Stubborn(Made):
    """Hooks that do not let an exception stop them."""

    async def passes(self, ctx: Any, next: Any) -> Any:
        return await next()

    async def swallows(self, ctx: Any, next: Any) -> Any:
        try:
            return await next()
        except BaseException:
            return own(self.name, ctx)

    async def retries(self, ctx: Any, next: Any) -> Any:
        for _ in range(2):
            try:
                return await next()
            except BaseException:
                await asyncio.sleep(0)
        return own(self.name, ctx)

    async def repeats(self, ctx: Any, next: Any) -> Any:
        result: Any = None
        for go in (next, next.again):
            try:
                result = await go()
            except BaseException:
                result = own(self.name, ctx)
        return result

    async def gathers(self, ctx: Any, next: Any) -> Any:
        result: Any = (await asyncio.gather(next(), asyncio.sleep(0), return_exceptions=True))[0]
        return own(self.name, ctx) if isinstance(result, BaseException) else result

    async def shields(self, ctx: Any, next: Any) -> Any:
        inner = asyncio.create_task(next())
        try:
            return await asyncio.shield(inner)
        except BaseException:
            await asyncio.gather(inner, return_exceptions=True)
            return own(self.name, ctx)

    async def groups(self, ctx: Any, next: Any) -> Any:
        try:
            async with asyncio.TaskGroup() as tasks:
                inner = tasks.create_task(next())
            return inner.result()
        except BaseException:
            return own(self.name, ctx)

    async def yields(self, ctx: Any, next: Any) -> AsyncIterator[Any]:
        async for event in next():
            yield event

    async def swallows_yielding(self, ctx: Any, next: Any) -> AsyncIterator[Any]:
        try:
            async for event in next():
                yield event
        except BaseException as error:
            if isinstance(error, GeneratorExit):
                raise
            yield TextDelta(self.watch.text())
            yield own_end(self.name, ctx)

    async def retries_yielding(self, ctx: Any, next: Any) -> AsyncIterator[Any]:
        for _ in range(2):
            try:
                async for event in next():
                    yield event
                return
            except GeneratorExit:
                raise
            except BaseException:
                yield TextDelta(self.watch.text())
        yield own_end(self.name, ctx)

    async def tells_afterwards(self, ctx: Any, next: Any) -> AsyncIterator[Any]:
        try:
            result = await next()
        except Exception:
            raise
        except BaseException:
            await ctx.emit(TextDelta(self.watch.text()))
            raise
        yield TextDelta(self.watch.text())
        yield End(ctx.output if level_of(ctx) == "turn" else result)


class Aborting(Made):
    """Hooks that abort the turn."""

    async def at_once(self, ctx: Any, next: Any) -> Any:
        self.watch.abort(ctx, self.name)

    async def afterwards(self, ctx: Any, next: Any) -> Any:
        await next()
        self.watch.abort(ctx, self.name)

    async def and_takes_it_back(self, ctx: Any, next: Any) -> Any:
        try:
            self.watch.abort(ctx, self.name)
        except BaseException:
            return await next()

    async def in_a_group(self, ctx: Any, next: Any) -> Any:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(abort_soon(self.watch, ctx, self.name))
            inner = tasks.create_task(next())
        return inner.result()

    async def beside_next(self, ctx: Any, next: Any) -> Any:
        helper = abort_soon(self.watch, ctx, self.name)
        result: Any = (await asyncio.gather(next(), helper, return_exceptions=True))[0]
        return own(self.name, ctx) if isinstance(result, BaseException) else result

    async def behind_its_back(self, ctx: Any, next: Any) -> Any:
        self.watch.helpers.append(asyncio.create_task(self.abort_later(ctx)))
        return await next()

    async def behind_the_answer(self, ctx: Any, next: Any) -> Any:
        result = await next()
        self.watch.helpers.append(asyncio.create_task(self.abort_later(ctx)))
        await give_way(5)
        return result

    async def abort_later(self, ctx: Any) -> None:
        await give_way(3)
        self.watch.abort(ctx, self.name)

    async def on_text(self, ctx: Any, next: Any) -> AsyncIterator[Any]:
        async for event in next():
            if isinstance(event, TextDelta):
                self.watch.abort(ctx, self.name)
            yield event

    async def behind_its_stream(self, ctx: Any, next: Any) -> AsyncIterator[Any]:
        self.watch.helpers.append(asyncio.create_task(self.abort_later(ctx)))
        async for event in next():
            yield event


async def abort_soon(watch: Watch, ctx: TurnContext, by: str) -> None:
    """Abort from a task that knows nothing of the middleware it works for."""
    await give_way(2)
    watch.abort(ctx, by, anonymous=True)


def acts(kind: type[Made]) -> dict[str, Any]:
    return {name: act for name, act in vars(kind).items() if not name.startswith("_") and name != "abort_later"}


BEHAVIOURS = acts(Stubborn) | acts(Aborting)
stubborn = st.dictionaries(st.sampled_from(LEVELS), st.sampled_from(sorted(acts(Stubborn))), min_size=1)
aborting = st.dictionaries(st.sampled_from(LEVELS), st.sampled_from(sorted(acts(Aborting))), min_size=1, max_size=1)
in_the_body = st.just(dict[str, str]())


@st.composite
def stacks(draw: st.DrawFn) -> list[Mapping[str, str]]:
    """One to four stubborn middleware, and among them one or two that abort."""
    stack: list[Mapping[str, str]] = draw(st.lists(stubborn, min_size=1, max_size=4))
    for _ in range(draw(st.integers(1, 2))):
        stack.insert(draw(st.integers(0, len(stack))), draw(aborting))
    return stack


class Theatre:
    """An agent whose turn calls two tools at once, twice, and answers."""

    def __init__(self, stack: Iterable[Mapping[str, str]], *, in_a_tool: bool) -> None:
        self.watch, self.in_a_tool = Watch(), in_a_tool
        self.model = FunctionModel(self._reply)
        self.rounds = 2
        kinds = [type("Layer", (Aborting,), {level: BEHAVIOURS[act] for level, act in spec.items()}) for spec in stack]
        self.agent = Agent(
            self.model,
            tools=self._tools(),
            use=[kind(f"m{n}", self.watch) for n, kind in enumerate(kinds)],
        )

    async def _reply(self, request: ModelRequest) -> AsyncIterator[Any]:
        self.watch.started.append("model")
        parts: list[Any] = []
        for _ in range(3):
            delta = TextDelta(self.watch.text())
            parts.append(Text(delta.text))
            await asyncio.sleep(0)
            yield delta
        if self.rounds:
            self.rounds -= 1
            parts += [call("slow").replace(id=f"a{self.rounds}"), call("stop").replace(id=f"b{self.rounds}")]
        yield End(ModelResponse(Message("assistant", parts)))

    def _tools(self) -> list[Any]:
        @tool
        async def slow() -> str:
            """Take a while."""
            self.watch.started.append("slow")
            await give_way(4)
            return "slowly"

        @tool
        async def stop(ctx: ToolContext) -> str:
            """Maybe stop everything."""
            self.watch.started.append("stop")
            await give_way(2)
            if self.in_a_tool:
                self.watch.abort(ctx, "tool stop")
            return "not stopped"

        return [slow, stop]


async def run(session: Session, seen: list[str]) -> None:
    await session.run("go")


async def stream(session: Session, seen: list[str]) -> None:
    async with session.stream("go") as events:
        async for event in events:
            if isinstance(event, TextDelta):
                seen.append(event.text)
            assert not isinstance(event, End) or event.result is not None


async def play(theatre: Theatre, how: Any) -> None:
    """Run a turn; if it was aborted, check that the abort held."""
    watch, seen = theatre.watch, list[str]()
    async with theatre.agent, theatre.agent.session() as session, no_leaks():
        with nothing_lost():
            got = await ended(asyncio.create_task(how(session, seen)))
            await give_way(8)
            await asyncio.gather(*watch.helpers, return_exceptions=True)
        [end] = session.log.of(TurnEnded)
        check_history(session.history)
        counted("aborted" if watch.aborted else "not aborted")
        if watch.aborted is None:
            assert got is None
            assert end.status == "completed"
            return
        reason, by, told, started = watch.aborted
        assert isinstance(got, TurnAbortedError), repr(got)
        assert (end.status, end.reason, end.by) == ("aborted", reason, got.by)
        assert got.reason == reason
        assert got.by in by
        assert watch.started[started:] == []
        assert [text for text in seen if int(text) > told] == []


MANY = settings(max_examples=300, derandomize=True)


@MANY
@given(stack=stacks(), in_a_tool=st.booleans(), slow=st.booleans())
async def test_an_abort_holds_in_a_turn_that_is_streamed(
    stack: list[Mapping[str, str]], in_a_tool: bool, slow: bool
) -> None:
    with mock.patch("agent_express.stream.ROOM", 1 if slow else 64):
        await play(Theatre(stack, in_a_tool=in_a_tool), stream)


@MANY
@given(stack=stacks(), in_a_tool=st.booleans())
async def test_an_abort_holds_in_a_turn_that_is_run(stack: list[Mapping[str, str]], in_a_tool: bool) -> None:
    await play(Theatre(stack, in_a_tool=in_a_tool), run)
