"""A turn is the same turn whether it is run or streamed: for random stacks, the same hooks, log, history and result."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

from hypothesis import event as counted
from hypothesis import given, settings
from hypothesis import strategies as st
from packages.core.tests.stacks import BEHAVIOURS, HASTY, Broken, Notes, Spec, made, stacks_of, where
from packages.core.tests.stepping import nothing_lost

from agent_express import Agent, End, Event, Limits, ModelRequest, Session, ToolContext, tool
from agent_express.errors import HookError, ModelError, RateLimitError, TurnError
from agent_express.events import TurnEnded
from agent_express.testing import FunctionModel, Say, call, check_history, no_leaks, snapshot


@dataclass
class Observed:
    """What an observer was told, and whether each layer was left before those around it."""

    lines: list[str] = field(default_factory=list)
    open: dict[str, list[str]] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def entered(self, level: str, name: str, ctx: Any) -> None:
        self.lines.append(f"{where(ctx)} {name}: entered")
        self.open.setdefault(where(ctx), []).append(name)

    def left(self, level: str, name: str, ctx: Any, error: BaseException | None) -> None:
        self.lines.append(f"{where(ctx)} {name}: {type(error).__name__ if error is not None else 'returned'}")
        last = self.open[where(ctx)].pop()
        if last != name:
            self.faults.append(f"{name} was left while {last} further in was open ({where(ctx)})")
        if level == "turn" and any(stack for place, stack in self.open.items() if place != "turn"):
            self.faults.append(f"turn hook {name} was left while {self.open} were open")


SCRIPT = ["text", "fail", "fail at once", "one tool", "broken tool", "unknown tool", "two tools", "broken tools"]


def reply(kind: str) -> Any:
    """What the model answers for one item of a script."""
    match kind:
        case "text":
            return "Some words to stream."
        case "fail":
            return Say("Some words", error=RateLimitError("slow down"), fail_after=1)
        case "fail at once":
            return RateLimitError("slow down")
        case "one tool":
            return [call("slow")]
        case "two tools":
            return ["I look.", call("slow"), call("told")]
        case "broken tool":
            return [call("broken")]
        case "broken tools":
            return [call("broken"), call("missing"), call("slow")]
        case _:
            return [call("missing")]


@dataclass
class Trace:
    """All that can be compared of two runs."""

    hooks: list[str]
    observed: list[str]
    log: Any
    history: Any
    result: Any
    requests: int


class Workshop:
    """One agent with a random stack, and what happens in it."""

    def __init__(self, stack: list[Spec], script: list[str], limits: Limits) -> None:
        self.notes, self.observed = Notes(), Observed()
        self.script = [*script]
        self.model = FunctionModel(self._reply, name="workshop")
        middleware = [made(f"m{n}", spec, self.notes) for n, spec in enumerate(stack)]
        self.agent = Agent(self.model, tools=self._tools(), use=middleware, limits=limits)
        self.agent.observe(self.observed)

    def _reply(self, request: ModelRequest) -> Any:
        self.notes.lines.append(f"model called with {len(request.messages)} messages")
        return reply(self.script.pop(0)) if self.script else "Done."

    def _tools(self) -> list[Any]:
        @tool
        async def slow(ctx: ToolContext) -> str:
            """Take a while."""
            with self.notes.of("body", ctx):
                await asyncio.sleep(0)
            return "slowly"

        @tool(idempotent=True)
        async def told(ctx: ToolContext) -> AsyncIterator[str | End[str]]:
            """Tell how far it is."""
            with self.notes.of("body", ctx):
                yield "half"
                yield End("done")

        @tool
        async def broken(ctx: ToolContext) -> str:
            """Fail."""
            with self.notes.of("body", ctx):
                await asyncio.sleep(0)
                raise ValueError("it broke")

        return [slow, told, broken]

    async def trace(self, how: Any) -> Trace:
        """Run one turn and tell everything about it."""
        async with self.agent, self.agent.session("s") as session:
            with nothing_lost():
                async with no_leaks():
                    result = await how(session)
            check_history(session.history)
            assert len(session.log.of(TurnEnded)) == 1
            assert self.observed.faults == [], self.observed.faults
            # A hook that is cancelled before its first step was entered without knowing.
            assert entries(self.notes.lines) <= entries(self.observed.lines)
            return Trace(
                self.notes.lines,
                self.observed.lines,
                snapshot(list(session.log)),
                snapshot(list(session.history)),
                result,
                len(self.model.requests),
            )


def entries(lines: list[str]) -> Counter[str]:
    """How often each hook was entered."""
    return Counter(line for line in lines if line.endswith(": entered") and " body:" not in line)


async def run(session: Session) -> Any:
    try:
        return told(await session.run("go"))
    except (Exception, asyncio.CancelledError) as error:
        return failed(error)


async def stream(session: Session, pauses: int = 0) -> Any:
    seen: list[Event] = []
    try:
        async with session.stream("go") as events:
            async for event in events:
                if not isinstance(event, End):
                    seen.append(event)
                for _ in range(pauses):
                    await asyncio.sleep(0)
            return told(events.answer)
    except (Exception, asyncio.CancelledError) as error:
        return failed(error)
    finally:
        assert isinstance(seen[-1], TurnEnded)
        assert sum(isinstance(event, TurnEnded) for event in seen) == 1


async def stream_slowly(session: Session) -> Any:
    return await stream(session, pauses=2)


def told(answer: Any) -> Any:
    return answer.text, answer.status, answer.limit, repr(answer.usage)


def failed(error: BaseException) -> Any:
    assert isinstance(error, Broken | HookError | TurnError | ModelError), repr(error)
    return type(error).__name__, str(error), getattr(error, "__notes__", [])


scripts = st.lists(st.sampled_from(SCRIPT), max_size=5)
# Of two tools at once, one may stop the other: how far that one got is a matter of pace.
one_by_one = st.lists(st.sampled_from([kind for kind in SCRIPT if not kind.endswith("tools")]), max_size=5)
MANY = settings(max_examples=300, derandomize=True)


@MANY
@given(stack=stacks_of(BEHAVIOURS), script=scripts)
async def test_a_hook_trace_is_the_same_for_run_and_stream(stack: list[Spec], script: list[str]) -> None:
    limits = Limits(max_steps=6)
    ran = await Workshop(stack, script, limits).trace(run)
    streamed = await Workshop(stack, script, limits).trace(stream)
    counted(f"result: {ran.result[0] if 'Error' in ran.result[0] else 'an answer'}")
    assert streamed == ran


@settings(MANY, max_examples=150)
@given(stack=stacks_of(BEHAVIOURS.keys() - HASTY), script=one_by_one)
async def test_a_hook_trace_is_the_same_for_a_client_that_holds_up_every_event(
    stack: list[Spec], script: list[str]
) -> None:
    limits = Limits(max_steps=6)
    ran = await Workshop(stack, script, limits).trace(run)
    with mock.patch("agent_express.stream.ROOM", 1):
        streamed = await Workshop(stack, script, limits).trace(stream_slowly)
    assert streamed == ran
