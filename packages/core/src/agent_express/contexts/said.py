"""What was said, as messages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..errors import HookError
from ..messages import Message


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
    if isinstance(message, str):
        return Message("assistant", message)
    if message.role != "assistant":
        raise HookError(f'an answer is a message of role "assistant", got one of role {message.role!r}')
    return message


def from_middleware(message: Message | str, by: str) -> Message:
    """A message that middleware *by* says in the user's place."""
    if isinstance(message, str):
        return Message("user", message, origin=by)
    return message.replace(origin=by) if not message.origin else message
