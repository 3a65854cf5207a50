"""Retry, then fall back: the order of `use` decides which happens first.

`next()` may be called again once it has failed. What a hook changes before the call, such as the model, holds for that
call and everything further in, and is put back afterwards.
"""

import asyncio

from agent_express import Agent, End, Middleware, ModelContext, ModelResponse, Next, Restarted, TextDelta
from agent_express.errors import ModelError, ProviderUnavailableError
from agent_express.models import Model
from agent_express.testing import Say, ScriptedModel


class Fallback(Middleware):
    """Call *other* where the model fails for good."""

    def __init__(self, other: Model) -> None:
        self.other = other

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        try:
            return await next()
        except ModelError:
            ctx.set_model(self.other)
            return await next()


class Retry(Middleware):
    """Call the model again, at most *times* in all, where it may succeed later. (A real one would wait in between.)"""

    def __init__(self, times: int) -> None:
        self.times = times

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        for _ in range(self.times - 1):
            try:
                return await next()
            except ModelError as error:
                if not error.retryable:
                    raise
        return await next()


overloaded = ProviderUnavailableError("overloaded")
large = ScriptedModel(Say("The answ", error=overloaded), Say("The answer i", error=overloaded), name="large")
small = ScriptedModel("Here is the answer of the small model.", name="small")
agent = Agent(large).use(Fallback(small), Retry(times=2))  # outside in: Retry gives up before Fallback acts


async def main() -> None:
    async with agent, agent.session() as session, session.stream("Hello?") as events:
        async for event in events:
            match event:
                case TextDelta(text=text):
                    print(text, end="")
                case Restarted(by=by, attempt=attempt):  # what was shown of the failed try no longer counts
                    print(f"\n[again: {by}, attempt {attempt}]")
                case End(result=answer):
                    print(f"\nanswer: {answer.text}")
                case _:
                    pass
    print(f"calls: {len(large.requests)} to {large.name}, {len(small.requests)} to {small.name}")


if __name__ == "__main__":
    asyncio.run(main())
