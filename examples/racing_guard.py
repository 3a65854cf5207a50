"""A guard that races the model: it judges the question while the answer is being made already.

No word gets out before the guard has agreed; where it does not, the model is cut off in the middle of its answer.
Everything of asyncio works around `next()`: here a TaskGroup, in which the guard's verdict cancels the model call.
"""

import asyncio

from agent_express import (
    Agent,
    End,
    Event,
    Events,
    Message,
    Middleware,
    ModelContext,
    ModelRequest,
    ModelResponse,
    Next,
    TextDelta,
    TurnAbortedError,
)
from agent_express.testing import FunctionModel

spoken: list[str] = []
two_words_spoken = asyncio.Event()


async def chatter(request: ModelRequest) -> Events[ModelResponse]:
    """Answer without thinking first: the model."""
    for word in ["Mix ", "the ", "two ", "and ", "heat."]:
        spoken.append(word)
        if len(spoken) == 2:
            two_words_spoken.set()
        yield TextDelta(word)
        await asyncio.sleep(0)
    yield End(ModelResponse(Message("assistant", "".join(spoken))))


class Guard(Middleware):
    """Let an answer through once the question has been judged, and stop the turn where it must not be answered."""

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> Events[ModelResponse]:
        held: list[Event | End[ModelResponse]] = []
        async with asyncio.TaskGroup() as tasks:
            verdict = tasks.create_task(self.judge(ctx))
            async for event in next():
                held.append(event)
                if verdict.done() or isinstance(event, End):
                    await verdict
                    for each in held:
                        yield each
                    held.clear()

    async def judge(self, ctx: ModelContext) -> None:
        await two_words_spoken.wait()  # a real one would call a small model here: `await ctx.ask(...)`
        if "poison" in ctx.messages[-1].text:
            ctx.abort("no recipes for poison")


agent = Agent(FunctionModel(chatter)).use(Guard())


async def ask(question: str) -> None:
    spoken.clear()
    two_words_spoken.clear()
    shown: list[str] = []
    print(f"> {question}")
    try:
        async with agent.session() as session, session.stream(question) as events:
            async for event in events:
                if isinstance(event, TextDelta):
                    shown.append(event.text)
        print("".join(shown))
    except TurnAbortedError as error:
        print(f"{error.by}: {error.reason} ({len(spoken)} of 5 words were made, {len(shown)} were shown)")


async def main() -> None:
    async with agent:
        await ask("How do I make pancakes?")
        await ask("How do I make poison?")


if __name__ == "__main__":
    asyncio.run(main())
