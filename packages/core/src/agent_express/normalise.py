"""What a model answered, made into what the history and every store take."""

from __future__ import annotations

from typing import Any

from pydantic_core import from_json

from .messages import Message, ModelResponse, Reasoning, Text, ToolCall
from .texts import clean, holds_odd, is_clean


def normalised(response: ModelResponse) -> ModelResponse:
    """Make a response what the history needs: unique call ids, arguments that are JSON objects, storable text."""
    message = response.message
    if response.id and not (is_clean(response.id) and is_clean(response.model)):
        response = response.replace(id=clean(response.id), model=clean(response.model))
    if _is_normal(message):
        return response
    seen: set[str] = set()
    parts: list[Any] = []
    changed = False
    for part in message.parts:
        if type(part) is ToolCall:
            fixed = _fixed(part, seen)
            seen.add(fixed.id)
            changed = changed or fixed is not part
            parts.append(fixed)
        elif (type(part) is Text or type(part) is Reasoning) and not is_clean(part.text):
            changed = True
            parts.append(part.replace(text=clean(part.text)))
        else:
            parts.append(part)
    return response.replace(message=message.replace(parts=tuple(parts))) if changed else response


def _is_normal(message: Message) -> bool:
    """Whether nothing is to be done: the common case, told quickly."""
    ids: set[str] = set()
    for part in message.parts:
        if type(part) is ToolCall:
            if not part.id or part.id in ids or not _is_object(part.args):
                return False
            if not (is_clean(part.id) and is_clean(part.name)):
                return False
            ids.add(part.id)
        elif (type(part) is Text or type(part) is Reasoning) and not is_clean(part.text):
            return False
    return True


def _is_object(args: str) -> bool:
    """Whether *args* is the JSON text of an object that every store takes."""
    try:
        return is_clean(args) and type(from_json(args, allow_inf_nan=False)) is dict and not holds_odd(args)
    except (ValueError, RecursionError):
        return False


def _fixed(call: ToolCall, seen: set[str]) -> ToolCall:
    if not (is_clean(call.id) and is_clean(call.name)):
        call = call.replace(id=clean(call.id), name=clean(call.name))
    if not call.id or call.id in seen:
        number = len(seen)
        while f"{call.id or 'call'}_{number}" in seen:
            number += 1
        call = call.replace(id=f"{call.id or 'call'}_{number}")
    if _is_object(call.args):
        return call
    written = clean(call.args)
    return call.replace(args="{}", invalid=written[:10_000]) if written.strip() else call.replace(args="{}")
