"""What a turn gave."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic

from typing_extensions import TypeVar

from .contexts import (
    TurnUsage,
)
from .events import (
    Event,
    TurnStatus,
)
from .messages import (
    Message,
)

T = TypeVar("T", default=str)


@dataclass(slots=True)
class Answer(Generic[T]):
    """What a turn gave.

    Attributes:
        message: The answer.
        output: The answer as the output type that was asked for; its text without one.
        status: "completed", or "limit" where a limit forced the answer.
        limit: Which limit, as its name in `Limits`.
        usage: What the turn used.
        events: What the turn logged.
        session_id: The conversation.
        turn_id: The turn.
    """

    message: Message
    output: T
    status: TurnStatus
    limit: str | None
    usage: TurnUsage
    events: tuple[Event, ...]
    session_id: str
    turn_id: str

    @property
    def text(self) -> str:
        """The answer's text."""
        return self.message.text

    def __str__(self) -> str:
        return self.message.text
