"""What a tool returned, as the model reads it."""

from __future__ import annotations

import json
from typing import Any, cast

from pydantic_core import PydanticSerializationError, to_jsonable_python

from .events import holds_nul
from .messages import Audio, File, Image, Json, Opaque, Resource, Text, ToolResult

_PARTS = (Text, Json, Image, Audio, File, Resource, Opaque)


def to_result(name: str, value: Any) -> ToolResult:
    """Turn what a tool returned into a `ToolResult`.

    Raises:
        TypeError: JSON cannot hold it.
    """
    if type(value) is str:
        return ToolResult((Text(_storable(name, value)),))
    if isinstance(value, ToolResult):
        return value
    if isinstance(value, _PARTS):
        return ToolResult((value,))
    if isinstance(value, list | tuple) and value and all(isinstance(part, _PARTS) for part in cast(list[Any], value)):
        return ToolResult(tuple(cast(list[Any], value)))
    try:
        plain = to_jsonable_python(value)
        _storable(name, json.dumps(plain, allow_nan=False, ensure_ascii=False))
    except (PydanticSerializationError, ValueError, TypeError) as error:
        raise TypeError(f"{name} returned a {type(value).__name__} that JSON cannot hold: {error}") from None
    return ToolResult((Json(plain),))


def _storable(name: str, text: str) -> str:
    if "\x00" in text or holds_nul(text):
        raise TypeError(f"{name} returned text with a NUL character: remove it, stores do not agree on it")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise TypeError(f"{name} returned text that is not Unicode: {error}") from None
    return text
