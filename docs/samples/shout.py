import asyncio
from collections.abc import AsyncIterator

from agent_express import Agent, End, Event, Middleware, ModelContext, ModelResponse, Next, TextDelta
from agent_express.testing import ScriptedModel


class Shout(Middleware):
    """Say everything in capitals, in the stream and in the answer."""

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> AsyncIterator[Event | End[ModelResponse]]:
        async for event in next():
            match event:
                case TextDelta(text=text):
                    yield TextDelta(text.upper())
                case End(result=response):
                    said = response.message.with_text(response.message.text.upper())
                    yield End(response.replace(message=said))
                case _:
                    yield event


async def main() -> None:
    agent = Agent(ScriptedModel("good morning to you")).use(Shout())
    async with agent, agent.session() as session, session.stream("hi") as events:
        async for event in events:
            match event:
                case TextDelta(text=text):
                    print(repr(text))
                case End(result=answer):
                    print("answer:", answer.text)
                case _:
                    pass  # the log's events pass by as well


asyncio.run(main())
