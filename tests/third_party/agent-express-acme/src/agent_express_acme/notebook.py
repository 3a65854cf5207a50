"""Tools, state, an event and rules of order in one middleware."""

from __future__ import annotations

from typing import Annotated

from pydantic import BaseModel, Field

from agent_express import (
    Event,
    Middleware,
    ModelContext,
    ModelResponse,
    Next,
    Order,
    ToolContext,
    private,
    reduce,
    tool,
)


def joined(old: list[str], new: list[str]) -> list[str]:
    """Both, what was there first."""
    return [*old, *new]


class NoteWritten(Event, type="acme:note-written"):
    """A note was written down.

    Attributes:
        note: What it says.
    """

    note: str


class Notes(BaseModel):
    """What is remembered."""

    notes: Annotated[list[str], reduce(joined)] = Field(default=[], description="What was written down.")
    author: Annotated[str, private] = Field(default="", description="Who wrote it.")


class Notebook(Middleware):
    """Let the model write notes, and show them to it with each call.

    Args:
        heading: What stands above the notes.
        shown: How many of the newest notes are shown; 0 to 100.
    """

    name = "notebook"
    state = Notes
    events = (NoteWritten,)
    order = Order(outside=["acme.shout"], inside=["acme.allowance"])

    def __init__(self, heading: str = "Notes", shown: Annotated[int, Field(ge=0, le=100)] = 10) -> None:
        self.heading, self.shown = heading, shown

    @tool
    async def write_note(self, ctx: ToolContext, note: str) -> str:
        """Write down a note.

        Args:
            note: What to write down.
        """
        ctx.state.update(Notes(notes=[note]), self)
        await ctx.emit(NoteWritten(note))
        return f"noted: {note}"

    tools = (write_note,)

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        """Show the newest notes."""
        newest = ctx.state[self].notes[-self.shown :] if self.shown else []
        if newest:
            ctx.add_system_message("\n".join([f"{self.heading}:", *(f"- {note}" for note in newest)]))
        return await next()
