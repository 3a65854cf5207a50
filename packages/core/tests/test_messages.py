"""Messages, their parts, requests, responses and usage: frozen values."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from agent_express import Message, ModelRequest, ModelResponse, ToolCall, ToolResult, Usage
from agent_express.messages import (
    Audio,
    File,
    Image,
    Json,
    Opaque,
    Part,
    Reasoning,
    Resource,
    Section,
    Settings,
    Text,
    ToolDef,
)
from agent_express.testing import ScriptedModel

PARTS: list[Part] = [
    Text("hello"),
    Image(data=b"\x89PNG", media_type="image/png"),
    Image(url="https://x/y.png"),
    Audio(b"RIFF"),
    File(file_id="f-1", name="a.pdf"),
    Reasoning("thinking", signature="sealed", data={"id": "r-1"}, provider="openai"),
    ToolCall("1", "add", '{"a": 1}'),
    ToolResult([Text("x"), Json({"a": [1]}), Image(url="u"), Resource("file:///a", text="t")], True, "1", "add"),
    Resource("file:///a", data=b"bytes", media_type="x/y"),
    Json({"deep": [None, 1.5, True]}),
    Opaque("new-kind", {"x": 1}, "openai"),
]


def test_a_plain_string_becomes_one_text() -> None:
    assert Message("user", "hi").parts == (Text("hi"),)
    assert ToolResult("hi").parts == (Text("hi"),)
    assert Message("user").parts == ()


@pytest.mark.parametrize("value", [Message("user", "x"), *PARTS, Usage(), Settings(), Section("a", "b"), ToolDef("t")])
def test_values_are_frozen_and_a_change_is_a_copy(value: Any) -> None:
    name = next(iter(value.__dataclass_fields__))
    with pytest.raises(FrozenInstanceError):
        setattr(value, name, None)
    assert value.replace() == value
    assert value.replace() is not value


@pytest.mark.parametrize("part", PARTS, ids=lambda part: part.kind)
def test_every_part_survives_json_unchanged(part: Part) -> None:
    adapter = TypeAdapter(Message)
    message = Message("assistant", [part], origin="guard", mark="superseded")
    assert adapter.validate_json(adapter.dump_json(message)) == message


def test_the_text_of_a_message_is_its_texts_joined() -> None:
    message = Message("assistant", [Reasoning("hm"), Text("Hello "), ToolCall("1", "add"), Text("Ann")])
    assert message.text == "Hello Ann"
    assert Message("user", [Image(url="u")]).text == ""


def test_with_text_replaces_all_texts_and_leaves_the_rest_in_its_place() -> None:
    thought, call = Reasoning("hm"), ToolCall("1", "add")
    message = Message("assistant", [thought, Text("secret "), call, Text("more")])
    assert message.with_text("***").parts == (thought, Text("***"), call)
    assert Message("assistant", [call]).with_text("hi").parts == (Text("hi"), call)
    assert Message("assistant", [call]).with_text("").parts == (call,)


@given(st.lists(st.sampled_from(PARTS), max_size=6), st.text(min_size=1))
def test_with_text_gives_a_message_with_that_text_and_the_same_other_parts(parts: list[Part], text: str) -> None:
    message = Message("assistant", parts)
    changed = message.with_text(text)
    assert changed.text == text
    assert [part for part in changed.parts if not isinstance(part, Text)] == [
        part for part in parts if not isinstance(part, Text)
    ]


def test_the_calls_of_a_message_are_in_order() -> None:
    one, two = ToolCall("1", "a"), ToolCall("2", "b")
    assert Message("assistant", [one, Text("x"), two]).tool_calls == (one, two)


@pytest.mark.parametrize("args", ["[1]", "3", '"x"', "null", "{", ""])
def test_arguments_that_are_no_json_object_are_a_value_error(args: str) -> None:
    with pytest.raises(ValueError, match=r"arguments|Expecting|column|expected|EOF"):
        ToolCall("1", "add", args).parsed()


def test_arguments_are_parsed_anew_each_time() -> None:
    call = ToolCall("1", "add", '{"a": [1]}')
    call.parsed()["a"].append(2)
    assert call.parsed() == {"a": [1]}


def test_the_text_of_a_result_is_its_texts_and_json_one_per_line() -> None:
    result = ToolResult([Text("12 °C"), Image(url="u"), Json({"wind": [1, None]})])
    assert result.text == '12 °C\n{"wind":[1,null]}'


# --- usage --------------------------------------------------------------------------------------


def test_usage_that_is_missing_is_none_and_never_0() -> None:
    usage = Usage()
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == (None, None, None)


def test_a_total_is_what_is_known() -> None:
    assert Usage(3, 4).total_tokens == 7
    assert Usage(output_tokens=4).total_tokens == 4
    assert Usage(input_tokens=3).total_tokens == 3


counts = st.none() | st.integers(0, 1000)
usages = st.builds(Usage, counts, counts, counts, counts, counts)


@given(usages, usages, usages)
def test_usages_add_up_field_by_field_in_any_order(a: Usage, b: Usage, c: Usage) -> None:
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    assert a + Usage() == a
    total = (a + b).input_tokens
    assert total == (
        None if a.input_tokens is b.input_tokens is None else (a.input_tokens or 0) + (b.input_tokens or 0)
    )


# --- requests -----------------------------------------------------------------------------------


def test_the_system_text_is_the_sections_with_an_empty_line_between_them() -> None:
    request = ModelRequest(ScriptedModel(), system=(Section("a", "one"), Section("b", ""), Section("c", "two")))
    assert request.system_text == "one\n\ntwo"


def test_a_response_is_one_answer_with_its_usage_and_why_it_ended() -> None:
    response = ModelResponse(Message("assistant", "hi"))
    assert (response.usage, response.finish_reason, response.model, response.id) == (Usage(), "stop", "", "")
