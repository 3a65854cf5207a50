"""Prompt-cache marks: where a cached prefix ends. https://platform.claude.com/docs/en/build-with-claude/prompt-caching"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from .blocks import Block

ALLOWED: Final = 4
"""Marks that the API takes in one request."""
_MARKABLE: Final = frozenset({"text", "image", "document", "search_result", "tool_use", "tool_result"})


def mark(content: Sequence[Block]) -> None:
    """Mark the last block that can carry a mark: thinking cannot; a tool's definition, which has no type, can."""
    for block in reversed(content):
        if block.get("type", "text") in _MARKABLE:
            block["cache_control"] = {"type": "ephemeral"}
            return


def limit(static: Sequence[Block], messages: Sequence[Block], *, allowed: int = ALLOWED) -> list[Block]:
    """Take away marks until *allowed* are left, and return the blocks that keep theirs.

    Kept are the last mark of tools and system prompt, since all conversations share that prefix, and of the others
    the last ones, since they end the longest prefixes.

    Args:
        static: Tools and system prompt, in the order of the API.
        messages: The blocks of all messages, oldest first.
        allowed: At least 1.
    """
    shared = [block for block in static if "cache_control" in block]
    marked = [*shared, *(block for block in messages if "cache_control" in block)]
    surplus = max(len(marked) - allowed, 0)
    first = [block for block in marked if not (shared and block is shared[-1])][:surplus]
    for block in first:
        del block["cache_control"]
    return [block for block in marked if "cache_control" in block]


def keep_for(ttl: str, marked: Sequence[Block]) -> None:
    """Have the prefixes of *marked* kept for *ttl*, "5m" or "1h", where they do not say it themselves."""
    for block in marked:
        block["cache_control"] = {"ttl": ttl, **block["cache_control"]}
