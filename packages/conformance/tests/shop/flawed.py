"""Middleware with one flaw each; the class is named after the check that catches it."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import tempfile
import threading
from collections.abc import AsyncIterator
from contextlib import suppress
from contextvars import ContextVar
from pathlib import Path
from typing import Any, ClassVar

from pydantic import BaseModel

from agent_express import (
    AgentContext,
    End,
    Event,
    Events,
    Message,
    Middleware,
    ModelContext,
    ModelResponse,
    Next,
    SessionContext,
    TextDelta,
    ToolContext,
    ToolResult,
    TurnContext,
    tool,
)
from agent_express.stream import sink


class Plain(Middleware):
    """Pass a model call on."""

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        return await next()


# --- exemptions -----------------------------------------------------------------------------------


class ExemptFromNothing(Plain):
    """Be exempt from a check that does not exist."""


class ExemptWithoutReason(Plain):
    """Be exempt without a reason."""


# --- settings -------------------------------------------------------------------------------------


class NeedsWhatNobodyGives(Plain):
    """Need a setting of which there is no example."""

    def __init__(self, limit: int) -> None:
        self.limit = limit


class RefusesItsExample(Plain):
    """Refuse its own example."""

    def __init__(self, limit: int = 5) -> None:
        if limit > 10:
            raise ValueError(f"limit must be at most 10, got {limit}")
        self.limit = limit


class Shifting(BaseModel):
    """Settings that are not what they were after a trip through JSON."""

    limit: int = 1

    def model_post_init(self, context: Any) -> None:
        """Count one up."""
        self.limit += 1


class ChangesItsSettings(Plain):
    """Have settings that change each time they are read."""

    Config = Shifting

    def __init__(self, config: Shifting) -> None:
        self.config = config


# --- signatures -----------------------------------------------------------------------------------


class LacksNext:
    """Have a hook without `next`."""

    async def model(self, ctx: ModelContext) -> None:
        """Forget a parameter."""


class IsNotAsync:
    """Have a hook that is not async."""

    def turn(self, ctx: TurnContext, next: Next[None]) -> None:
        """Forget a word."""


_ONLY: list[Plain] = []


def one_for_all() -> Any:
    """Give the same object each time."""
    if not _ONLY:
        _ONLY.append(Plain())
    return _ONLY[0]


# --- manifest -------------------------------------------------------------------------------------


class SaysOtherHooks(Plain):
    """Say in its manifest that it has a turn hook."""


class HasNoManifest(Plain):
    """Be published without a manifest."""


class NeedsItsManifest(Plain):
    """Need a setting, and have no manifest with an example of it."""

    def __init__(self, limit: int) -> None:
        self.limit = limit


class HidesItsState(Plain):
    """Leave its state out of its manifest."""

    class Kept(BaseModel):
        """What it keeps."""

        count: int = 0

    state = Kept


# --- lifecycle ------------------------------------------------------------------------------------


class DisposesOnce(Plain):
    """Fail where there is nothing to give back."""

    def __init__(self) -> None:
        self.open: list[str] = []

    async def init(self, ctx: AgentContext) -> None:
        self.open.append("client")

    async def dispose(self) -> None:
        self.open.pop()


class OpensOnce(Plain):
    """Be of no use after it was closed."""

    def __init__(self) -> None:
        self.closed = False

    async def init(self, ctx: AgentContext) -> None:
        if self.closed:
            raise RuntimeError("closed for good")

    async def dispose(self) -> None:
        self.closed = True


class ForgetsTheFirst(Plain):
    """Lose what the first of two inits took."""

    task: asyncio.Task[Any] | None = None

    async def init(self, ctx: AgentContext) -> None:
        self.task = asyncio.create_task(asyncio.sleep(1_000_000))

    async def dispose(self) -> None:
        task, self.task = self.task, None
        if task is not None:
            task.cancel()
            await asyncio.wait([task])


class LeavesHalfAnInit(Plain):
    """Leave a task behind where its init is cancelled."""

    def __init__(self) -> None:
        self.tasks: list[asyncio.Task[Any]] = []

    async def init(self, ctx: AgentContext) -> None:
        task = asyncio.create_task(asyncio.sleep(1_000_000))
        await asyncio.sleep(0)
        self.tasks.append(task)

    async def dispose(self) -> None:
        while self.tasks:
            task = self.tasks.pop()
            task.cancel()
            await asyncio.wait([task])


class CannotBeOpened(Plain):
    """Fail to open."""

    async def init(self, ctx: AgentContext) -> None:
        raise RuntimeError("there is no server")


class LeavesAThread(Plain):
    """Start a thread that nobody ends."""

    over: ClassVar[threading.Event] = threading.Event()  # the test sets it when all is over

    async def init(self, ctx: AgentContext) -> None:
        threading.Thread(target=self.over.wait, daemon=True).start()


# --- ordinary-turns -------------------------------------------------------------------------------


class FailsEachTurn(Plain):
    """Fail before anything has happened."""

    async def turn(self, ctx: TurnContext, next: Next[None]) -> None:
        raise LookupError("the book is not open")


class FailsEachModelCall(Middleware):
    """Fail before the model is called."""

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        raise LookupError("the book is not open")


class FailsEachToolCall(Plain):
    """Fail before the tool is called."""

    async def tool(self, ctx: ToolContext, next: Next[ToolResult]) -> ToolResult:
        raise LookupError("the book is not open")


class FailsAtTheFirstDelta(Plain):
    """Fail in the midst of a stream."""

    async def model(  # type: ignore[override]
        self, ctx: ModelContext, next: Next[ModelResponse]
    ) -> AsyncIterator[Event | End[ModelResponse]]:
        async for event in next():
            yield event
            if isinstance(event, TextDelta):
                raise LookupError("the book is not open")


class FailsLater(Plain):
    """Fail in every turn but the first."""

    async def turn(self, ctx: TurnContext, next: Next[None]) -> None:
        if ctx.turn_index > 0:
            raise LookupError("the book is not open any more")
        await next()


class KeepsWhereNothingCanBe(Plain):
    """Write state that it does not declare, in a way that there is not."""

    async def turn(self, ctx: TurnContext, next: Next[None]) -> None:
        ctx.state["hidden"] = 1  # type: ignore[index]
        await next()


class KeepsWhatDoesNotFit(Plain):
    """Write text where it has declared a number."""

    class Counted(BaseModel):
        """What it counts."""

        count: int = 0

    state = Counted

    async def turn(self, ctx: TurnContext, next: Next[None]) -> None:
        ctx.state[self].count = "many"  # type: ignore[assignment]
        await next()


class CallsWhatIsNotThere(Middleware):
    """Add a tool in a model call, which has no method for that."""

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        ctx.add_tool(Plain)  # type: ignore[attr-defined]
        return await next()


# --- lets-through ---------------------------------------------------------------------------------


class StopsEachTurn(Plain):
    """Abort whatever is asked."""

    async def turn(self, ctx: TurnContext, next: Next[None]) -> None:
        ctx.abort("not today")


class StopsTheSecondTurn(Plain):
    """Have a limit that no conversation keeps."""

    async def turn(self, ctx: TurnContext, next: Next[None]) -> None:
        if ctx.turn_index > 0:
            ctx.abort("one turn is enough")
        await next()


class RefusesEachTool(Plain):
    """Deny every call of a tool."""

    async def tool(self, ctx: ToolContext, next: Next[ToolResult]) -> ToolResult:
        return ctx.deny("not today")


# --- next-once ------------------------------------------------------------------------------------


class AsksAgain(Plain):
    """Ask twice on purpose, and not say so."""

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        first = await next()
        if not first.message.tool_calls:
            return first
        return await next.again()


class CallsNextTwice(Plain):
    """Call next() after it has succeeded."""

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        await next()
        return await next()


class RetriesModels(Plain):
    """Retry a model that failed, and not say so."""

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        from agent_express.errors import ModelError

        try:
            return await next()
        except ModelError:
            return await next()


class RepeatsTheTurn(Plain):
    """Send the model back to work, and not say so."""

    async def turn(self, ctx: TurnContext, next: Next[None]) -> None:
        await next()
        await next.again()


class NamesNoHook(Plain):
    """Declare that a hook which it has not may call next() more than once."""


# --- result-passes --------------------------------------------------------------------------------


class Shouts(Plain):
    """Change every answer."""

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        response = await next()
        if response.message.tool_calls:
            return response
        return response.replace(message=Message("assistant", f"{response.message.text}!"))


class ForgetsToReturn(Plain):
    """Return nothing."""

    async def tool(self, ctx: ToolContext, next: Next[ToolResult]) -> Any:
        await next()


class FailsAfterwards(Plain):
    """Fail after all went well."""

    async def turn(self, ctx: TurnContext, next: Next[None]) -> None:
        await next()
        raise LookupError("the book is not open")


class FailsAfterwardsLater(Plain):
    """Fail after all went well, in every turn but the first."""

    async def turn(self, ctx: TurnContext, next: Next[None]) -> None:
        await next()
        if ctx.turn_index > 0:
            raise LookupError("the book is not open any more")


class StreamsOtherText(Middleware):
    """Change the deltas and not the answer."""

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> AsyncIterator[Event | End[ModelResponse]]:
        async for event in next():
            yield TextDelta(f"{event.text}!") if isinstance(event, TextDelta) else event


class StreamsNothing(Middleware):
    """Drop the deltas and hand on the answer."""

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> AsyncIterator[Event | End[ModelResponse]]:
        async for event in next():
            if not isinstance(event, TextDelta):
                yield event


# --- exception-passes -----------------------------------------------------------------------------


class Swallows(Plain):
    """Answer in place of any failure."""

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        try:
            return await next()
        except Exception:
            return ModelResponse(Message("assistant", "Nothing to see here."))


class Disguises(Plain):
    """Raise something of its own instead."""

    async def tool(self, ctx: ToolContext, next: Next[ToolResult]) -> ToolResult:
        try:
            return await next()
        except Exception as error:
            raise ValueError("something went wrong") from error


class StreamSwallows(Plain):
    """End a stream that failed as if it had not."""

    async def turn(self, ctx: TurnContext, next: Next[Any]) -> AsyncIterator[Event | End[Any]]:
        try:
            async for event in next():
                yield event
        except Exception:
            yield End(Message("assistant", "Nothing to see here."))


# --- cancel-passes --------------------------------------------------------------------------------


class IgnoresCancel(Plain):
    """Answer in place of a cancellation."""

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        try:
            return await next()
        except asyncio.CancelledError:
            return ModelResponse(Message("assistant", "Not now."))


class DisguisesCancel(Plain):
    """Make a failure of a cancellation."""

    async def tool(self, ctx: ToolContext, next: Next[ToolResult]) -> ToolResult:
        try:
            return await next()
        except asyncio.CancelledError:
            raise LookupError("somebody went away") from None


# --- cancelled-anywhere ---------------------------------------------------------------------------


class LeavesATask(Plain):
    """Leave a task behind, unless all goes well."""

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        watch = asyncio.create_task(asyncio.sleep(1_000_000))
        response = await next()
        watch.cancel()
        return response


class LeavesAGenerator(Plain):
    """Leave a generator open, unless all goes well."""

    def __init__(self) -> None:
        self.held: list[Any] = []

    async def _numbers(self) -> AsyncIterator[int]:
        while True:
            await asyncio.sleep(0)
            yield 1

    async def tool(self, ctx: ToolContext, next: Next[ToolResult]) -> ToolResult:
        numbers: Any = self._numbers()
        self.held.append(numbers)
        await anext(numbers)
        result = await next()
        await numbers.aclose()
        return result


class LeavesAStream(Plain):
    """Leave a generator around the stream open where the client goes in the middle of it."""

    def __init__(self) -> None:
        self.held: list[Any] = []

    async def _passing(self, next: Next[ModelResponse]) -> AsyncIterator[Any]:
        async for event in next():
            yield event

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> Events[ModelResponse]:
        passing = self._passing(next)
        self.held.append(passing)
        async for event in passing:
            yield event


class LosesAFailure(Plain):
    """Start a task whose failure nobody hears of."""

    async def turn(self, ctx: TurnContext, next: Next[None]) -> None:
        done = asyncio.get_running_loop().create_future()
        try:
            await asyncio.sleep(0)
            await next()
        except asyncio.CancelledError:
            done.set_exception(LookupError("nobody hears of this"))
            raise


class LeavesATaskOfTheSession(Plain):
    """Leave a task behind where the session is cancelled while it opens."""

    async def session(self, ctx: SessionContext, next: Next[None]) -> None:
        watch = asyncio.create_task(asyncio.sleep(1_000_000))
        await asyncio.sleep(0)
        try:
            await next()
        finally:
            watch.cancel()


class ForgetsWhileItWaitsToRetry(Plain):
    """Leave a task behind where it is cancelled in the pause before it tries again."""

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        from agent_express.errors import ModelError

        try:
            return await next()
        except ModelError:
            watch = asyncio.create_task(asyncio.sleep(1_000_000))
            await asyncio.sleep(1)
            watch.cancel()
        return await next()


# --- end-passes -----------------------------------------------------------------------------------


class DropsTheEnd(Plain):
    """End a stream without End."""

    async def model(  # type: ignore[override]
        self, ctx: ModelContext, next: Next[ModelResponse]
    ) -> AsyncIterator[Event | End[ModelResponse]]:
        async for event in next():
            if isinstance(event, TextDelta):
                yield event


class DropsTheEndOfTools(Plain):
    """End the stream of a tool without End."""

    async def tool(self, ctx: ToolContext, next: Next[ToolResult]) -> AsyncIterator[Event | End[ToolResult]]:
        async for event in next():
            if not isinstance(event, End):
                yield event


class GoesOnAfterTheEnd(Plain):
    """Go on after the End."""

    async def turn(self, ctx: TurnContext, next: Next[Any]) -> AsyncIterator[Event | End[Any]]:
        async for event in next():
            yield event
        yield TextDelta("one more thing")


# --- declared-only --------------------------------------------------------------------------------


class Whispered(Event, type="flawed:whispered"):
    """Something was whispered."""

    text: str


class Whispers(Plain):
    """Emit an event that it does not declare."""

    async def turn(self, ctx: TurnContext, next: Next[None]) -> None:
        await ctx.emit(Whispered("psst"))
        await next()


class WhispersInTheStream(Plain):
    """Yield an event that it does not declare."""

    async def turn(self, ctx: TurnContext, next: Next[Any]) -> AsyncIterator[Event | End[Any]]:
        yield Whispered("psst")
        async for event in next():
            yield event


class KeepsInSecret(Plain):
    """Write state that it does not declare."""

    async def turn(self, ctx: TurnContext, next: Next[None]) -> None:
        ctx.state.hidden = 1
        await next()


class KeepsInSecretLater(Plain):
    """Write state that it does not declare, in the third turn."""

    async def turn(self, ctx: TurnContext, next: Next[None]) -> None:
        if ctx.turn_index > 1:
            ctx.state.hidden = 1
        await next()


class BringsATool(Plain):
    """Register a tool that it does not declare."""

    async def init(self, ctx: AgentContext) -> None:
        @tool
        async def surprise() -> str:
            """Surprise everybody."""
            return "boo"

        ctx.register_tool(surprise)


class BringsAToolLater(Plain):
    """Register a tool that it does not declare, in a session."""

    async def session(self, ctx: SessionContext, next: Next[None]) -> None:
        @tool
        async def surprise_later() -> str:
            """Surprise everybody."""
            return "boo"

        ctx.register_tool(surprise_later)
        await next()


# --- permissions ----------------------------------------------------------------------------------


class Writes(Plain):
    """Write a file that nobody allowed."""

    async def turn(self, ctx: TurnContext, next: Next[None]) -> None:
        (Path(tempfile.gettempdir()) / "agent-express-flawed.txt").write_text("hello", encoding="utf-8")
        await next()


class CallsHome(Plain):
    """Reach for the network, and say nothing where that fails."""

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        with suppress(OSError):
            await asyncio.get_running_loop().getaddrinfo("home.example.org", 443)
        return await next()


class CallsHomeLoudly(Plain):
    """Reach for the network, and fail where that fails."""

    async def turn(self, ctx: TurnContext, next: Next[None]) -> None:
        await asyncio.get_running_loop().getaddrinfo("home.example.org", 443)
        await next()


class Spawns(Plain):
    """Start a process that nobody allowed."""

    async def init(self, ctx: AgentContext) -> None:
        subprocess.run([sys.executable, "-I", "-S", "-c", ""], check=True)


class Reads(Plain):
    """Read a file that nobody allowed."""

    async def turn(self, ctx: TurnContext, next: Next[None]) -> None:
        with suppress(OSError):
            (Path(tempfile.gettempdir()) / "settings.ini").read_text(encoding="utf-8")
        await next()


class CallsNextDoor(Plain):
    """Connect to a server on this machine."""

    async def init(self, ctx: AgentContext) -> None:
        import socket

        with socket.socket() as client, suppress(OSError):
            client.settimeout(1)
            client.connect(("127.0.0.1", 9))


class AsksForTheMoon(Plain):
    """Declare a permission that there is not."""


# --- sessions-apart -------------------------------------------------------------------------------


class KeepsOnSelf(Plain):
    """Keep what belongs to a session on the object."""

    async def turn(self, ctx: TurnContext, next: Next[None]) -> None:
        self.said = ctx.input.text
        await next()

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        ctx.add_system_message(f"The user said: {self.said}")
        return await next()


class CountsForAll(Plain):
    """Count all sessions together, and stop one because of the other."""

    def __init__(self) -> None:
        self.calls = 0

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        self.calls += 1
        if self.calls > 5:
            ctx.abort("too many calls")
        return await next()


class ClosesForAll(Plain):
    """Close at the end of one session what all of them use."""

    def __init__(self) -> None:
        self.book: list[str] | None = None

    async def init(self, ctx: AgentContext) -> None:
        self.book = []

    async def session(self, ctx: SessionContext, next: Next[None]) -> None:
        await next()
        self.book = None

    async def turn(self, ctx: TurnContext, next: Next[None]) -> None:
        if self.book is None:
            raise LookupError("the book is closed")
        await next()


# --- run-is-stream --------------------------------------------------------------------------------


class Noticed(Event, type="flawed:noticed"):
    """Somebody listens."""

    listening: bool


class LooksWhoListens(Plain):
    """Do something else where somebody listens."""

    events = (Noticed,)

    async def turn(self, ctx: TurnContext, next: Next[None]) -> None:
        await ctx.emit(Noticed(sink.get() is not None))
        await next()


class SkipsWhereNobodyListens(Plain):
    """Answer by itself where nobody listens, with what the model would have said."""

    async def tool(self, ctx: ToolContext, next: Next[ToolResult]) -> ToolResult:
        if sink.get() is None:
            return ToolResult("12 degrees")
        return await next()


# --- order-free -----------------------------------------------------------------------------------

_said: ContextVar[str] = ContextVar("flawed_said", default="")


class SpeaksThroughContext(Plain):
    """Hand something out through a context variable, which a neighbour with a task of its own cuts off."""

    async def turn(self, ctx: TurnContext, next: Next[None]) -> None:
        _said.set("")
        await next()
        ctx.deliver(_said.get() or "nothing was said")

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        response = await next()
        _said.set(response.message.text)
        return response


class LooksAtTheStack(Plain):
    """Do something else where others stand around it."""

    class Place(BaseModel):
        """Where it stands."""

        alone: bool = True

    state = Place

    async def turn(self, ctx: TurnContext, next: Next[None]) -> None:
        from agent_express.events import TurnStarted

        stack = ctx.log.of(TurnStarted)[-1].stack
        ctx.state[self].alone = not any(name.endswith(("quiet", "flowing")) for name in stack)
        await next()


# --- own-time -------------------------------------------------------------------------------------


class TakesItsTime(Plain):
    """Take an hour of the clock that the test hands in."""

    now: ClassVar[float] = 0.0

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        TakesItsTime.now += 3_600.0
        return await next()


class WaitsForNothing(Plain):
    """Wait half a second in each model call."""

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        await asyncio.sleep(0.5)
        return await next()
