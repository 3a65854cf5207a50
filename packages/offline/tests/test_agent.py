"""With a real agent: tools run, faults are met, another model takes over."""

from __future__ import annotations

import pytest
from pydantic import BaseModel

from agent_express import Agent, ModelContext, ModelResponse, Next, Restarted, ToolReturned, tool
from agent_express.errors import ModelError, OutputError, RateLimitError
from agent_express_offline import OfflineModel


@tool(read_only=True)
def parcel(number: int) -> str:
    """Tell where the parcel of a number is."""
    return f"Parcel {number} is at your neighbour's."


async def test_a_question_is_answered_by_a_tool() -> None:
    answer = await Agent("offline:commands", tools=[parcel]).run("Where is parcel 77?")
    assert answer.text == "**Parcel** (number 77): Parcel 77 is at your neighbour's."
    assert answer.usage.model_calls == 2


async def test_a_malformed_call_is_answered_with_an_error_and_made_again() -> None:
    answer = await Agent("offline:malformed-call", tools=[parcel]).run("Where is parcel 77?")
    assert answer.text.endswith("Parcel 77 is at your neighbour's.")
    results = [event for event in answer.events if isinstance(event, ToolReturned)]
    assert [event.how for event in results] == ["invalid", "ran"]


async def test_calls_that_are_always_malformed_are_given_up_and_reported() -> None:
    answer = await Agent("offline:malformed-call-always", tools=[parcel]).run("Where is parcel 77?")
    assert answer.text.startswith("**Parcel** failed: ")
    assert answer.usage.model_calls == 3


@pytest.mark.parametrize("fault", ["fail", "rate-limit", "timeout", "truncate"])
async def test_a_retry_gets_past_a_fault_that_comes_once(fault: str) -> None:
    async def retry(ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        try:
            return await next()
        except ModelError:
            return await next()

    answer = await Agent(f"offline:{fault}", tools=[parcel]).use(retry).run("Where is parcel 77?")
    assert answer.text.endswith("Parcel 77 is at your neighbour's.")


async def test_without_a_retry_a_fault_is_the_callers() -> None:
    with pytest.raises(RateLimitError, match="it was told to"):
        await Agent("offline:rate-limit", tools=[parcel]).run("Where is parcel 77?")


async def test_it_carries_on_what_a_conversation_before_brought_up() -> None:
    agent = Agent(OfflineModel(), tools=[parcel])
    async with agent, agent.session() as session:
        await session.run("Where is parcel 77?")
        again = await session.run("And parcel 78?")
    assert again.text == "**Parcel** (number 78): Parcel 78 is at your neighbour's."


class Place(BaseModel):
    number: int
    answer: str


class Mood(BaseModel):
    mood: float


async def test_a_structured_answer_is_made_of_the_call_and_its_result() -> None:
    answer = await Agent("offline:commands", tools=[parcel]).run("Where is parcel 77?", output=Place)
    assert answer.output == Place(number=77, answer="Parcel 77 is at your neighbour's.")


async def test_a_structured_answer_that_cannot_be_made_is_refused_each_time_it_is_asked_for() -> None:
    with pytest.raises(OutputError, match="neither your message nor a result says `mood`"):
        await Agent("offline:commands", tools=[parcel]).run("Where is it?", output=Mood)


async def test_a_stream_says_each_word_once() -> None:
    agent = Agent("offline:commands", tools=[parcel])
    async with agent, agent.session() as session, session.stream("Where is parcel 77?") as events:
        seen = [event async for event in events]
    assert not any(isinstance(event, Restarted) for event in seen)
    assert "".join(getattr(event, "text", "") for event in seen if event.__class__.__name__ == "TextDelta").endswith(
        "your neighbour's."
    )
