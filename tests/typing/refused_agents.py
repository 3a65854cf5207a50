"""What a strict type checker refuses around agents: each marked line is an error, and no other line is one.

`# expect: X / Y`, behind a line or above it: mypy's code and pyright's rule.
"""

from __future__ import annotations

from pydantic import BaseModel

from agent_express import Agent, Limits, Message, TextDelta, scope
from agent_express.testing import ScriptedModel


class City(BaseModel):
    name: str


async def run(agent: Agent) -> None:
    scope("user")  # expect: arg-type / reportArgumentType
    Agent(42)  # expect: arg-type / reportArgumentType
    Agent(ScriptedModel("x"), model="y")  # expect: misc / reportCallIssue
    Agent(ScriptedModel("x"), tools=[len])  # expect: list-item / reportArgumentType
    Limits(max_step=3)  # expect: call-arg / reportCallIssue
    Message("robot", "hi")  # expect: arg-type / reportArgumentType
    await agent.run(42)  # expect: call-overload / reportArgumentType
    await agent.run("hi", output=3)  # expect: call-overload / reportCallIssue
    await agent.run("hi", use=[42])  # expect: list-item / reportArgumentType
    answer = await agent.run("hi", output=City)
    str(answer.output.nam)  # expect: attr-defined / reportAttributeAccessIssue
    text: int = (await agent.run("hi")).output  # expect: assignment / reportAssignmentType
    str(text)
    answer.message.role = "user"  # expect: misc / reportAttributeAccessIssue
    async with agent.session("s1") as session:
        await session.run("hi", on_busy="queue")  # expect: call-overload / reportArgumentType
        async with session.stream("hi") as events:
            async for event in events:
                str(event.text)  # expect: union-attr / reportAttributeAccessIssue
                if isinstance(event, TextDelta):
                    str(event.text)
