import asyncio
from pathlib import Path

from agent_express import Agent, Next, TurnContext, tool
from agent_express.testing import ScriptedModel, call


@tool
def count_lines(path: str) -> int:
    """Count the lines of a text file."""
    return len(Path(path).read_text(encoding="utf-8").splitlines())


async def announce(ctx: TurnContext, next: Next[None]) -> None:
    print("asked:", ctx.input.text)
    await next()
    print("used:", ctx.usage.model_calls, "model calls")


# A model that reads its answers from a script, so that this page needs no key. "openai:..." goes in its place.
model = ScriptedModel([call("count_lines", path=__file__)], "It has 24 lines.")
agent = Agent(model, tools=[count_lines]).use(announce)
answer = asyncio.run(agent.run("How long is this file?"))
print("answer:", answer.text)
