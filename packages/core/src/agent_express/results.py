"""What a tool returned, as the model reads it."""

from __future__ import annotations

import json
from typing import Any

from pydantic_core import PydanticSerializationError, to_jsonable_python

from .messages import Audio, File, Image, Json, Opaque, Resource, ResultPart, Text, ToolResult
from .texts import holds_nul, is_clean

_PARTS = (Text, Json, Image, Audio, File, Resource, Opaque)


def to_result(name: str, value: Any) -> ToolResult:
    """Turn what a tool returned into a `ToolResult`.

    Raises:
        TypeError: JSON cannot hold it.
    """
    if type(value) is str:
        return ToolResult((Text(_storable(name, value)),))
    if isinstance(value, ToolResult):
        for part in value.parts:
            _check(name, part)
        return value
    if isinstance(value, _PARTS):
        return to_result(name, ToolResult((value,)))
    parts: Any = value
    if isinstance(value, list | tuple) and value and all(isinstance(part, _PARTS) for part in parts):
        return to_result(name, ToolResult(parts))
    return ToolResult((Json(_plain(name, value)),))


def _check(name: str, part: ResultPart) -> None:
    if type(part) is Text:
        _storable(name, part.text)
    elif type(part) is Json and _plain(name, part.value) != part.value:
        raise TypeError(f"{name} returned Json({part.value!r}), which is not made of JSON values")


def _plain(name: str, value: Any) -> Any:
    try:
        plain = to_jsonable_python(value)
        text = json.dumps(plain, allow_nan=False, ensure_ascii=False)
        text.encode()
    except (PydanticSerializationError, ValueError, TypeError) as error:
        raise TypeError(f"{name} returned a {type(value).__name__} that JSON cannot hold: {error}") from None
    if holds_nul(text):
        raise TypeError(f"{name} returned a NUL character: remove it, stores do not agree on it")
    return plain


def _storable(name: str, text: str) -> str:
    if not is_clean(text):
        raise TypeError(f"{name} returned text that no store takes: a NUL character or a lone surrogate; remove it")
    return text
