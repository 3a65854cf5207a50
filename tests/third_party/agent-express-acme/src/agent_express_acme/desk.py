"""A bundle."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from agent_express import Middleware

from .allowance import Allowance
from .notebook import Notebook
from .shout import Shout


def desk(limit: Annotated[int, Field(ge=1)] = 1000, *, end: str = "") -> list[Middleware]:
    """Put a notebook on the desk, count the words, and answer loudly.

    Args:
        limit: Words of a session.
        end: What is put after each answer.
    """
    return [Allowance(limit), Notebook(), Shout(end)]
