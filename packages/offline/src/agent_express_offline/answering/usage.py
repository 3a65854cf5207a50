"""Usage: tokens stated as words, which is an approximation: real tokenisers count about 1.3 for an English word."""

from __future__ import annotations

from collections.abc import Iterator

from agent_express.messages import Json, Message, ModelRequest, Resource, Text, ToolCall, ToolResult, Usage

from ..filling.parameters import parameters
from ..planning.results import plain


def usage_of(request: ModelRequest, message: Message) -> Usage:
    """Count the words sent and the words answered."""
    return Usage(input_tokens=sum(map(_count, _sent(request))), output_tokens=sum(map(_count, _texts(message))))


def _count(text: str) -> int:
    return len(text.split())


def _sent(request: ModelRequest) -> Iterator[str]:
    yield request.system_text
    for tool in request.tools:
        yield f"{tool.name} {tool.description}"
        for parameter in parameters(tool.parameters):
            yield f"{parameter.name} {parameter.description}"
    for message in request.messages:
        yield from _texts(message)


def _texts(message: Message) -> Iterator[str]:
    for part in message.parts:
        match part:
            case Text():
                yield part.text
            case ToolCall():
                yield f"{part.name} {part.args}"
            case ToolResult():
                yield from _result_texts(part)
            case _:
                pass


def _result_texts(result: ToolResult) -> Iterator[str]:
    for part in result.parts:
        match part:
            case Text():
                yield part.text
            case Json():
                yield plain(part.value)
            case Resource():
                yield part.text or part.uri
            case _:
                pass
