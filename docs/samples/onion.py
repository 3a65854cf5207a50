import asyncio

from agent_express import Agent, ModelContext, ModelResponse, Next, TurnContext
from agent_express.testing import ScriptedModel


async def outer(ctx: TurnContext, next: Next[None]) -> None:
    print("outer: before")
    await next()
    print("outer: after,", ctx.output and ctx.output.text)


async def inner(ctx: TurnContext, next: Next[None]) -> None:
    print("  inner: before")
    await next()
    print("  inner: after")


async def around_the_call(ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
    print("    call", ctx.call_index, "to", ctx.model.name)
    return await next()


agent = Agent(ScriptedModel("hello")).use(outer, inner, around_the_call)
asyncio.run(agent.run("hi"))
