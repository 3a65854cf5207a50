import asyncio

from agent_express import Agent, Next, ToolContext, ToolResult, tool
from agent_express.testing import ScriptedModel, call


@tool
def remove(path: str) -> str:
    """Remove a file."""
    raise AssertionError(f"{path} was removed")


async def read_only(ctx: ToolContext, next: Next[ToolResult]) -> ToolResult:
    if ctx.call.name in {"remove", "write"}:
        return ctx.deny("this agent may only read")
    return await next()


model = ScriptedModel([call("remove", path="notes.txt")], "I am not allowed to do that.")
agent = Agent(model, tools=[remove]).use(read_only)
print(asyncio.run(agent.run("Tidy up.")).text)
for part in model.requests[1].messages[-1].parts:
    if isinstance(part, ToolResult):
        print("the model was told:", part.text)
