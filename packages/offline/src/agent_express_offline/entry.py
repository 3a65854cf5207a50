"""The entry point: from a name and settings to the model."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from typing import Literal, TypeAlias

from .model import OfflineModel

Fault: TypeAlias = Literal["none", "fail", "rate-limit", "timeout", "stall", "truncate", "malformed-call"]


def create(variant: str = "", *, faults: Sequence[Fault] = (), today: date | None = None) -> OfflineModel:
    """A model that follows commands by fixed rules, without a key, a network or a language model; it can also fail.

    The entry point: it makes "offline:*variant*".

    Args:
        variant: "commands", which nothing means as well, or a fault such as "stall" or "fail-always".
        faults: What goes wrong, call by call; after the last of them nothing does.
        today: What "tomorrow" is counted from.

    Raises:
        UnknownModelError: There is no such variant.
    """
    return OfflineModel(variant=variant, faults=faults, today=today)
