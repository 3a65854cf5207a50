"""A model provider."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator
from typing import Annotated

from pydantic import Field

from agent_express import End, Event, Message, ModelRequest, ModelResponse, TextDelta, Usage


class Parrot:
    """Say the user's last words again.

    Attributes:
        name: "parrot:<colour>".
        context_window: Tokens; not known.
        modalities: Text.
    """

    context_window: int | None = None
    modalities: frozenset[str] | None = frozenset(["text"])

    def __init__(self, colour: str = "grey", times: int = 1) -> None:
        self.name, self.times = f"parrot:{colour}", times

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Event | End[ModelResponse]]:
        """Stream the words, one after the other."""
        said = next((each.text for each in reversed(request.messages) if each.role == "user"), "")
        text = " ".join([said] * self.times)
        for word in re.findall(r"\S+\s*", text):
            await asyncio.sleep(0)
            yield TextDelta(word)
        words = len(text.split())
        yield End(ModelResponse(Message("assistant", text), Usage(words, words)))


def create(colour: str = "grey", *, times: Annotated[int, Field(ge=1, le=9)] = 1) -> Parrot:
    """Say the user's last words again, without a key and without a network.

    Args:
        colour: What follows the colon of the name.
        times: How often; 1 to 9.
    """
    return Parrot(colour or "grey", times)
