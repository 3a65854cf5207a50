"""The agent that the middleware under test stands in: a scripted model, tools of both kinds, a probe on either side.

A turn "Please look up Oslo." takes one model call that asks for tools, the tools, and one model call that answers.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import deque
from collections.abc import AsyncIterator, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from agent_express import Agent, End, Event, Message, ModelRequest, Session, TextDelta, Tool, ToolCall, tool
from agent_express.events import ToolReturned
from agent_express.messages import Text
from agent_express.middleware import Entry, Usable
from agent_express.testing import FunctionModel, Say, snapshot

from .failure import told
from .probes import Inner, Outer, StandIn
from .samples import sample
from .subject import Subject

_ASKED = re.compile(r"look up (\w+)")
AGAIN = "And now?"


def question(word: str = "Oslo") -> str:
    """What the user says to set everything going."""
    return f"Please look up {word}."


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a turn ended, so that two of them can be compared.

    Attributes:
        answer: The answer's text; empty without one.
        error: What was raised instead, by kind and text; empty without.
        raised: The error itself.
        streamed: What the deltas of its last answer add up to; None where nobody listened.
    """

    answer: str = ""
    error: str = ""
    raised: Exception | None = None
    streamed: str | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Outcome) and (self.answer, self.error) == (other.answer, other.error)

    def __hash__(self) -> int:
        return hash((self.answer, self.error))

    def __str__(self) -> str:
        return self.error or repr(self.answer)


class Scene:
    """An agent around one new object of the middleware under test.

    Args:
        subject: What is tested.
        outside: Neighbours further out.
        inside: Neighbours further in.
        one_by_one: Whether the scene's own tools run one after the other, so that two runs can be compared.
        thing: The object, where it is there already.

    Attributes:
        thing: The middleware.
        entry: What the core reads off it.
        outer: The probe around it.
        inner: The probe inside of it.
        model: Answers by what it is asked.
        failures: What the model raises instead of its next answers.
        words: How many words the model adds to its answers.
    """

    def __init__(
        self,
        subject: Subject,
        *,
        outside: Sequence[Usable] = (),
        inside: Sequence[Usable] = (),
        one_by_one: bool = False,
        suspend: bool = True,
        thing: Any = None,
    ) -> None:
        self.thing = subject.make() if thing is None else thing
        self.entry = subject.entry_of(self.thing)
        self.outer, self.inner = Outer(), Inner()
        self.failures: deque[Exception] = deque()
        self.words = 0
        self.model = FunctionModel(self._reply, name="conformance", suspend=suspend)
        needs_outside, needs_inside = stand_ins(self.entry)
        around: list[Usable] = [*outside, *subject.outside(), *needs_outside, self.outer]
        within: list[Usable] = [self.inner, *needs_inside, *subject.inside(), *inside]
        self.agent = Agent(self.model, name="conformance", tools=_tools(one_by_one), use=[*around, self.thing, *within])

    def _reply(self, request: ModelRequest) -> Any:
        if self.failures:
            return Say("It is", error=self.failures.popleft())
        if request.output is not None:
            return json.dumps(sample(request.output.schema))
        word = _asked(request.messages)
        if word is None:
            return "Fine."
        calls = [_call(each.name, each.parameters, word) for each in request.tools]
        if calls and _is_new(request.messages):
            return Message("assistant", [Text(f"I look up {word}."), *_numbered(calls)])
        return f"{word} is fine.{' Very.' * self.words}"

    def forget(self) -> None:
        """Let go of what has passed so far, and of failures that nobody met."""
        self.outer.passages.clear()
        self.inner.requests.clear()
        self.model.requests.clear()
        self.failures.clear()

    @property
    def sent(self) -> Any:
        """What the model was sent, call by call, as comparable JSON: messages and system prompt."""
        return snapshot([[list(each.messages), list(each.system)] for each in self.model.requests])


def stand_ins(entry: Entry) -> tuple[list[Usable], list[Usable]]:
    """What takes the place of the middleware that *entry* requires: those outside of it, those inside."""
    outside = [StandIn(name) for name in entry.order.requires if name not in entry.order.outside]
    inside = [StandIn(name) for name in entry.order.requires if name in entry.order.outside]
    return list(outside), list(inside)


async def run(session: Session, text: str, *, stream: bool = False) -> Outcome:
    """Run a turn to its end, whatever it is; only a cancellation is raised."""
    try:
        if not stream:
            return Outcome((await session.run(text)).text)
        async with session.stream(text) as events:
            streamed = ""
            async for event in events:
                if isinstance(event, TextDelta):
                    streamed += event.text
                elif isinstance(event, ToolReturned):  # what was said before it is no part of the answer
                    streamed = ""
            return Outcome(events.answer.text, streamed=streamed)
    except Exception as error:
        return Outcome(error=told(error), raised=error)


def trace_of(entries: Iterable[Event]) -> list[Any]:
    """The entries of a log as comparable JSON, without the names of the stack."""
    return [_without_stack(each) for each in snapshot(list(entries))]


def _without_stack(entry: Any) -> Any:
    return {key: value for key, value in entry.items() if key != "stack"} if isinstance(entry, dict) else entry


# --- what the model goes by -----------------------------------------------------------------------


def _asked(messages: Sequence[Message]) -> str | None:
    """The word that the last question asks for."""
    for message in reversed(messages):
        if message.role == "user":
            if AGAIN in message.text:
                return None
            found = _ASKED.search(message.text)
            if found is not None:
                return found[1]
    return None


def _is_new(messages: Sequence[Message]) -> bool:
    """Whether the last question has not been worked on yet."""
    for message in reversed(messages):
        if message.role in ("assistant", "tool"):
            return False
        if _ASKED.search(message.text):
            return True
    return False


def _call(name: str, schema: Any, word: str) -> ToolCall:
    args = {"place": word} if name in OWN_TOOLS else sample(schema) or {}
    return ToolCall("", name, json.dumps(args))


def _numbered(calls: Sequence[ToolCall]) -> list[ToolCall]:
    return [call.replace(id=f"call-{number}") for number, call in enumerate(calls)]


OWN_TOOLS = ("conformance_look_up", "conformance_tell")


def _tools(one_by_one: bool) -> list[Tool]:
    @tool(name=OWN_TOOLS[0], concurrent=not one_by_one)
    async def look_up(place: str) -> str:
        """Look up a place."""
        return f"{place}: 12 degrees"

    @tool(name=OWN_TOOLS[1], concurrent=not one_by_one)
    async def tell(place: str) -> AsyncIterator[str | End[str]]:
        """Tell of a place, bit by bit."""
        yield "half"
        for _ in range(3):  # so that a hook which takes its time has to wait for the rest all the same
            await asyncio.sleep(0)
        yield End(f"{place}: a town")

    return [look_up, tell]
