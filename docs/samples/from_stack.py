import asyncio
from pathlib import Path

from agent_express import Agent

SHOP = Path(__file__).with_name("shop") / "agent.toml"


async def main() -> None:
    agent = Agent.from_stack(SHOP)
    print((await agent.run("What are the opening hours tomorrow?")).text)


asyncio.run(main())
