"""A turn with everything in it, for tests that interrupt it anywhere: hooks of both kinds on all levels, a retry, a
guard in a task group, two tools at once, and a trail that notes whether all of it was tidied up in order.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from agent_express import (
    Agent,
    AgentContext,
    End,
    Event,
    Events,
    Message,
    ModelContext,
    ModelRequest,
    ModelResponse,
    Next,
    Restarted,
    Session,
    SessionContext,
    TextDelta,
    Tool,
    ToolContext,
    ToolResult,
    TurnContext,
    TurnEnded,
    tool,
)
from agent_express.errors import ModelError, RateLimitError
from agent_express.events import MessageInterrupted, ModelResponded, TurnStarted
from agent_express.messages import Text
from agent_express.middleware import Usable
from agent_express.testing import FunctionModel, Say, call, check_history

BODY = 99  # the depth of what is innermost
_where: ContextVar[str] = ContextVar("where", default="outside")


@dataclass(frozen=True)
class Scope:
    """A layer while it runs: its level, which call of that level, and how deep it stands."""

    level: str
    call: str
    depth: int

    def encloses(self, other: Scope) -> bool:
        if self.level == other.level:
            return self.call == other.call and self.depth < other.depth
        levels = ["agent", "session", "turn"]
        return self.level in levels and (other.level not in levels[: levels.index(self.level)])


@dataclass
class Trail:
    """Who is inside, and what went wrong when somebody left."""

    inside: list[Scope] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    entered: list[Scope] = field(default_factory=list)

    def reset(self) -> None:
        """Forget what happened."""
        self.inside.clear()
        self.faults.clear()
        self.entered.clear()

    @contextmanager
    def layer(self, level: str, call: str, depth: int) -> Iterator[None]:
        """Note that a layer is entered and left: the innermost first, in the task and context that entered it."""
        scope, task = Scope(level, call, depth), asyncio.current_task()
        self.inside.append(scope)
        self.entered.append(scope)
        before = _where.set(f"{level} {call} {depth}")
        try:
            yield
        finally:
            self.inside.remove(scope)
            late = [each for each in self.inside if scope.encloses(each)]
            if late:
                self.faults.append(f"{scope} was left before {late}")
            if task is not running_task():
                self.faults.append(f"{scope} was left in another task than it was entered in")
            try:
                _where.reset(before)
            except ValueError:
                self.faults.append(f"{scope} was left in another context than it was entered in")

    @asynccontextmanager
    async def waiting_layer(self, level: str, call: str, depth: int, rounds: int = 1) -> AsyncIterator[None]:
        """The same for a layer whose clean-up takes so many rounds of the loop."""
        with self.layer(level, call, depth):
            try:
                yield
            finally:
                for _ in range(rounds):
                    await asyncio.sleep(0)


def running_task() -> asyncio.Task[Any] | None:
    """The task that runs; None where the garbage collector tidies up after the loop."""
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None


class Around:
    """Hooks that return, on every level."""

    def __init__(self, trail: Trail, depth: int) -> None:
        self.trail, self.depth, self.name = trail, depth, f"around-{depth}"

    async def session(self, ctx: SessionContext, next: Next[None]) -> None:
        async with self.trail.waiting_layer("session", ctx.session_id, self.depth):
            await next()

    async def turn(self, ctx: TurnContext, next: Next[None]) -> None:
        async with self.trail.waiting_layer("turn", ctx.turn_id, self.depth):
            await next()

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        async with self.trail.waiting_layer("model", str(ctx.call_index), self.depth):
            return await next()

    async def tool(self, ctx: ToolContext, next: Next[ToolResult]) -> ToolResult:
        async with self.trail.waiting_layer("tool", ctx.call_id, self.depth):
            return await next()


class Streamed:
    """Hooks that yield, on every level; with *pause* they wait for something of their own between two events."""

    def __init__(self, trail: Trail, depth: int, *, pause: bool) -> None:
        self.trail, self.depth, self.name, self.pause = trail, depth, f"streamed-{depth}", pause

    async def turn(self, ctx: TurnContext, next: Next[Any]) -> Events[Any]:
        async with self.trail.waiting_layer("turn", ctx.turn_id, self.depth):
            async for event in next():
                yield event

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> Events[ModelResponse]:
        async with self.trail.waiting_layer("model", str(ctx.call_index), self.depth):
            async for event in next():
                if self.pause:
                    await asyncio.sleep(0)
                yield event

    async def tool(self, ctx: ToolContext, next: Next[ToolResult]) -> Events[ToolResult]:
        async with self.trail.waiting_layer("tool", ctx.call_id, self.depth):
            async for event in next():
                yield event


class Retry:
    """Calls a model that failed once more."""

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        try:
            return await next()
        except ModelError:
            await asyncio.sleep(0)
        return await next()


class Guarded:
    """Asks a model whether all is well, while the model that was called gives the second answer."""

    QUESTION = "Is this all right?"

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.check(ctx))
            return await next()

    async def check(self, ctx: ModelContext) -> None:
        await asyncio.sleep(0)
        if ctx.call_index == 1:
            await ctx.ask(self.QUESTION, purpose="guard")


class Opened:
    """Notes that the agent is open."""

    def __init__(self, trail: Trail) -> None:
        self.trail = trail
        self.is_open = 0

    async def init(self, ctx: AgentContext) -> None:
        await asyncio.sleep(0)
        self.is_open += 1

    async def dispose(self) -> None:
        self.is_open -= 1
        await asyncio.sleep(0)


class Scene:
    """An agent whose turn "go" takes a failed call, a retry, two tools at once and an answer.

    Attributes:
        trail: What its layers noted.
        model: Answers by what it is asked; `reset` makes it fail again.
        agent: To be opened by the test.
    """

    FAILED, FIRST, ANSWER = "It is", "I will look that up", "Both are done."

    def __init__(self, *, outer: Sequence[Usable] = (), inner: Sequence[Usable] = (), pause: bool = True) -> None:
        self.trail = Trail()
        self.opened = Opened(self.trail)
        self.model = FunctionModel(self._reply, name="scene")
        self.tries = 0
        stack: list[Usable] = [
            self.opened,
            *outer,
            Around(self.trail, 0),
            Streamed(self.trail, 1, pause=pause),
            Retry(),
            Guarded(),
            Streamed(self.trail, 2, pause=pause),
            Around(self.trail, 3),
            *inner,
        ]
        self.agent = Agent(self.model, tools=self._tools(), use=stack)

    def reset(self) -> None:
        """Forget what happened."""
        self.trail.reset()
        self.tries = 0

    def _reply(self, request: ModelRequest) -> Say | Message | str:
        if request.messages[-1].text == Guarded.QUESTION:
            return "Yes."
        if request.messages[-1].role == "tool":
            return self.ANSWER
        if request.messages[-1].text != "go":
            return "Fine."
        self.tries += 1
        if self.tries == 1:
            return Say(self.FAILED, error=RateLimitError("slow down"))
        return Message("assistant", [Text(self.FIRST), call("slow").replace(id="a"), call("told").replace(id="b")])

    def _tools(self) -> list[Tool]:
        @tool
        async def slow(ctx: ToolContext) -> str:
            """Take a while."""
            async with self.trail.waiting_layer("tool", ctx.call_id, BODY):
                await asyncio.sleep(0)
            return "slowly"

        @tool
        async def told(ctx: ToolContext) -> AsyncIterator[str | End[str]]:
            """Tell how far it is."""
            async with self.trail.waiting_layer("tool", ctx.call_id, BODY, rounds=5):
                yield "half"
            yield End("done")

        return [slow, told]


def check_tidy(scene: Scene) -> None:
    """Check that every layer was left, the innermost first, each in its own task and context."""
    assert scene.trail.faults == [], scene.trail.faults
    still = [scope for scope in scene.trail.inside if scope.level != "session"]
    assert still == [], still
    assert scene.model.open_streams == 0


async def check_next_turn(scene: Scene, session: Session) -> None:
    """Check that the history is whole and that the session can go on."""
    check_history(session.history)
    answer = await session.run("again")
    assert answer.text == "Fine."
    check_history(session.history)
    check_history(scene.model.requests[-1].messages)


def endings(session: Session) -> list[str]:
    """How the turns of *session* ended, each exactly once."""
    started, ended = session.log.of(TurnStarted), session.log.of(TurnEnded)
    assert [turn.turn_id for turn in started] == [turn.turn_id for turn in ended]
    return [turn.status for turn in ended]


def check_partial(session: Session, seen: list[Event]) -> None:
    """Check that the history holds, marked, the text of an interrupted answer that a client saw, and no other text."""
    entries = list(session.log)
    last = max(
        (n for n, entry in enumerate(entries) if isinstance(entry, ModelResponded) and not entry.purpose), default=-1
    )
    kept = [entry.message.text for entry in entries[last + 1 :] if isinstance(entry, MessageInterrupted)]
    text = kept[0] if kept else ""
    texts = [Scene.ANSWER] if last >= 0 else [Scene.FIRST, Scene.FAILED]
    assert len(kept) <= 1, kept
    assert any(whole.startswith(text) for whole in texts), text
    assert [message.text for message in session.history if message.mark == "interrupted"] == kept
    if _turns(seen) == _turns(session.log):  # the client is not behind
        assert text.startswith(_text_since_turn(seen)), (text, seen)


def _turns(events: Iterable[Event]) -> int:
    """How often what was said so far became final or was taken back."""
    return sum(map(_is_turn, events))


def _is_turn(event: Event) -> bool:
    return isinstance(event, Restarted) or (isinstance(event, ModelResponded) and not event.purpose)


def _text_since_turn(seen: list[Event]) -> str:
    text = ""
    for event in seen:
        if isinstance(event, TextDelta):
            text += event.text
        elif _is_turn(event):
            text = ""
    return text
