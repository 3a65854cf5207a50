"""History: which message is to be obeyed, and what earlier calls returned."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from agent_express.messages import Audio, File, Image, Message, Text, ToolCall, ToolResult

from ..reading.words import clean
from .results import Group, Outcome, group_of, outcome_of


@dataclass(frozen=True, slots=True)
class Answered:
    """A call of this turn and what came of it.

    Attributes:
        id: The call's id, by which the model knows its own calls again.
        outcome: What came back.
        unreadable: Whether the arguments were no JSON object, so that the tool never saw them.
    """

    id: str
    outcome: Outcome
    unreadable: bool = False


@dataclass(frozen=True, slots=True)
class Turn:
    """What is asked for now, and what is known.

    Attributes:
        text: The newest message of the user.
        orders: What middleware said after a finished answer to send the model back to work, oldest first.
        answered: The calls of this turn, oldest first.
        earlier: What the turns before brought up, the newest first.
        begun: Whether there was an answer before this turn.
        unseen: The parts of the newest message that this model cannot read, such as "a picture".
    """

    text: str
    orders: tuple[str, ...]
    answered: tuple[Answered, ...]
    earlier: tuple[Group, ...]
    begun: bool
    unseen: tuple[str, ...]


def read_turn(messages: Sequence[Message]) -> Turn:
    """Read a conversation, oldest message first; an empty one is an empty turn.

    The message to be obeyed is the newest one that the user said himself. What middleware says beside it (its `origin`
    is set) is not read as commands, unless it comes after an answer: then it is what `continue_turn` sends the model
    back to work with. Where only middleware speaks, the newest of its messages stands for the user's.
    """
    opening = _opening(messages)
    if opening is None:
        return Turn("", (), tuple(_answered(messages)), (), begun=False, unseen=())
    said = messages[opening]
    after = messages[opening + 1 :]
    return Turn(
        clean(said.text),
        tuple(_orders(after)),
        tuple(_answered(after)),
        tuple(reversed(list(_groups(messages[:opening])))),
        any(message.role == "assistant" for message in messages[:opening]),
        tuple(_unseen(said)),
    )


def _opening(messages: Sequence[Message]) -> int | None:
    said = [index for index, message in enumerate(messages) if message.role == "user"]
    own = [index for index in said if not messages[index].origin]
    return own[-1] if own else said[-1] if said else None


def _orders(after: Iterable[Message]) -> Iterator[str]:
    finished = False
    for message in after:
        if message.role == "assistant":
            finished = not message.tool_calls and message.mark != "interrupted"
        elif message.role == "user" and finished:
            yield clean(message.text)


def _unseen(message: Message) -> Iterator[str]:
    for part in message.parts:
        match part:
            case Image():
                yield "a picture"
            case Audio():
                yield "a sound"
            case File():
                yield "a file"
            case Text():
                pass
            case _:
                yield f"a part of kind {getattr(part, 'kind', '?')!r}"


# --- calls and their results ----------------------------------------------------------------------


def _answered(messages: Sequence[Message]) -> Iterator[Answered]:
    for index, message in enumerate(messages):
        if message.role == "assistant" and message.tool_calls:
            yield from _pairs(message, messages[index + 1 :])


def _pairs(message: Message, after: Iterable[Message]) -> Iterator[Answered]:
    """The calls of one message with their results: by id, by place where the id is not among them."""
    results: list[ToolResult] = []
    for following in after:
        if following.role == "assistant":
            break
        results += [part for part in following.parts if isinstance(part, ToolResult)]
    by_id = {result.call_id: result for result in reversed(results) if result.call_id}
    for place, call in enumerate(message.tool_calls):
        result = by_id.get(call.id) or (results[place] if place < len(results) and not by_id else None)
        if result is not None:
            args = arguments_of(call)
            yield Answered(call.id, outcome_of(call.name, args or {}, result), unreadable=args is None)


def arguments_of(call: ToolCall) -> dict[str, Any] | None:
    """The arguments of a recorded call; None where they are no JSON object."""
    if call.invalid is not None:
        return None
    try:
        return call.parsed()
    except (ValueError, RecursionError):
        return None


def _groups(messages: Sequence[Message]) -> Iterator[Group]:
    """What each message's calls brought up, neighbours of one tool together, oldest first; failures left out."""
    for index, message in enumerate(messages):
        if message.role == "assistant" and message.tool_calls:
            good = [each.outcome for each in _pairs(message, messages[index + 1 :]) if not each.outcome.is_error]
            for _, outcomes in groupby(good, key=lambda outcome: outcome.tool):
                yield group_of(outcomes)
