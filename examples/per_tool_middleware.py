"""Middleware around one tool: the weather is cached, the payment is capped, other tools are left alone."""

import asyncio

from agent_express import Agent, Middleware, Next, ToolContext, ToolResult, tool
from agent_express.testing import ScriptedModel, call


class Cache(Middleware):
    """Answer a call from memory where the same was asked before, in whatever session."""

    def __init__(self) -> None:
        self.known: dict[str, ToolResult] = {}

    async def tool(self, ctx: ToolContext, next: Next[ToolResult]) -> ToolResult:
        key = str(dict(ctx.args))
        if key in self.known:
            return ctx.skip_call(self.known[key])
        self.known[key] = await next()
        return self.known[key]


async def cap(ctx: ToolContext, next: Next[ToolResult]) -> ToolResult:
    """A function is a middleware, too: the annotation of `ctx` says of which level."""
    if ctx.args["euros"] > 50:
        return ctx.deny("more than 50 euros must be paid by a person")
    return await next()


@tool(use=[Cache()])
async def weather(city: str) -> str:
    """Tell the weather."""
    print(f"looking up the weather in {city}")
    return "sunny"


@tool(use=[cap])
async def pay(euros: int) -> str:
    """Pay an amount."""
    print(f"paying {euros} euros")
    return "paid"


model = ScriptedModel(
    [call("weather", city="Oslo"), call("pay", euros=20)],
    [call("weather", city="Oslo"), call("pay", euros=900)],
    "It is sunny; the large bill is yours to pay.",
)
agent = Agent(model, tools=[weather, pay])


async def main() -> None:
    answer = await agent.run("Pay my bills if it is sunny in Oslo.")
    for message in model.requests[-1].messages:
        for part in message.parts:
            if isinstance(part, ToolResult):
                print(f"the model was told: {part.name}: {part.text}")
    print("answer:", answer.text)


if __name__ == "__main__":
    asyncio.run(main())
