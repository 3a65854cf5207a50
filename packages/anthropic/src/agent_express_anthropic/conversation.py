"""The history as the API's messages: from a user's on, roles in turn, tool results first in theirs, call ids unique."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import count
from typing import Final, TypeAlias

from agent_express.errors import BadRequestError
from agent_express.messages import Message

from .blocks import Block, Lacks, blocks, text, thinks
from .marks import mark

Run: TypeAlias = tuple[str, list[Block]]
"""Neighbouring messages of one role: the role, and their blocks."""

_START: Final = "(The conversation starts with your message.)"


def conversation(messages: Iterable[Message], lacks: Lacks) -> list[Block]:
    """Return *messages* as the API takes them.

    Neighbours of one role are merged, and what has nothing to send is left out. `Message.mark` is for people and for
    the core: the model reads a superseded draft or an interrupted answer in the words it was said in.

    Raises:
        BadRequestError: There is nothing to send.
        UnsupportedError: From *lacks*.
    """
    runs = _merged((_role(message), _content(message, lacks)) for message in messages)
    runs = _merged((role, _finished(content) if role == "assistant" else content) for role, content in runs)
    if not runs:
        raise BadRequestError("the request holds no message with something in it: add a user message")
    if runs[0][0] == "assistant":
        runs.insert(0, ("user", text(_START)))
    if runs[-1][0] == "assistant":
        _trim_end(runs[-1][1])
    sent: list[Block] = [{"role": role, "content": _results_first(content)} for role, content in runs]
    _tell_calls_apart(all_blocks(sent))
    return sent


def all_blocks(messages: Iterable[Block]) -> list[Block]:
    """Return the blocks of all *messages*, in order."""
    return [block for message in messages for block in message["content"]]


def _role(message: Message) -> str:
    return "assistant" if message.role == "assistant" else "user"


def _content(message: Message, lacks: Lacks) -> list[Block]:
    by_model = message.role == "assistant"
    content = [block for part in message.parts for block in blocks(part, by_model=by_model, lacks=lacks)]
    if message.cache_mark:
        mark(content)
    return content


def _merged(runs: Iterable[Run]) -> list[Run]:
    merged: list[Run] = []
    for role, content in runs:
        if not content:
            continue
        if merged and merged[-1][0] == role:
            merged[-1][1].extend(content)
        else:
            merged.append((role, list(content)))
    return merged


def _finished(content: list[Block]) -> list[Block]:
    """Drop thinking that led to nothing: the API refuses a message that ends with it."""
    end = len(content)
    while end and thinks(content[end - 1]):
        end -= 1
    return content[:end]


def _trim_end(content: list[Block]) -> None:
    """Drop white space at the end of a conversation that ends with the model's words: the API refuses it."""
    if content[-1]["type"] == "text":
        content[-1]["text"] = content[-1]["text"].rstrip()


def _results_first(content: list[Block]) -> list[Block]:
    """The API wants the results of all calls at the head of the message that follows the calls."""
    return sorted(content, key=lambda block: block["type"] != "tool_result")


def _tell_calls_apart(content: Iterable[Block]) -> None:
    """Rename calls whose id an earlier message has used: the history only keeps ids apart within one message."""
    taken: set[str] = set()
    newest: dict[str, str] = {}
    for block in content:
        if block["type"] == "tool_use":
            free = newest[block["id"]] = _free(block["id"], taken)
            taken.add(free)
            block["id"] = free
        elif block["type"] == "tool_result":
            block["tool_use_id"] = newest.get(block["tool_use_id"], block["tool_use_id"])


def _free(call_id: str, taken: set[str]) -> str:
    if call_id not in taken:
        return call_id
    return next(name for n in count(2) if (name := f"{call_id}_{n}") not in taken)
