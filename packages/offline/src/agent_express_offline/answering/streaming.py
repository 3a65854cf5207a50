"""Streaming: an answer cut into the pieces in which it is sent."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from agent_express.events import TextDelta, ToolCallDelta
from agent_express.messages import Message, Text, ToolCall

MAX_PIECES: Final = 2000
"""The most pieces one text or one call is sent in: longer ones are cut into larger pieces."""

_WORD: Final = re.compile(r"\s*\S+|\s+")


def deltas(message: Message) -> Iterator[TextDelta | ToolCallDelta]:
    """The pieces of *message*, its text word by word; put together they are the message."""
    index = 0
    for part in message.parts:
        if isinstance(part, Text):
            for piece in pieces(part.text):
                yield TextDelta(piece)
        elif isinstance(part, ToolCall):
            yield ToolCallDelta(index, "", part.id, part.name)
            for piece in pieces(part.args):
                yield ToolCallDelta(index, piece)
            index += 1


def pieces(text: str) -> list[str]:
    """Cut *text* before its spaces, into at most 2,000 pieces; joined they are the text."""
    words = _WORD.findall(text)
    if len(words) <= MAX_PIECES and max(map(len, words), default=0) <= len(text) // MAX_PIECES + 400:
        return words
    size = len(text) // MAX_PIECES + 1
    return [text[at : at + size] for at in range(0, len(text), size)]
