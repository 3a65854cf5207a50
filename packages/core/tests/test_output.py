"""Structured output: asked for, validated, sent back when it does not fit, and typed."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, TypeAdapter

from agent_express import Agent, Limits, Message, Next, TurnContext, tool
from agent_express.errors import OutputError, UseError
from agent_express.events import Restarted, TurnContinued
from agent_express.testing import FunctionModel, ScriptedModel, assert_events, call, check_history


class City(BaseModel):
    name: str
    people: Annotated[int, Field(ge=0)] = 0


OSLO = '{"name": "Oslo", "people": 700000}'


async def test_an_answer_that_fits_is_the_output_as_that_type() -> None:
    model = ScriptedModel(OSLO)
    answer = await Agent(model).run("which city?", output=City)
    assert answer.output == City(name="Oslo", people=700_000)
    assert answer.text == OSLO
    asked = model.requests[0].output
    assert asked is not None
    assert (asked.name, asked.schema["type"], asked.schema["required"]) == ("City", "object", ["name"])


async def test_without_output_the_output_is_the_text_and_nothing_is_asked_for() -> None:
    model = ScriptedModel(OSLO)
    assert (await Agent(model).run("which city?")).output == OSLO
    assert model.requests[0].output is None


@pytest.mark.parametrize(
    ("kind", "reply", "value"),
    [
        (int, '{"value": 3}', 3),
        (list[int], '{"value": [1, 2]}', [1, 2]),
        (TypeAdapter(int), '{"value": 3}', 3),
        (TypeAdapter(list[City]), '{"value": [{"name": "Oslo"}]}', [City(name="Oslo")]),
        (TypeAdapter(City), OSLO, City(name="Oslo", people=700_000)),
        (TypeAdapter(Literal["yes", "no"]), '{"value": "yes"}', "yes"),
        (dict[str, int], '{"a": 1}', {"a": 1}),
        (City | None, '{"value": null}', None),
    ],
    ids=["int", "list", "adapter of int", "adapter of list", "adapter of model", "literal", "dict", "optional"],
)
async def test_what_is_not_an_object_is_asked_for_as_one_and_comes_out_as_itself(
    kind: Any, reply: str, value: Any
) -> None:
    model = ScriptedModel(reply)
    assert (await Agent(model).run("go", output=kind)).output == value
    assert model.requests[0].output is not None
    assert model.requests[0].output.schema["type"] == "object"


async def test_json_in_a_code_fence_fits() -> None:
    assert (await Agent(ScriptedModel(f"```json\n{OSLO}\n```")).run("go", output=City)).output.name == "Oslo"


async def test_an_answer_that_does_not_fit_goes_back_to_the_model_with_what_is_wrong() -> None:
    model = ScriptedModel('{"name": "Oslo", "people": -1}', OSLO)
    answer = await Agent(model).run("which city?", output=City)
    assert answer.output.people == 700_000
    [complaint] = [message for message in model.requests[1].messages if message.origin == "output"]
    assert complaint.text == (
        "Your answer does not match the schema: people: Input should be greater than or equal to 0. "
        "Answer again with JSON of that schema only."
    )
    assert_events(answer.events, TurnContinued("output", 1, complaint), Restarted("output", 2, "turn"))
    check_history(model.requests[1].messages)


async def test_re_asking_is_bounded_and_then_an_output_error_with_the_last_answer() -> None:
    model = ScriptedModel("Oslo", "Oslo!", "Oslo!!")
    with pytest.raises(OutputError) as caught:
        await Agent(model).run("which city?", output=City)
    assert str(caught.value).startswith("the answer does not match City: ")
    assert "The answer was: 'Oslo!!'" in str(caught.value)
    assert len(model.requests) == 3


@pytest.mark.parametrize("retries", [0, 1, 12])
async def test_how_often_the_model_is_asked_again_is_a_limit_of_its_own(retries: int) -> None:
    model = FunctionModel(lambda request: "no JSON")
    with pytest.raises(OutputError):
        await Agent(model, limits=Limits(max_output_retries=retries, max_continuations=1)).run("go", output=City)
    assert len(model.requests) == 1 + retries


async def test_a_text_beside_tool_calls_is_not_taken_for_the_answer() -> None:
    @tool
    async def look_up(name: str) -> int:
        """Look up."""
        return 700_000

    model = ScriptedModel([call("look_up", name="Oslo")], OSLO)
    answer = await Agent(model, tools=[look_up]).run("which city?", output=City)
    assert (answer.output.name, len(model.requests)) == ("Oslo", 2)


async def test_an_output_that_a_hook_replaced_is_validated_too() -> None:
    async def replaces(ctx: TurnContext, next: Next[None]) -> None:
        await next()
        ctx.output = Message("assistant", ctx.metadata["as"])

    agent = Agent(FunctionModel(lambda request: OSLO)).use(replaces)
    answer = await agent.run("go", output=City, metadata={"as": '{"name": "Bergen"}'})
    assert answer.output == City(name="Bergen")
    with pytest.raises(OutputError, match="the answer does not match City"):
        await agent.run("go", output=City, metadata={"as": "Bergen, of course"})


async def test_a_turn_answered_without_the_model_has_the_output_type_too() -> None:
    async def cached(ctx: TurnContext, next: Next[None]) -> None:
        ctx.output = Message("assistant", OSLO)

    assert (await Agent(ScriptedModel()).use(cached).run("go", output=City)).output.name == "Oslo"


async def test_what_is_delivered_differs_and_the_output_is_that_of_record() -> None:
    async def restores(ctx: TurnContext, next: Next[None]) -> None:
        await next()
        ctx.deliver("for your eyes only")

    answer = await Agent(ScriptedModel(OSLO)).use(restores).run("go", output=City)
    assert (answer.text, answer.output.name) == ("for your eyes only", "Oslo")


async def test_the_structured_result_of_turn_1_is_gone_in_turn_2_unless_asked_for() -> None:
    model = ScriptedModel(OSLO, "just text", OSLO)
    async with Agent(model) as agent, agent.session() as session:
        assert (await session.run("one", output=City)).output == City(name="Oslo", people=700_000)
        assert (await session.run("two")).output == "just text"
        assert (await session.run("three", output=City)).output.name == "Oslo"
    assert [request.output is None for request in model.requests] == [False, True, False]


async def test_a_stream_ends_with_the_same_answer() -> None:
    async with Agent(ScriptedModel(OSLO)) as agent, agent.session() as session:
        async with session.stream("go", output=City) as stream:
            items = [item async for item in stream]
        assert stream.answer.output == City(name="Oslo", people=700_000)
        assert getattr(items[-1], "result", None) is stream.answer


class Socket:
    pass


async def test_a_type_without_a_schema_is_refused_before_anything_is_sent() -> None:
    model = ScriptedModel()
    with pytest.raises(UseError, match=r"output=.*Socket.* has no JSON schema"):
        await Agent(model).run("go", output=Socket)
    assert model.requests == []
