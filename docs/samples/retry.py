import asyncio

from agent_express import Agent, Middleware, ModelContext, ModelResponse, Next
from agent_express.errors import RateLimitError
from agent_express.testing import ScriptedModel


class RetryOnce(Middleware):
    """Call the model a second time where the first failed and may succeed later."""

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        try:
            return await next()
        except RateLimitError as error:
            print("failed:", error)
            return await next()  # allowed, because the call before it failed


agent = Agent(ScriptedModel(RateLimitError("slow down"), "here I am")).use(RetryOnce())
print(asyncio.run(agent.run("hi")).text)
