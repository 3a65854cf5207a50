"""From the events of a turn to what a person is shown, one thing after the other. Pure.

The answer's text goes out as it comes. A line interrupts it: the text before is then over and done with. What is
streamed of a try that starts again is taken back. Nested agents speak in lines of their own, never in the answer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple, TypeAlias

from agent_express import Answer, Event, ReasoningDelta, Restarted, TextDelta, ToolCalled, ToolReturned, TurnEnded
from agent_express.events import ModelCalled, ModelResponded, ToolProgressed

from ..words import printable
from .describe import Line, called, progressed, restarted, returned


class Say(NamedTuple):
    """A piece of the answer."""

    text: str


class Think(NamedTuple):
    """A piece of the model's thinking."""

    text: str


class TakeBack(NamedTuple):
    """What was said since the last line no longer counts; *why* is a remark in brackets."""

    why: str


Shown: TypeAlias = Say | Think | TakeBack | Line


class Narrator:
    """What to show of one turn.

    Args:
        streaming: Whether text is shown while it comes; else the answer comes whole, at the end.
        room: Characters in a line.
    """

    def __init__(self, *, streaming: bool, room: int) -> None:
        self._streaming, self._room = streaming, room
        self._said = ""
        self._is_open = False
        self._nested: dict[str, str] = {}
        self._heard: set[str] = set()
        self._waiting: list[Line] = []

    def feed(self, event: Event) -> Iterator[Shown]:
        """What *event* adds to the screen."""
        if event.path:
            self._waiting += self._nested_lines(event)
            if not self._is_open:  # a nested agent that works beside the model does not tear its text apart
                yield from self._interrupt()
            return
        match event:
            case TextDelta():
                yield from self._text(event.text)
            case ReasoningDelta():
                yield from self._thought(event.text)
            case Restarted():
                yield self._again(event)
                yield from self._interrupt()
            case ModelResponded(purpose=""):
                yield from self._interrupt()
            case ToolCalled() | ToolReturned() | ToolProgressed():
                self._waiting.append(self._line(event))
                yield from self._interrupt()
            case _:
                pass

    def finish(self, answer: Answer[Any]) -> Iterator[Shown]:
        """What is still to be shown of the answer: nothing where it has been streamed as it is."""
        if self._said.strip() != answer.text.strip():
            if self._is_open:
                yield TakeBack("(the answer is another one)")
            if answer.text:
                yield Say(answer.text)
        yield from self._interrupt()

    def _interrupt(self) -> Iterator[Line]:
        """The lines that wait; the text before them is over."""
        if self._waiting:
            self._is_open = False
        waiting, self._waiting = self._waiting, []
        yield from waiting

    # --- the agent itself -------------------------------------------------------------------------

    def _text(self, text: str) -> Iterator[Shown]:
        if not self._streaming or not text:
            return
        if not self._is_open:
            self._said = ""
            text = text.lstrip()
            if not text:
                return
        self._is_open = True
        self._said += text
        yield Say(text)

    def _thought(self, text: str) -> Iterator[Shown]:
        if self._streaming and text:
            self._is_open = False
            yield Think(text)

    def _again(self, event: Restarted) -> Shown:
        line = restarted(event)
        if not self._is_open or event.level == "tool":
            self._is_open = False
            return line
        self._is_open, self._said = False, ""
        return TakeBack(line.text)

    def _line(self, event: ToolCalled | ToolReturned | ToolProgressed) -> Line:
        match event:
            case ToolCalled():
                return called(event, self._room)
            case ToolReturned():
                return returned(event, self._room)
            case ToolProgressed():
                return progressed(event, self._room)

    # --- nested agents ----------------------------------------------------------------------------

    def _nested_lines(self, event: Event) -> Iterator[Line]:
        path = event.path
        match event:
            case TextDelta():
                self._heard.add(path)
                *whole, self._nested[path] = (self._nested.get(path, "") + event.text).split("\n")
                yield from _spoken("\n".join(whole), path)
            case Restarted():
                self._nested.pop(path, None)
                yield restarted(event)
            case ModelCalled():
                self._heard.discard(path)
            case ModelResponded():
                heard = path in self._heard or bool(event.purpose)
                yield from _spoken(self._nested.pop(path, "") if heard else event.response.message.text, path)
            case TurnEnded(status="aborted" | "failed" | "timeout" | "cancelled"):
                self._nested.pop(path, None)
                yield Line(f"({event.status}{f': {event.reason}' if event.reason else ''})", "failure", path)
            case ToolCalled() | ToolReturned() | ToolProgressed():
                yield from _spoken(self._nested.pop(path, ""), path)
                yield self._line(event)
            case _:
                pass


def _spoken(text: str, path: str) -> Iterator[Line]:
    return (Line(printable(line), "nested", path) for line in text.splitlines() if line.strip())
