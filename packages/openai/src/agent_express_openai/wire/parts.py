"""What both APIs share in writing down the parts of a message."""

from __future__ import annotations

import base64
from collections.abc import Iterable
from typing import TypeAlias
from urllib.parse import urlsplit

from agent_express.messages import Audio, File, Image, Json, Opaque, Part, Resource, Text, ToolResult

Content: TypeAlias = Text | Image | Audio | File | Opaque


def content(parts: Iterable[Part], provider: str) -> list[Content]:
    """Return what of *parts* is to be read: JSON and resources in their plainest form.

    Left out are reasoning, calls and results, which have places of their own, empty texts, and opaque parts of other
    providers.
    """
    return [each for each in map(_plain, parts) if each is not None and not _is_void(each, provider)]


def _plain(part: Part) -> Content | None:
    match part:
        case Text() | Image() | Audio() | File() | Opaque():
            return part
        case Json():
            return Text(part.text)
        case Resource():
            return _resource(part)
        case _:
            return None


def _is_void(part: Content, provider: str) -> bool:
    return (isinstance(part, Text) and not part.text) or (isinstance(part, Opaque) and part.provider != provider)


def _resource(part: Resource) -> Text | Image | Audio | File:
    if part.text is not None:
        return Text(f"{part.uri}\n{part.text}")
    if part.data is None:
        return Text(part.uri)
    family = part.media_type.partition("/")[0]
    if family == "image":
        return Image(part.data, media_type=part.media_type)
    if family == "audio":
        return Audio(part.data, part.media_type)
    name = urlsplit(part.uri).path.rpartition("/")[2] or None
    return File(part.data, media_type=part.media_type or "application/octet-stream", name=name)


def is_text(contents: Iterable[Content]) -> bool:
    """Whether there is nothing but text."""
    return all(isinstance(each, Text) for each in contents)


def joined(contents: Iterable[Content], between: str = "\n") -> str:
    """The texts of *contents* in one."""
    return between.join([each.text for each in contents if isinstance(each, Text)])


def failed(result: ToolResult) -> str:
    """The mark of a failed result: OpenAI's APIs have no flag for it, so the model reads it in the text."""
    return "Error: " if result.is_error else ""


def data_url(data: bytes, media_type: str) -> str:
    """*data* as a "data:" address."""
    return f"data:{media_type};base64,{base64.b64encode(data).decode('ascii')}"


def file_name(file: File) -> str:
    """The file's name; the API wants one beside the bytes and reads the kind of document from it."""
    return file.name or f"file.{file.media_type.rpartition('/')[2] or 'bin'}"
