"""What messages are made of: text, media, reasoning, tool calls and their results.

Everything here is frozen and shared between contexts, log and stores; a change is a `replace`.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Self, TypeAlias, cast

from pydantic import ConfigDict
from pydantic_core import from_json


class Frozen:
    """A value that is changed by making another."""

    __slots__ = ()
    __pydantic_config__ = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64")

    def replace(self, **changes: Any) -> Self:
        """Return a copy with *changes*."""
        return dataclasses.replace(self, **changes)  # type: ignore[type-var]


def setters(kind: type, *names: str) -> list[Callable[[Any, Any], None]]:
    """The slots' own setters: what a frozen class's `__init__` needs, at half the price of `object.__setattr__`."""
    return [getattr(kind, name).__set__ for name in names]


@dataclass(frozen=True, slots=True)
class Text(Frozen):
    """Plain text."""

    text: str
    kind: Literal["text"] = field(default="text", kw_only=True, repr=False)


@dataclass(frozen=True, slots=True)
class Image(Frozen):
    """A picture: either the bytes or an address the provider can fetch."""

    data: bytes | None = field(default=None, repr=False)
    url: str | None = None
    media_type: str = "image/png"
    kind: Literal["image"] = field(default="image", kw_only=True, repr=False)


@dataclass(frozen=True, slots=True)
class Audio(Frozen):
    """A sound: the bytes and their format."""

    data: bytes = field(repr=False)
    media_type: str = "audio/wav"
    kind: Literal["audio"] = field(default="audio", kw_only=True, repr=False)


@dataclass(frozen=True, slots=True)
class File(Frozen):
    """A document: the bytes, an address, or the id of a file that the provider holds."""

    data: bytes | None = field(default=None, repr=False)
    url: str | None = None
    file_id: str | None = None
    media_type: str = "application/pdf"
    name: str | None = None
    kind: Literal["file"] = field(default="file", kw_only=True, repr=False)


@dataclass(frozen=True, slots=True)
class Reasoning(Frozen):
    """The model's thinking, as far as the provider shows it.

    Attributes:
        text: What may be read; empty where the provider only sends it sealed.
        signature: The provider's seal; sent back unchanged.
        data: What else the provider wants back unchanged (an id, encrypted content), as JSON.
        provider: Who sent it; other providers do not get it back.
    """

    text: str = ""
    signature: str | None = None
    data: Mapping[str, Any] | None = None
    provider: str = ""
    kind: Literal["reasoning"] = field(default="reasoning", kw_only=True, repr=False)


@dataclass(frozen=True, slots=True)
class ToolCall(Frozen):
    """A tool the model wants run.

    Attributes:
        id: The provider's id; unique within its message once recorded.
        name: The tool's name.
        args: The arguments, JSON text of an object.
        invalid: What the model wrote in place of a JSON object; *args* is "{}" then. Set by the core.
    """

    id: str
    name: str
    args: str = "{}"
    invalid: str | None = None
    kind: Literal["tool_call"] = field(default="tool_call", kw_only=True, repr=False)

    def parsed(self) -> dict[str, Any]:
        """The arguments as a new dict.

        Raises:
            ValueError: The model wrote something that is not a JSON object.
        """
        value = from_json(self.args, allow_inf_nan=False)
        if not isinstance(value, dict):
            kind = type(value).__name__
            raise ValueError(f"arguments of {self.name!r} are a JSON {kind}, expected an object")
        return cast(dict[str, Any], value)


@dataclass(frozen=True, slots=True)
class Json(Frozen):
    """A value that JSON can hold, as a tool returned it."""

    value: Any
    kind: Literal["json"] = field(default="json", kw_only=True, repr=False)

    @property
    def text(self) -> str:
        """The value as compact JSON text."""
        return json.dumps(self.value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


@dataclass(frozen=True, slots=True)
class Resource(Frozen):
    """Something with an address, with its content where it came along."""

    uri: str
    text: str | None = None
    data: bytes | None = field(default=None, repr=False)
    media_type: str = ""
    kind: Literal["resource"] = field(default="resource", kw_only=True, repr=False)


@dataclass(frozen=True, slots=True)
class Opaque(Frozen):
    """A part this version does not know: kept and sent back to its provider unchanged."""

    type: str
    data: Any = None
    provider: str = ""
    kind: Literal["opaque"] = field(default="opaque", kw_only=True, repr=False)


ResultPart: TypeAlias = Text | Json | Image | Audio | File | Resource | Opaque


@dataclass(frozen=True, slots=True, init=False)
class ToolResult(Frozen):
    """What a tool gave back, as the model reads it: `ToolResult("12 °C")`.

    Attributes:
        parts: Text, JSON, images, resources. A plain string becomes one text.
        is_error: Whether the model is to read it as a failure.
        call_id: The call it answers; set by the core.
        name: The tool's name; set by the core.
    """

    parts: tuple[ResultPart, ...] = ()
    is_error: bool = False
    call_id: str = ""
    name: str = ""
    kind: Literal["tool_result"] = field(default="tool_result", repr=False)

    def __init__(
        self,
        parts: str | Iterable[ResultPart] = (),
        is_error: bool = False,
        call_id: str = "",
        name: str = "",
        *,
        kind: Literal["tool_result"] = "tool_result",
    ) -> None:
        _result_parts(self, (Text(parts),) if type(parts) is str else tuple(parts))
        _result_error(self, is_error)
        _result_call(self, call_id)
        _result_name(self, name)
        _result_kind(self, "tool_result")

    @property
    def text(self) -> str:
        """Its text and JSON parts, one per line."""
        return "\n".join([part.text for part in self.parts if isinstance(part, Text | Json)])


_result_parts, _result_error, _result_call, _result_name, _result_kind = setters(
    ToolResult, "parts", "is_error", "call_id", "name", "kind"
)

Part: TypeAlias = Text | Image | Audio | File | Reasoning | ToolCall | ToolResult | Resource | Json | Opaque
