"""A request in the words of Chat Completions (https://platform.openai.com/docs/api-reference/chat/create).

Servers of many makers speak this API, each a little less of it than OpenAI; so what can be said plainly is: content of
text alone is a string, and two user messages in a row become one, since many chat templates want roles to alternate.
"""

from __future__ import annotations

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
    ToolDef,
    ToolResult,
)

from .parts import Content, content, data_url, failed, file_name, is_text, joined
from .schema import is_strict
from .settings import choosing, sampling, schema_name, with_options

THOUGHT = "reasoning_field"
"""Where `Reasoning.data` keeps the name of the field in which a server sent it."""


def chat_request(request: ModelRequest, model: str, provider: str, *, is_openai: bool) -> dict[str, Any]:
    """Return the body for *model*; parts of *provider* go back to it, those of others are left out.

    *is_openai*: whether it goes to OpenAI itself, whose newer models refuse "max_tokens"; most other servers know
    nothing else.

    Raises:
        UnsupportedError: A part that the API lacks.
    """
    settings, who = request.settings, f"{request.model.name}: Chat Completions"
    body: dict[str, Any] = {
        "model": model,
        "messages": _messages(request, provider, who),
        "stream_options": {"include_usage": True},
        **sampling(settings),
        **choosing(settings, request.tools, {"type": "function", "function": {"name": settings.tool_choice}}),
    }
    if request.tools:
        body["tools"] = [_tool(tool) for tool in request.tools]
    if settings.max_tokens is not None:
        body["max_completion_tokens" if is_openai else "max_tokens"] = settings.max_tokens
    if settings.seed is not None:
        body["seed"] = settings.seed
    if settings.stop:
        body["stop"] = list(settings.stop)
    if settings.reasoning_effort is not None:
        body["reasoning_effort"] = settings.reasoning_effort
    if request.output is not None:
        schema = dict(request.output.schema)
        form = {"name": schema_name(request.output), "schema": schema, "strict": is_strict(schema)}
        body["response_format"] = {"type": "json_schema", "json_schema": form}
    return {**with_options(body, settings.options), "stream": True}


def _tool(tool: ToolDef) -> dict[str, Any]:
    function = {"name": tool.name, "description": tool.description, "parameters": dict(tool.parameters)}
    return {"type": "function", "function": function}


def _messages(request: ModelRequest, provider: str, who: str) -> list[dict[str, Any]]:
    """All messages. What only a user message can hold waits until the results are through: they follow their calls."""
    written: list[dict[str, Any]] = []
    if request.system_text:
        written.append({"role": "system", "content": request.system_text})
    waiting: list[Content] = []
    for message in request.messages:
        results = [part for part in message.parts if isinstance(part, ToolResult)]
        for result in results:
            written.append(_result(result))
            waiting += _shown(result)
        said = content(message.parts, provider)
        if message.role == "assistant":
            _add_user(written, waiting, who)
            waiting = [each for each in said if not isinstance(each, Text | Opaque)]
            _add_assistant(written, message, said, provider)
        else:
            waiting += said
        if message.role == "user":
            _add_user(written, waiting, who)
            waiting = []
    _add_user(written, waiting, who)
    return written


def _result(result: ToolResult) -> dict[str, Any]:
    said = joined(content(result.parts, ""))
    return {"role": "tool", "tool_call_id": result.call_id, "content": failed(result) + said}


def _shown(result: ToolResult) -> list[Content]:
    """What of a result is no text, with a word on where it comes from."""
    shown = [each for each in content(result.parts, "") if not isinstance(each, Text)]
    return [Text(f"From the result of {result.name or 'the tool'} ({result.call_id}):"), *shown] if shown else []


def _add_user(written: list[dict[str, Any]], contents: list[Content], who: str) -> None:
    """Append a user message, or add to the last one."""
    if not contents:
        return
    said: Any = joined(contents) if is_text(contents) else [_input(each, who) for each in contents]
    last = written[-1] if written else {}
    if last.get("role") != "user":
        written.append({"role": "user", "content": said})
    elif isinstance(said, str) and isinstance(last["content"], str):
        last["content"] = f"{last['content']}\n\n{said}"
    else:
        last["content"] = [*_pieces(last["content"]), *_pieces(said)]


def _pieces(said: str | list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"type": "text", "text": said}] if isinstance(said, str) else said


def _add_assistant(written: list[dict[str, Any]], message: Message, said: list[Content], provider: str) -> None:
    calls = [
        {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": call.args}}
        for call in message.tool_calls
    ]
    text = joined(said, "")
    if not text and not calls:
        return
    answer: dict[str, Any] = {"role": "assistant", "content": text or None, **_thought(message.parts, provider)}
    if calls:
        answer["tool_calls"] = calls
    written.append(answer)


def _thought(parts: tuple[Part, ...], provider: str) -> dict[str, str]:
    """The reasoning in the field it came in: DeepSeek refuses a history without it, others leave out what is old.

    See https://api-docs.deepseek.com/guides/thinking_mode.
    """
    fields: dict[str, str] = {}
    for part in parts:
        if isinstance(part, Reasoning) and part.provider == provider and part.data and THOUGHT in part.data:
            name = str(part.data[THOUGHT])
            fields[name] = fields.get(name, "") + part.text
    return fields


def _input(part: Content, who: str) -> dict[str, Any]:
    match part:
        case Text():
            return {"type": "text", "text": part.text}
        case Image(data=bytes(data)):
            return {"type": "image_url", "image_url": {"url": data_url(data, part.media_type)}}
        case Image(url=str(url)):
            return {"type": "image_url", "image_url": {"url": url}}
        case Audio():
            return {"type": "input_audio", "input_audio": _audio(part)}
        case File():
            return {"type": "file", "file": _file(part, who)}
        case Opaque():
            return dict(cast("dict[str, Any]", part.data))
        case Image():
            raise UnsupportedError(f"{who} got an image with neither bytes nor an address; give it one of them")


_SOUNDS = {"mpeg": "mp3", "x-wav": "wav", "wave": "wav", "vnd.wave": "wav"}


def _audio(part: Audio) -> dict[str, str]:
    subtype = part.media_type.rpartition("/")[2]
    data = data_url(part.data, part.media_type).partition(",")[2]
    return {"data": data, "format": _SOUNDS.get(subtype, subtype)}


def _file(part: File, who: str) -> dict[str, str]:
    if part.file_id is not None:
        return {"file_id": part.file_id}
    if part.data is not None:
        return {"filename": file_name(part), "file_data": data_url(part.data, part.media_type)}
    raise UnsupportedError(f'{who} takes a file as bytes or id, not by address; send its bytes, or use api="responses"')
