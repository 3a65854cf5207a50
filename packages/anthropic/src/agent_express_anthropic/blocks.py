"""Parts of messages as the API's content blocks.

What the API refuses is never sent: empty texts, thinking without its seal, documents in the model's own words. What
belongs to another provider stays out. What this API cannot be shown is reported through `Lacks`.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
from collections.abc import Callable, Iterable
from typing import Any, Final, TypeAlias

from agent_express.errors import BadRequestError
from agent_express.messages import (
    Audio,
    File,
    Image,
    Json,
    Opaque,
    Part,
    Reasoning,
    Resource,
    Text,
    ToolCall,
    ToolResult,
)

from .edge import as_object, is_object

Block: TypeAlias = dict[str, Any]
"""A content block, as JSON."""
Lacks: TypeAlias = Callable[[str], None]
"""Told what the API cannot do: raises `UnsupportedError`, or warns and lets the request go on without it."""

PROVIDER: Final = "anthropic"
"""What reasoning and opaque parts are signed with."""
_IMAGES: Final = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
_PDF: Final = "application/pdf"
_THINKING: Final = frozenset({"thinking", "redacted_thinking"})
_ID: Final = re.compile(r"[a-zA-Z0-9_-]+\Z")


def blocks(part: Part, *, by_model: bool, lacks: Lacks) -> list[Block]:
    """Return *part* as content blocks: mostly one, none where there is nothing to send.

    Args:
        part: What to send.
        by_model: Whether it stands in the model's own message, which takes no pictures and no documents.
        lacks: Told of what cannot be sent; where it returns, a line of text takes its place.
    """
    match part:
        case Reasoning():
            return _thinking(part)
        case ToolCall():
            return [_call(part)]
        case ToolResult():
            return [_result(part, lacks)]
        case Opaque():
            return [{"type": part.type, **as_object(part.data)}] if part.provider == PROVIDER else []
        case Text() | Json():
            return text(part.text)
        case Image() | Audio() | File() | Resource():
            if not by_model:
                return _attachment(part, lacks)
            return _left_out(part, "reads attachments in the user's messages and in tool results only", lacks)


def text(words: str) -> list[Block]:
    """Return *words* as one block; none where they are blank, since the API refuses that."""
    return [{"type": "text", "text": words}] if words.strip() else []


def thinks(block: Block) -> bool:
    """Whether *block* is the model's thinking, open or sealed."""
    return block["type"] in _THINKING


def tool_id(call_id: str) -> str:
    """Return *call_id* in the letters that the API takes: itself, or always the same other one."""
    if _ID.match(call_id):
        return call_id
    return f"call_{hashlib.sha256(call_id.encode()).hexdigest()[:32]}"


def tool_name(name: str) -> str:
    """Return the *name* of a called tool in the letters that the API takes; a model may have made up any."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", name)[:128] or "_"


def arguments(call: ToolCall) -> dict[str, Any]:
    """Return the arguments of *call* as an object, which the API insists on.

    What is no JSON object goes under the key INVALID_JSON, as Anthropic advises, so that the model sees its mistake:
    https://platform.claude.com/docs/en/agents-and-tools/tool-use/fine-grained-tool-streaming
    """
    written = call.args if call.invalid is None else call.invalid
    if call.invalid is None:
        try:
            value = json.loads(written)
            _encoded(value)
        except (ValueError, RecursionError):
            value = None
        if is_object(value):
            return value
    return {"INVALID_JSON": written}


def _encoded(value: Any) -> bytes:
    """The bytes that go over the wire; a ValueError for what JSON or UTF-8 cannot hold: NaN, a lone surrogate."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False).encode()


def _thinking(part: Reasoning) -> list[Block]:
    """The model's own thinking, unchanged; an interrupted one came without its seal and would be refused."""
    if part.provider != PROVIDER:
        return []
    if part.data is not None:
        return [dict(part.data)]
    if part.signature is None:
        return []
    return [{"type": "thinking", "thinking": part.text, "signature": part.signature}]


def _call(part: ToolCall) -> Block:
    return {"type": "tool_use", "id": tool_id(part.id), "name": tool_name(part.name), "input": arguments(part)}


def _result(part: ToolResult, lacks: Lacks) -> Block:
    content = [block for each in part.parts for block in blocks(each, by_model=False, lacks=lacks)]
    block: Block = {"type": "tool_result", "tool_use_id": tool_id(part.call_id)}
    if part.is_error:
        block["is_error"] = True
        content = content or text("The tool failed and said nothing.")  # an empty error is refused
    if content:
        block["content"] = content
    return block


def _attachment(part: Image | Audio | File | Resource, lacks: Lacks) -> list[Block]:
    match part:
        case Image():
            return _image(part, lacks)
        case File():
            return _file(part, lacks)
        case Resource():
            return _resource(part, lacks)
        case Audio():
            return _left_out(part, "cannot hear audio", lacks)


def _image(part: Image, lacks: Lacks) -> list[Block]:
    if part.data is not None:
        if part.media_type not in _IMAGES:
            return _left_out(part, f"reads {_listed(_IMAGES)} and not {part.media_type}", lacks)
        return [{"type": "image", "source": _base64(part.data, part.media_type)}]
    if part.url is None:
        raise BadRequestError("an Image has neither data nor url: give it one of the two")
    return [{"type": "image", "source": {"type": "url", "url": part.url}}]


def _file(part: File, lacks: Lacks) -> list[Block]:
    if part.file_id is not None:
        kind = "image" if part.media_type in _IMAGES else "document"
        return _titled(kind, {"type": "file", "file_id": part.file_id}, part.name)
    if part.data is not None:
        return _document(part, part.data, part.media_type, part.name, lacks)
    if part.url is None:
        raise BadRequestError("a File has neither data nor url nor file_id: give it one of the three")
    if part.media_type != _PDF:
        return _left_out(part, f"fetches {_PDF} from an address and not {part.media_type}", lacks)
    return _titled("document", {"type": "url", "url": part.url}, part.name)


def _resource(part: Resource, lacks: Lacks) -> list[Block]:
    if part.text is not None:
        return text(part.text)
    if part.data is None:
        return text(part.uri)
    return _document(part, part.data, part.media_type, part.uri, lacks)


def _document(part: Part, data: bytes, media_type: str, title: str | None, lacks: Lacks) -> list[Block]:
    if media_type in _IMAGES:
        return [{"type": "image", "source": _base64(data, media_type)}]
    if media_type == _PDF:
        return _titled("document", _base64(data, media_type), title)
    try:
        words = data.decode() if _is_text(media_type) else None
    except UnicodeDecodeError:
        return _left_out(part, f"reads text in UTF-8, and this {media_type} is not", lacks)
    if words is None:
        return _left_out(part, f"reads pictures, {_PDF} and text, and not {media_type or 'bytes of no type'}", lacks)
    if not words.strip():
        return []
    return _titled("document", {"type": "text", "media_type": "text/plain", "data": words}, title)


def _is_text(media_type: str) -> bool:
    return media_type.startswith("text/") or media_type in ("application/json", "application/xml")


def _titled(kind: str, source: Block, title: str | None) -> list[Block]:
    return [{"type": kind, "source": source, **({"title": title} if title and kind == "document" else {})}]


def _base64(data: bytes, media_type: str) -> Block:
    return {"type": "base64", "media_type": media_type, "data": base64.b64encode(data).decode("ascii")}


def _left_out(part: Part, why: str, lacks: Lacks) -> list[Block]:
    """Report *part*; where that is allowed, the model is told that something is missing here."""
    lacks(why)
    return text(f"[{part.kind} left out: this model {why}]")


def _listed(words: Iterable[str]) -> str:
    return ", ".join(sorted(words))
