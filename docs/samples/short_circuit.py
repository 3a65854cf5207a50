import asyncio

from agent_express import Agent, Message, Next, TurnContext
from agent_express.testing import ScriptedModel


async def opening_hours(ctx: TurnContext, next: Next[None]) -> None:
    if "open" in ctx.input.text:
        ctx.output = Message("assistant", "We open at nine.")
        return  # nothing further in runs: no model is called
    await next()


model = ScriptedModel("Nice weather for May.")
agent = Agent(model).use(opening_hours)
print(asyncio.run(agent.run("When do you open?")).text)
print(asyncio.run(agent.run("How is the weather?")).text)
print(len(model.requests), "model call")
