"""What was said, as messages that a history can hold."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import HookError
from ..messages import Message, Reasoning, Text
from ..texts import is_clean


def as_messages(given: str | Message | Sequence[Any]) -> tuple[Message, ...]:
    """Text, one message, parts of one, or messages, as messages."""
    if isinstance(given, str):
        return (Message("user", given),)
    if isinstance(given, Message):
        return (given,)
    items = tuple(given)
    if items and all(isinstance(item, Message) for item in items):
        return items
    return (Message("user", items),)


def as_answer(message: Message | str) -> Message:
    """An answer: text, or a message of role "assistant"."""
    made = Message("assistant", message) if isinstance(message, str) else message
    return storable(made, "an answer", "assistant")


def from_middleware(message: Message | str, by: str) -> Message:
    """A message that middleware *by* says in the user's place."""
    if isinstance(message, str):
        return storable(Message("user", message, origin=by), f"what {by} says", "user")
    said = storable(message, f"what {by} says", "user", "assistant")
    return said if said.origin else said.replace(origin=by)


def storable(message: Message, what: str, *roles: str) -> Message:
    """*message*, if a history can hold it.

    Raises:
        HookError: Another role, tool calls or results (the core makes those), NUL characters or lone surrogates.
    """
    if not isinstance(message, Message):
        raise HookError(f"{what} is a {type(message).__name__}, expected a Message")
    if message.role not in roles:
        wanted = " or ".join(f'"{role}"' for role in roles)
        raise HookError(f"{what} is a message of role {wanted}, got one of role {message.role!r}")
    for part in message.parts:
        if part.kind in ("tool_call", "tool_result"):
            raise HookError(f"{what} holds a {part.kind.replace('_', ' ')}: calls and their results are the core's")
        if isinstance(part, Text | Reasoning) and not is_clean(part.text):
            raise HookError(f"{what} holds a NUL character or a lone surrogate, which no store takes")
    return message
