"""Structured output: an answer that is a Python object, and is sent back to the model until it is right."""

import asyncio
from typing import Literal

from pydantic import BaseModel, Field

from agent_express import Agent
from agent_express.events import TurnContinued
from agent_express.testing import ScriptedModel


class Review(BaseModel):
    """What is to be known of a review."""

    product: str
    stars: int = Field(ge=1, le=5)
    mood: Literal["happy", "angry", "neutral"]


# The first answer of this model does not fit: a review has five stars at most.
model = ScriptedModel(
    '{"product": "kettle", "stars": 11, "mood": "happy"}',
    '{"product": "kettle", "stars": 5, "mood": "happy"}',
)
agent = Agent(model, instructions="Read product reviews.")


async def main() -> None:
    answer = await agent.run("The kettle boils in no time. 11 of 10, would buy again!", output=Review)
    review = answer.output  # a Review; type checkers know it
    print(f"{review.product}: {review.stars} stars, {review.mood}")
    for event in answer.events:
        if isinstance(event, TurnContinued) and event.message:
            print("the model was told:", event.message.text)


if __name__ == "__main__":
    asyncio.run(main())
