"""What a scripted model says: from the short forms of a test to deltas and a response. Pure functions.

A reply is one of

    "It is 12 °C."                         text, streamed word by word
    ["pen", "guin"] inside Say(...)        text, streamed in exactly these pieces
    [call("weather", city="Oslo")]         tool calls, or parts of any kind
    Message("assistant", ...)              a message as it is
    ModelResponse(...)                     a response as it is, with its ids, usage and finish reason
    RateLimitError("slow down")            raised
    Say("Hel lo", error=..., fail_after=1) all the rest: usage, reasoning, a pause, a stream that breaks off
"""

from __future__ import annotations

import json
import re
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

from ..events import Event, ReasoningDelta, TextDelta, ToolCallDelta
from ..messages import (
    FinishReason,
    Json,
    Message,
    ModelRequest,
    ModelResponse,
    Part,
    Reasoning,
    Text,
    ToolCall,
    ToolResult,
    Usage,
)


class Waitable(Protocol):
    """What a reply can pause for: an `asyncio.Event`, an `asyncio.Barrier`."""

    def wait(self) -> Awaitable[object]:
        """Return once the reply may go on."""
        ...


@dataclass(frozen=True, slots=True)
class Say:
    """One answer in detail: `Say("It is 12 °C.", usage=Usage(9, 4))`.

    Reasoning is streamed first, then the text, then the tool calls.

    Attributes:
        text: Streamed word by word; a list of strings is streamed in these pieces.
        calls: The tools to call.
        reasoning: Thinking, streamed before the text.
        usage: None counts words, see `counted_usage`.
        finish_reason: None is "tool_calls" with calls, else "stop".
        delay: The stream pauses here for `delay.wait()`: an event that the test sets, a barrier where both meet.
        delay_after: Deltas sent before the pause.
        error: Raised in place of `End`.
        fail_after: Deltas sent before *error* is raised; None: all of them.
    """

    text: str | Sequence[str] = ""
    calls: Sequence[ToolCall] = ()
    reasoning: str | Reasoning = ""
    usage: Usage | None = None
    finish_reason: FinishReason | None = None
    delay: Waitable | None = None
    delay_after: int = 0
    error: BaseException | None = None
    fail_after: int | None = None

    def __post_init__(self) -> None:
        if self.fail_after is not None and self.error is None:
            raise ValueError(f"Say: fail_after={self.fail_after} says when, error= must say what is raised")


Reply: TypeAlias = str | Say | ModelResponse | Message | ToolCall | Sequence[str | Part] | BaseException


@dataclass(frozen=True, slots=True)
class Play:
    """A reply, ready to be streamed.

    Attributes:
        deltas: All of them, in order.
        response: What `End` carries.
        error: Raised in place of `End`, after *stop* deltas.
        stop: How many deltas are sent.
        delay: What to wait for, after *pause* deltas.
        pause: How many deltas are sent before the wait.
    """

    deltas: tuple[Event, ...]
    response: ModelResponse
    error: BaseException | None
    stop: int
    delay: Waitable | None
    pause: int


def call(name: str, /, **args: Any) -> ToolCall:
    """Return the call of the tool *name* with *args*, without an id: the scripted model numbers it."""
    return ToolCall("", name, json.dumps(args, ensure_ascii=False))


def play(reply: Reply, request: ModelRequest, new_id: Callable[[], str]) -> Play:
    """Turn *reply* into deltas and a response; calls without an id get a *new_id*, except in a `ModelResponse`.

    Raises:
        TypeError: It is none of the forms above.
    """
    if isinstance(reply, BaseException):
        reply = Say(error=reply)
    if isinstance(reply, ModelResponse):
        return _played(Say(), deltas_of(reply.message), reply)
    say = reply if isinstance(reply, Say) else Say()
    message = _with_ids(_message(reply), new_id)
    usage = say.usage if say.usage is not None else counted_usage(request, message)
    finish = say.finish_reason or ("tool_calls" if message.tool_calls else "stop")
    pieces = None if isinstance(say.text, str) else say.text
    return _played(say, deltas_of(message, pieces), ModelResponse(message, usage, finish))


def _played(say: Say, deltas: Sequence[Event], response: ModelResponse) -> Play:
    stop = len(deltas) if say.fail_after is None else say.fail_after
    if max(stop, say.delay_after) > len(deltas):
        raise ValueError(f"{say!r} has {len(deltas)} deltas: fail_after and delay_after cannot lie beyond them")
    return Play(tuple(deltas), response, say.error, stop, say.delay, say.delay_after)


def _message(reply: Reply) -> Message:
    match reply:
        case Message():
            return reply
        case Say():
            return Message("assistant", tuple(_said(reply)))
        case str():
            return Message("assistant", _texts(reply))
        case ToolCall():
            return Message("assistant", (reply,))
        case list() | tuple():
            return Message("assistant", [part for each in reply for part in _part(each)])
        case _:
            raise TypeError(f"a model cannot answer with {reply!r} ({type(reply).__name__}): {EXPECTED}")


EXPECTED = "expected text, Say, tool calls or other parts, Message, ModelResponse, or an exception instance"


def _said(say: Say) -> Iterator[Part]:
    if say.reasoning:
        yield say.reasoning if isinstance(say.reasoning, Reasoning) else Reasoning(say.reasoning)
    yield from _texts(say.text if isinstance(say.text, str) else "".join(say.text))
    yield from say.calls


def _part(each: object) -> tuple[Part, ...]:
    if isinstance(each, str):
        return _texts(each)
    if not isinstance(each, Part):
        raise TypeError(f"a model cannot answer with a list that holds {each!r}: expected strings and parts")
    return (each,)


def _texts(text: str) -> tuple[Text, ...]:
    return (Text(text),) if text else ()


def _with_ids(message: Message, new_id: Callable[[], str]) -> Message:
    if all(part.id for part in message.tool_calls):
        return message
    parts = [part.replace(id=new_id()) if type(part) is ToolCall and not part.id else part for part in message.parts]
    return message.replace(parts=tuple(parts))


# --- deltas -------------------------------------------------------------------------------------


def deltas_of(message: Message, pieces: Sequence[str] | None = None) -> list[Event]:
    """Return the deltas that a provider would have streamed for *message*, text in *pieces* or word by word."""
    deltas: list[Event] = []
    index = 0
    for part in message.parts:
        match part:
            case Text(text=text):
                deltas += [TextDelta(piece) for piece in (words(text) if pieces is None else pieces)]
            case Reasoning(text=text):
                deltas += [ReasoningDelta(piece) for piece in words(text)]
            case ToolCall():
                deltas += _call_deltas(index, part)
                index += 1
            case _:
                pass
    return deltas


def _call_deltas(index: int, part: ToolCall) -> list[Event]:
    """The name comes first with half of the arguments: who collects them must be able to join."""
    half = (len(part.args) + 1) // 2 if len(part.args) > 2 else len(part.args)
    first = ToolCallDelta(index, part.args[:half], part.id, part.name)
    return [first, ToolCallDelta(index, part.args[half:])] if part.args[half:] else [first]


def words(text: str) -> list[str]:
    """Split *text* before each gap between words; joined again they equal *text*."""
    return re.findall(r"\s*\S+|\s+", text)


# --- usage --------------------------------------------------------------------------------------


def counted_usage(request: ModelRequest, message: Message) -> Usage:
    """Count words, split at white space, in place of tokens.

    Input: the system prompt and every text, argument, result and reasoning of the messages; output: the same of the
    answer; `reasoning_tokens`: its reasoning. Tools, settings and pictures count nothing; cache counts are None.
    """
    asked = len(request.system_text.split()) + sum(_count(each) for each in request.messages)
    thought = sum(len(part.text.split()) for part in message.parts if isinstance(part, Reasoning))
    return Usage(asked, _count(message), reasoning_tokens=thought)


def _count(message: Message) -> int:
    return sum(len(_readable(part).split()) for part in message.parts)


def _readable(part: Part) -> str:
    match part:
        case Text(text=text) | Reasoning(text=text) | Json(text=text) | ToolResult(text=text):
            return text
        case ToolCall(args=args):
            return args
        case _:
            return ""
