"""What a strict type checker accepts: making agents, running them, reading what comes back."""

from __future__ import annotations

import asyncio
from typing import Any, assert_type

from pydantic import BaseModel, TypeAdapter

from agent_express import (
    Agent,
    Answer,
    App,
    End,
    Event,
    Message,
    ModelContext,
    ModelResponse,
    Next,
    TextDelta,
    named,
    tool,
)
from agent_express.messages import Settings
from agent_express.testing import ScriptedModel
from agent_express.typing import Model, Usable


class City(BaseModel):
    name: str


@tool
async def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


@tool(timeout=2.0, read_only=True)
def look_up(name: str) -> City:
    """Look up a city."""
    return City(name=name)


async def budget(ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
    response = await next()
    assert_type(response, ModelResponse)
    assert_type(response.usage.total_tokens, int | None)
    return response


async def ten_lines() -> None:
    model = ScriptedModel("hello")
    agent = Agent(model, instructions="Be brief.", tools=[add, look_up]).use(budget)
    async with agent:
        answer = await agent.run("hi")
        assert answer.text


async def typed_answers(agent: Agent) -> None:
    assert_type(await agent.run("hi"), Answer[str])
    assert_type((await agent.run("hi", output=City)).output, City)
    assert_type((await agent.run("hi", output=int)).output, int)
    assert_type((await agent.run("hi", output=list[City])).output, list[City])
    assert_type((await agent.run("hi", output=TypeAdapter(dict[str, int]))).output, dict[str, int])
    async with agent.session("s1", user_id="ann", resources={City: City(name="Oslo")}) as session:
        assert_type(await session.run("hi"), Answer[str])
        assert_type((await session.run("hi", output=City, settings=Settings(seed=1))).output, City)
        assert_type(session.resources[City], City)


async def streamed(agent: Agent) -> None:
    async with agent.session() as session, session.stream("hi", output=City) as events:
        async for event in events:
            match event:
                case TextDelta(text=text):
                    assert_type(text, str)
                case End(result=answer):
                    assert_type(answer, Answer[City])
                case _:
                    assert_type(event, Event)
        assert_type(events.answer.output, City)


def bundle(calls: int) -> list[Usable]:
    return [budget, named(f"budget-{calls}", budget), add]


async def mounted(agent: Agent) -> None:
    async with App().use(bundle(3)).mount(agent) as app:
        assert_type((await app.run("agent", Message("user", "hi"))).text, str)


def synchronous(agent: Agent) -> None:
    with agent.sync() as face, face.session("s1") as session:
        assert_type(session.run("hi").text, str)


def is_a_model(model: ScriptedModel) -> Model:
    return model


async def main(**options: Any) -> None:
    agent = Agent("offline:", **options).use(budget, bundle(1), [add])
    await asyncio.gather(ten_lines(), typed_answers(agent), streamed(agent), mounted(agent))
