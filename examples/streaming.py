"""Streaming: show the answer while it is made, and let a middleware change it on the way.

A hook that returns sees the result of a model call. A hook that yields sees its stream, and may alter, drop, add or
hold back what flows by. Here one writes out the abbreviation "AE" before anybody reads it.
"""

import asyncio

from agent_express import Agent, End, Events, Middleware, ModelContext, ModelResponse, Next, TextDelta
from agent_express.testing import ScriptedModel


class SpellOut(Middleware):
    """Write "Agent Express" where the model says "AE"."""

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> Events[ModelResponse]:
        async for event in next():
            match event:
                case TextDelta(text=text):  # this model sends word by word, so that no word is split
                    yield TextDelta(spelled(text))
                case End(result=response):  # the last item of every stream: what goes into the log
                    message = response.message
                    yield End(response.replace(message=message.with_text(spelled(message.text))))
                case _:
                    yield event  # events that a hook does not know go on as they are


def spelled(text: str) -> str:
    return text.replace("AE", "Agent Express")


# A model that reads its answer from a script, so that this needs no key; "openai:gpt-5" could stand in its place.
model = ScriptedModel("AE streams word by word, and so does AE's answer.")
agent = Agent(model).use(SpellOut())


async def main() -> None:
    async with agent, agent.session() as session, session.stream("What is AE?") as events:
        async for event in events:
            match event:
                case TextDelta(text=text):
                    print(text, end="|", flush=True)
                case End(result=answer):
                    print(f"\nanswer: {answer.text}")
                case _:
                    pass  # the entries of the log come by, too


if __name__ == "__main__":
    asyncio.run(main())
