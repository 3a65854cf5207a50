import asyncio
from collections.abc import Callable
from typing import Annotated

from pydantic import BaseModel, Field

from agent_express import Agent, Event, Middleware, ModelContext, ModelResponse, Next, TurnAbortedError
from agent_express.errors import SettingsError
from agent_express.settings import Settings
from agent_express.testing import ScriptedModel


class LimitReached(Event, type="acme:limit-reached"):
    """A session has no words left."""

    words: int


class Words(BaseModel):
    """What WordLimit remembers of a session."""

    said: int = Field(default=0, description="Words the model has said.")


def count_words(text: str) -> int:
    return len(text.split())


class WordLimit(Middleware):
    """Abort the turn once the model has said *limit* words in this session.

    Args:
        limit: Words of a session; at least 1.
        count: Counts the words of a text.
    """

    name = "word-limit"
    state = Words
    events = (LimitReached,)

    def __init__(self, limit: Annotated[int, Field(ge=1)], count: Callable[[str], int] = count_words) -> None:
        self.limit, self.count = limit, count

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        words = ctx.state[self]
        if words.said >= self.limit:
            await ctx.emit(LimitReached(words.said))
            ctx.abort(f"{words.said} of {self.limit} words are said")
        response = await next()
        words.said += self.count(response.message.text)
        return response


async def main() -> None:
    settings = Settings.of(WordLimit)  # what a stack file does with `config`
    print(settings.schema["properties"]["limit"])
    try:
        settings.make({"limit": 0, "cuont": "len"})
    except SettingsError as error:
        print(error)

    model = ScriptedModel("one two three", "never sent")
    async with Agent(model).use(settings.make({"limit": 3})) as agent, agent.session() as session:
        await session.run("Count to three.")
        try:
            await session.run("Go on.")
        except TurnAbortedError as error:
            print(error)


asyncio.run(main())
