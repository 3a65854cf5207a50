"""The shop's own code: a tool, two middleware, and a bundle of them."""

from datetime import date
from typing import Annotated

from pydantic import Field

from agent_express import Middleware, ModelContext, ModelResponse, Next, TurnContext, tool

SUNDAY = 6


@tool(read_only=True)
async def opening_hours(day: date) -> str:
    """Look up the opening hours of a day."""
    return "closed" if day.weekday() == SUNDAY else "open from 9 to 18"


class Today(Middleware):
    """Tell the model which day it is.

    Args:
        day: The day to tell; today where it is left out.
    """

    def __init__(self, day: date | None = None) -> None:
        self.day = day

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        ctx.add_system_message(f"Today is {self.day or date.today()}.")
        return await next()


class Signed(Middleware):
    """Put a name under each answer.

    Args:
        name: Who signs.
        dashes: How many dashes stand before the name; 0 to 5.
    """

    def __init__(self, name: str, dashes: Annotated[int, Field(ge=0, le=5)] = 2) -> None:
        self.line = f"{'-' * dashes} {name}"

    async def turn(self, ctx: TurnContext, next: Next[None]) -> None:
        await next()
        if ctx.output is not None:
            ctx.deliver(f"{ctx.output.text}\n{self.line}")


def manners(name: str = "the shop", day: date | None = None) -> list[Middleware]:
    """Sign each answer, and know which day it is.

    Args:
        name: Who signs.
        day: The day to tell; today where it is left out.
    """
    return [Signed(name), Today(day)]
