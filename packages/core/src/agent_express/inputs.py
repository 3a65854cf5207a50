"""What is said to an agent, checked before anything is logged."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, TypeAlias

from pydantic import TypeAdapter

from .contexts import as_messages
from .errors import InputError
from .messages import Message, Part
from .texts import holds_nul, holds_odd, is_clean

Input: TypeAlias = str | Message | Sequence[Part] | Sequence[Message]
"""Text, one message, the parts of one, or messages of which the last is the user's."""


@cache
def _message_adapter() -> TypeAdapter[Message]:
    return TypeAdapter(Message)


def checked_input(given: Input) -> tuple[Message, ...]:
    """What was said, as messages; the last is the user's.

    Raises:
        InputError: It is empty, not from the user, or no store can hold it.
    """
    if type(given) is str and given and not given.isspace() and is_clean(given):
        return (Message("user", given),)
    messages = as_messages(given)
    last = messages[-1] if messages else None
    if last is None or not last.parts or not (last.text.strip() or any(part.kind != "text" for part in last.parts)):
        raise InputError("the input is empty: hand in text, parts, or messages whose last is the user's")
    if last.role != "user":
        raise InputError(f"the last message of the input is of role {last.role!r}, expected the user's")
    for message in messages:
        if message.role not in ("user", "assistant", "tool"):
            raise InputError(f"the input holds a message of role {message.role!r}; instructions are the agent's")
        if message.tool_calls or message.role == "tool":
            raise InputError("the input holds tool calls: a session makes its own; hand in what was said only")
        _check_storable(message)
    return messages


def _check_storable(message: Message) -> None:
    for part in message.parts:
        if part.kind == "text":
            if not is_clean(part.text):
                raise InputError("the input holds a NUL character or a lone surrogate, which no store takes: remove it")
        else:
            _check_part(message)


def _check_part(message: Message) -> None:
    try:
        text = _message_adapter().dump_json(message).decode()
    except Exception as error:
        raise InputError(f"the input holds what JSON cannot: {error}") from None
    if holds_nul(text):
        raise InputError("the input holds a NUL character, which no store takes: remove it")


def check_metadata(metadata: Mapping[str, Any]) -> None:
    """Refuse metadata of a turn that no store can hold: it is logged.

    Raises:
        InputError: JSON cannot hold it.
    """
    try:
        text = json.dumps(dict(metadata), allow_nan=False, ensure_ascii=False)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"metadata holds what JSON cannot: {error}; live objects go to the session's resources"
        ) from None
    if holds_odd(text):
        raise InputError("metadata holds a NUL character or a lone surrogate, which no store takes")
