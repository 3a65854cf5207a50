"""Two agents in an App: what holds for both is said once, around them."""

import asyncio

from agent_express import Agent, App, Next, TurnAbortedError, TurnContext, tool
from agent_express.testing import ScriptedModel, call


async def customers_only(ctx: TurnContext, next: Next[None]) -> None:
    """House rule: whoever is not known is not served."""
    if ctx.user_id is None:
        ctx.abort("log in first")
    print(f"[{ctx.agent.name} serves {ctx.user_id}]")
    await next()


@tool
def parcel(number: str) -> str:
    """Tell where a parcel is."""
    return f"parcel {number} is at your neighbour's"


support = Agent(
    ScriptedModel([call("parcel", number="77")], "Your neighbour has it."),
    name="support",
    instructions="Help customers with their parcels.",
    tools=[parcel],
)
sales = Agent(ScriptedModel("We have kettles."), name="sales", instructions="Sell kettles.")
app = App().use(customers_only).mount(support).mount(sales)


async def main() -> None:
    async with app:
        async with app.session("support", user_id="ada") as session:
            print((await session.run("Where is parcel 77?")).text)
        async with app.session("sales", user_id="ada") as session:
            print((await session.run("What do you sell?")).text)
        try:
            await app.run("sales", "What do you sell?")
        except TurnAbortedError as error:
            print(f"{error.by}: {error.reason}")


if __name__ == "__main__":
    asyncio.run(main())
