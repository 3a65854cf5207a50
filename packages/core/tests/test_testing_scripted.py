"""Scripted and function models."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_express.errors import ExpressError, RateLimitError
from agent_express.events import End, Event, ReasoningDelta, TextDelta, ToolCallDelta
from agent_express.messages import (
    Message,
    ModelRequest,
    ModelResponse,
    Reasoning,
    Section,
    Text,
    ToolCall,
    ToolDef,
    ToolResult,
    Usage,
)
from agent_express.models import Model, complete
from agent_express.testing import FunctionModel, Say, ScriptedModel, ScriptError, call
from agent_express.testing.replies import words


def asked(model: Model, text: str = "hi") -> ModelRequest:
    return ModelRequest(model, (Message("user", text),))


async def streamed(model: Model, request: ModelRequest | None = None) -> list[Event | End[ModelResponse]]:
    return [event async for event in model.stream(request or asked(model))]


async def test_text_is_streamed_word_by_word_and_ends_with_the_whole_message() -> None:
    model = ScriptedModel("It is 12 °C.")
    *deltas, end = await streamed(model)
    assert deltas == [TextDelta("It"), TextDelta(" is"), TextDelta(" 12"), TextDelta(" °C.")]
    assert isinstance(end, End)
    assert end.result == ModelResponse(
        Message("assistant", "It is 12 °C."), Usage(1, 4, reasoning_tokens=0), finish_reason="stop"
    )


@given(st.text())
def test_the_words_of_any_text_joined_are_that_text(text: str) -> None:
    assert "".join(words(text)) == text
    assert all(words(text))


async def test_each_request_gets_the_next_item_and_is_kept() -> None:
    model = ScriptedModel("one", "two")
    assert isinstance(model, Model)
    answers = [(await complete(model, asked(model, text))).message.text for text in ("a", "b")]
    assert answers == ["one", "two"]
    assert [request.messages[-1].text for request in model.requests] == ["a", "b"]
    assert model.remaining == 0


async def test_tool_calls_get_ids_and_their_arguments_arrive_in_pieces() -> None:
    model = ScriptedModel([call("weather", city="Oslo"), call("clock"), ToolCall("mine", "clock")])
    *deltas, end = await streamed(model)
    assert isinstance(end, End)
    assert [(each.id, each.name) for each in end.result.message.tool_calls] == [
        ("call-1", "weather"),
        ("call-2", "clock"),
        ("mine", "clock"),
    ]
    assert end.result.finish_reason == "tool_calls"
    joined = ["", "", ""]
    for delta in deltas:
        assert isinstance(delta, ToolCallDelta)
        joined[delta.index] += delta.args
    assert joined == ['{"city": "Oslo"}', "{}", "{}"]
    assert [(each.call_id, each.name) for each in deltas[:2] if isinstance(each, ToolCallDelta)] == [
        ("call-1", "weather"),
        ("", ""),
    ]


async def test_text_and_calls_can_stand_in_one_answer() -> None:
    model = ScriptedModel(["Let me look.", call("look")])
    message = (await complete(model, asked(model))).message
    assert (message.text, [each.name for each in message.tool_calls]) == ("Let me look.", ["look"])


async def test_a_response_travels_unchanged_even_with_an_empty_call_id() -> None:
    response = ModelResponse(Message("assistant", [ToolCall("", "look")]), Usage(7), "length", "m-1", "r-1")
    model = ScriptedModel(response)
    assert await complete(model, asked(model)) is response


async def test_an_exception_in_the_script_is_raised() -> None:
    error = RateLimitError("slow down", retry_after=3)
    model = ScriptedModel(error, "fine")
    with pytest.raises(RateLimitError) as caught:
        await complete(model, asked(model))
    assert caught.value is error
    assert (await complete(model, asked(model))).message.text == "fine"


async def test_a_stream_can_break_off_after_some_deltas() -> None:
    model = ScriptedModel(Say("Hel lo you", error=RateLimitError("gone"), fail_after=2))
    seen: list[object] = []
    with pytest.raises(RateLimitError, match="gone"):
        async for event in model.stream(asked(model)):
            seen.append(event)
    assert seen == [TextDelta("Hel"), TextDelta(" lo")]
    assert model.open_streams == 0


async def test_say_carries_reasoning_pieces_and_usage() -> None:
    model = ScriptedModel(Say(["bob@exa", "mple.com"], reasoning=Reasoning("hm", "sealed"), usage=Usage(9, 4)))
    *deltas, end = await streamed(model)
    assert deltas == [ReasoningDelta("hm"), TextDelta("bob@exa"), TextDelta("mple.com")]
    assert isinstance(end, End)
    assert end.result.message.parts == (Reasoning("hm", "sealed"), Text("bob@example.com"))
    assert end.result.usage == Usage(9, 4)


async def test_a_delayed_answer_goes_on_when_its_event_is_set() -> None:
    met, go = asyncio.Barrier(2), asyncio.Event()
    model = ScriptedModel(Say("never mind", delay=met, delay_after=1), Say("late", delay=go))
    stream = model.stream(asked(model))
    assert await anext(stream) == TextDelta("never")
    rest = asyncio.ensure_future(anext(stream))
    await met.wait()
    assert await rest == TextDelta(" mind")
    await stream.aclose()
    late = asyncio.create_task(complete(model, asked(model)))
    while model.open_streams == 0:
        await asyncio.sleep(0)
    assert not late.done()
    go.set()
    assert (await late).message.text == "late"


async def test_functions_in_the_script_see_the_request() -> None:
    async def later(request: ModelRequest) -> str:
        return request.messages[-1].text.upper()

    model = ScriptedModel(lambda request: [call("echo", text=request.messages[-1].text)], later)
    assert (await complete(model, asked(model))).message.tool_calls[0].parsed() == {"text": "hi"}
    assert (await complete(model, asked(model))).message.text == "HI"


async def test_a_function_model_answers_every_request() -> None:
    model = FunctionModel(lambda request: f"{len(request.messages)} said")
    assert [(await complete(model, asked(model))).message.text for _ in range(2)] == ["1 said", "1 said"]
    assert len(model.requests) == 2


async def test_a_function_may_be_a_generator_of_events_and_is_closed_with_its_stream() -> None:
    closed: list[bool] = []

    async def events(request: ModelRequest) -> AsyncIterator[Event | End[ModelResponse]]:
        try:
            yield TextDelta("a")
            yield End(ModelResponse(Message("assistant", "a")))
        finally:
            closed.append(True)

    model = FunctionModel(events)
    assert await streamed(model) == [TextDelta("a"), End(ModelResponse(Message("assistant", "a")))]
    stream = model.stream(asked(model))
    await anext(stream)
    await stream.aclose()
    assert closed == [True, True]


async def test_open_streams_are_counted_until_they_are_closed() -> None:
    model = ScriptedModel("a b", "c d")
    first, second = model.stream(asked(model)), model.stream(asked(model))
    assert model.open_streams == 0
    await anext(first)
    await anext(second)
    assert model.open_streams == 2
    await first.aclose()
    assert model.open_streams == 1
    with contextlib.suppress(StopAsyncIteration):
        while True:
            await anext(second)
    assert model.open_streams == 0


async def test_other_tasks_run_between_two_deltas_unless_told_otherwise() -> None:
    async def turns_while_streaming(model: ScriptedModel) -> int:
        turns = 0

        async def count() -> None:
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        counter = asyncio.create_task(count())
        await streamed(model)
        counter.cancel()
        return turns

    assert await turns_while_streaming(ScriptedModel("a b c d")) >= 4
    assert await turns_while_streaming(ScriptedModel("a b c d", suspend=False)) == 0


async def test_running_out_of_script_says_how_many_and_what_was_asked() -> None:
    model = ScriptedModel("one", name="helper")
    await complete(model, asked(model))
    request = ModelRequest(
        model,
        (
            Message("user", "x" * 50),
            Message("assistant", [ToolCall("1", "read"), ToolCall("2", "read")]),
            Message("tool", [ToolResult("a", call_id="1"), ToolResult("b", call_id="2")]),
        ),
        tools=(ToolDef("read"), ToolDef("write")),
    )
    with pytest.raises(ScriptError) as caught:
        await complete(model, request)
    assert str(caught.value) == (
        "helper: the script has 1 item and this is request 2; it was [messages: user '" + "x" * 39 + "…', "
        "assistant calls read+read, 2 tool results; tools: read, write]; "
        "add an item, or find out who calls once more than expected"
    )
    assert isinstance(caught.value, AssertionError)
    assert isinstance(caught.value, ExpressError)


async def test_usage_counts_words_of_everything_that_can_be_read() -> None:
    model = ScriptedModel(Say("one two", reasoning="let me think", calls=[ToolCall("1", "f", '{"a": 1}')]))
    request = ModelRequest(
        model,
        (Message("user", "a b c"), Message("tool", [ToolResult("d e", call_id="0")])),
        system=(Section("instructions", "be brief"), Section("memory", "none")),
    )
    assert (await complete(model, request)).usage == Usage(3 + 2 + 3, 3 + 2 + 2, reasoning_tokens=3)


async def test_an_empty_answer_has_no_parts() -> None:
    model = ScriptedModel("")
    assert (await complete(model, asked(model))).message.parts == ()


@pytest.mark.parametrize(
    ("item", "message"),
    [
        (None, r"script\[1\] is None: expected text, Say"),
        (7, r"script\[1\] is 7: expected"),
        (RateLimitError, r"script\[1\] is the class RateLimitError: write an instance, RateLimitError\(\.\.\.\)"),
    ],
)
def test_a_script_is_checked_when_it_is_written(item: object, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        ScriptedModel("fine", item)  # type: ignore[arg-type]


async def test_what_a_function_gives_is_checked_when_it_is_asked() -> None:
    model = ScriptedModel(lambda _: None, lambda _: [3])  # type: ignore[arg-type, return-value, list-item]
    with pytest.raises(TypeError, match=r"a model cannot answer with None \(NoneType\): expected text"):
        await complete(model, asked(model))
    with pytest.raises(TypeError, match="a list that holds 3"):
        await complete(model, asked(model))


def test_say_refuses_a_break_without_an_error() -> None:
    with pytest.raises(ValueError, match="fail_after=1 says when, error= must say what"):
        Say("a b", fail_after=1)


async def test_say_refuses_to_break_after_more_deltas_than_it_has() -> None:
    model = ScriptedModel(Say("a b", error=RateLimitError("x"), fail_after=3))
    with pytest.raises(ValueError, match="has 2 deltas"):
        await complete(model, asked(model))
