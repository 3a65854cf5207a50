"""A budget: a required setting with a range, state of the session, an abort."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, Field

from agent_express import Event, Middleware, ModelContext, ModelResponse, Next

Unit: TypeAlias = Literal["words", "characters"]


class AllowanceSpent(Event, type="acme:allowance-spent"):
    """A session has no words left.

    Attributes:
        words: How many it has used.
    """

    words: int


class Words(BaseModel):
    """What is counted."""

    used: int = Field(default=0, ge=0, description="Words the models have said in this session.")


class Allowance(Middleware):
    """Abort the turn once the models of the session have said *limit* words.

    Args:
        limit: Words of a session; 1 to 1,000,000.
        count: What counts as a word: what stands between blanks, or every character.
    """

    name = "allowance"
    state = Words
    events = (AllowanceSpent,)

    def __init__(self, limit: Annotated[int, Field(ge=1, le=1_000_000)], *, count: Unit = "words") -> None:
        self.limit = limit
        self.count: Unit = count

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        """Look before the call, count after it."""
        used = ctx.state[self].used
        if used >= self.limit:
            await ctx.emit(AllowanceSpent(used))
            ctx.abort(f"the session has said {used} of {self.limit} {self.count}")
        response = await next()
        ctx.state[self].used += length(response.message.text, self.count)
        return response


def length(text: str, count: Unit) -> int:
    """How long *text* is."""
    return len(text.split()) if count == "words" else len(text)
