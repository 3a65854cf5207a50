"""One agent with a random stack of middleware, tools of every kind, and an observer that checks the order."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st
from packages.core.tests.stacks import Notes, Spec, made, where

from agent_express import Agent, End, Limits, ModelRequest, ToolContext, tool
from agent_express.errors import RateLimitError
from agent_express.testing import FunctionModel, Say, call


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


def entries(lines: list[str]) -> Counter[str]:
    """How often each hook was entered."""
    return Counter(line for line in lines if line.endswith(": entered") and " body:" not in line)


scripts = st.lists(st.sampled_from(SCRIPT), max_size=5)
# Of two tools at once, one may stop the other: how far that one got is a matter of pace.
one_by_one = st.lists(st.sampled_from([kind for kind in SCRIPT if not kind.endswith("tools")]), max_size=5)
