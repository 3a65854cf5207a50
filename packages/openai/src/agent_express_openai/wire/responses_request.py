"""A request in the words of the Responses API (https://platform.openai.com/docs/api-reference/responses/create)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any, cast

from agent_express.errors import UnsupportedError
from agent_express.messages import (
    Audio,
    File,
    Image,
    Message,
    ModelRequest,
    Opaque,
    Part,
    Reasoning,
    Text,
    ToolCall,
    ToolDef,
    ToolResult,
)

from .parts import Content, content, data_url, failed, file_name, is_text, joined
from .schema import is_strict
from .settings import choosing, lacking, sampling, schema_name, with_options

PHASE = "message_phase"
"""The opaque part that keeps OpenAI's label ("commentary", "final_answer") of the text after it."""
_REASONS = re.compile(r"^(o\d|gpt-[5-9])(?!.*-chat)")


def responses_request(request: ModelRequest, model: str, provider: str) -> dict[str, Any]:
    """Return the body for *model*; parts of *provider* go back to it, those of others are left out.

    Nothing is stored at OpenAI: the history is ours, so reasoning is asked for sealed and goes back sealed.

    Raises:
        UnsupportedError: A part or a setting that the API lacks.
    """
    settings, who = request.settings, f"{request.model.name}: the Responses API"
    lacking(settings, "seed", who, 'leave it out, use api="chat"')
    lacking(settings, "stop", who, 'leave it out, use api="chat"')
    body: dict[str, Any] = {
        "model": model,
        "input": [item for message in request.messages for item in _items(message, provider, who)],
        "store": False,
        **sampling(settings),
        **choosing(settings, request.tools, {"type": "function", "name": settings.tool_choice}),
    }
    if request.system_text:
        body["instructions"] = request.system_text
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    if settings.max_tokens is not None:
        body["max_output_tokens"] = settings.max_tokens
    if settings.reasoning_effort is not None:
        body["reasoning"] = {"effort": settings.reasoning_effort}
    if settings.reasoning_effort is not None or _REASONS.match(model):
        body["include"] = ["reasoning.encrypted_content"]
    if request.output is not None:
        schema = dict(request.output.schema)
        form = {"type": "json_schema", "name": schema_name(request.output), "schema": schema}
        body["text"] = {"format": {**form, "strict": is_strict(schema)}}
    return {**with_options(body, settings.options), "stream": True}


def _tool(tool: ToolDef) -> dict[str, Any]:
    """One tool. Not strict: the core checks the arguments, and strict mode would refuse most schemas."""
    return {
        "type": "function",
        "name": tool.name,
        "description": tool.description,
        "parameters": dict(tool.parameters),
        "strict": False,
    }


def _items(message: Message, provider: str, who: str) -> list[dict[str, Any]]:
    """The input items of one message, its parts in their order."""
    items: list[dict[str, Any]] = []
    sealed: list[dict[str, Any]] = []  # reasoning waits for what it led to: alone, the API refuses it
    for run in _runs(message, provider):
        if isinstance(run, dict):
            sealed.append(run)
            continue
        written = [_call_item(run, who)] if isinstance(run, ToolCall | ToolResult) else _said(message, run, who)
        items += [*sealed, *written] if written else []
        sealed = [] if written else sealed
    return items


def _runs(message: Message, provider: str) -> Iterable[dict[str, Any] | ToolCall | ToolResult | list[Content]]:
    """Sealed reasoning, calls and results one by one, and between them what is said, as far as it is in one piece."""
    said: list[Part] = []
    for part in message.parts:
        if isinstance(part, ToolCall | ToolResult | Reasoning):
            yield content(said, provider)
            said = []
            if not isinstance(part, Reasoning):
                yield part
            elif (item := _reasoning(part, provider)) is not None:
                yield item
        else:
            said.append(part)
    yield content(said, provider)


def _reasoning(part: Reasoning, provider: str) -> dict[str, Any] | None:
    """The item as it came, but for fields that came as null, which the API does not take back.

    None for another provider's item and for one that came without its seal.
    """
    data = part.data or {}
    if part.provider != provider or data.get("type") != "reasoning" or not data.get("encrypted_content"):
        return None
    return {name: value for name, value in data.items() if value is not None}


def _call_item(part: ToolCall | ToolResult, who: str) -> dict[str, Any]:
    if isinstance(part, ToolCall):
        return {"type": "function_call", "call_id": part.id, "name": part.name, "arguments": part.args}
    shown = content(part.parts, "")
    output: Any = failed(part) + joined(shown)
    if not is_text(shown):
        mark = [{"type": "input_text", "text": failed(part).strip()}] if part.is_error else []
        output = [*mark, *(_input(each, who) for each in shown)]
    return {"type": "function_call_output", "call_id": part.call_id, "output": output}


def _said(message: Message, contents: list[Content], who: str) -> list[dict[str, Any]]:
    """What is said in one piece. Only text can be put into the assistant's mouth; what else it showed, we show it."""
    if message.role != "assistant":
        return [_user(contents, who)] if contents else []
    items: list[dict[str, Any]] = []
    phase: Mapping[str, Any] = {}
    for each in contents:
        if isinstance(each, Text):
            items.append({"type": "message", "role": "assistant", "content": each.text, **phase})
        elif isinstance(each, Opaque) and each.type == PHASE:
            phase = cast(Mapping[str, Any], each.data)
        elif isinstance(each, Opaque):
            items.append(dict(cast(Mapping[str, Any], each.data)))
        else:
            items.append(_user([each], who))
    return items


def _user(contents: list[Content], who: str) -> dict[str, Any]:
    return {"type": "message", "role": "user", "content": [_input(each, who) for each in contents]}


def _input(part: Content, who: str) -> dict[str, Any]:
    match part:
        case Text():
            return {"type": "input_text", "text": part.text}
        case Image(data=bytes(data)):
            return {"type": "input_image", "image_url": data_url(data, part.media_type), "detail": "auto"}
        case Image(url=str(url)):
            return {"type": "input_image", "image_url": url, "detail": "auto"}
        case File():
            return {"type": "input_file", **_file(part, who)}
        case Opaque():
            return dict(cast(Mapping[str, Any], part.data))
        case Audio():
            raise UnsupportedError(f'{who} cannot read audio; use api="chat" with a model that hears')
        case Image():
            raise UnsupportedError(f"{who} got an image with neither bytes nor an address; give it one of them")


def _file(part: File, who: str) -> dict[str, Any]:
    if part.file_id is not None:
        return {"file_id": part.file_id}
    if part.data is not None:
        return {"filename": file_name(part), "file_data": data_url(part.data, part.media_type)}
    if part.url is not None:
        return {"file_url": part.url}
    raise UnsupportedError(f"{who} got a file with neither bytes, address nor id; give it one of them")
