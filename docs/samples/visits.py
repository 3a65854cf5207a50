import asyncio
from typing import Annotated

from pydantic import BaseModel

from agent_express import Agent, Middleware, ModelContext, ModelResponse, Next, TurnContext, scope, tool
from agent_express.testing import ScriptedModel, call


class Seen(BaseModel):
    """What Visits remembers."""

    turns: int = 0
    calls: Annotated[int, scope("turn")] = 0


class Visits(Middleware):
    """Count the turns of the session, and the model calls of each turn."""

    state = Seen

    async def turn(self, ctx: TurnContext, next: Next[None]) -> None:
        seen = ctx.state[self]
        seen.turns += 1
        await next()
        print("turn", seen.turns, "took", ctx.state[self].calls, "calls")

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        ctx.state[self].calls += 1
        return await next()


@tool
def now() -> str:
    """Tell the time."""
    return "10:15"


async def main() -> None:
    model = ScriptedModel([call("now")], "A quarter past ten.", "You are welcome.")
    agent = Agent(model, tools=[now]).use(Visits())
    async with agent, agent.session() as session:
        await session.run("What time is it?")
        await session.run("Thanks!")


asyncio.run(main())
