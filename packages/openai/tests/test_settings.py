"""Every setting arrives under the name it has at OpenAI, or is refused by name."""

from __future__ import annotations

from typing import Any

import pytest

from agent_express.errors import UnsupportedError
from agent_express.messages import Message, ModelRequest, OutputSchema, Settings, ToolDef
from agent_express_openai.wire.chat_request import chat_request
from agent_express_openai.wire.responses_request import responses_request
from agent_express_openai.wire.settings import with_options

LOOK = ToolDef("look", "Look there.", {"type": "object", "properties": {"at": {"type": "string"}}})
CLOSED = {
    "type": "object",
    "properties": {"a": {"type": "integer"}},
    "required": ["a"],
    "additionalProperties": False,
}


class Named:
    name = "openai:gpt-5"


def asked(*, tools: tuple[ToolDef, ...] = (), output: OutputSchema | None = None, **settings: Any) -> ModelRequest:
    return ModelRequest(Named(), (Message("user", "?"),), tools=tools, output=output, settings=Settings(**settings))


def chat(*, is_openai: bool = True, **asking: Any) -> dict[str, Any]:
    return chat_request(asked(**asking), "gpt-5", "openai", is_openai=is_openai)


def responses(model: str = "gpt-5", **asking: Any) -> dict[str, Any]:
    return responses_request(asked(**asking), model, "openai")


def test_what_is_not_set_is_left_to_the_provider() -> None:
    assert set(chat()) == {"model", "messages", "stream", "stream_options"}
    assert set(responses("gpt-4o")) == {"model", "input", "stream", "store"}


def test_all_settings_reach_chat_completions() -> None:
    body = chat(
        temperature=0.0,
        top_p=0.5,
        max_tokens=9,
        seed=0,
        stop=("END",),
        reasoning_effort="low",
        parallel_tool_calls=False,
        tool_choice="required",
        tools=(LOOK,),
        options={"prompt_cache_key": "k"},
    )
    expected = {
        "temperature": 0.0,
        "top_p": 0.5,
        "max_completion_tokens": 9,
        "seed": 0,
        "stop": ["END"],
        "reasoning_effort": "low",
        "parallel_tool_calls": False,
        "tool_choice": "required",
        "prompt_cache_key": "k",
    }
    assert {name: body[name] for name in expected} == expected


def test_other_servers_know_max_tokens_alone() -> None:
    body = chat(is_openai=False, max_tokens=9)
    assert body["max_tokens"] == 9
    assert "max_completion_tokens" not in body


def test_all_settings_that_the_responses_api_has_reach_it() -> None:
    body = responses(
        temperature=0.0,
        top_p=0.5,
        max_tokens=9,
        reasoning_effort="low",
        parallel_tool_calls=True,
        tool_choice="look",
        tools=(LOOK,),
        options={"prompt_cache_key": "k", "reasoning": {"summary": "auto"}},
    )
    expected = {
        "temperature": 0.0,
        "top_p": 0.5,
        "max_output_tokens": 9,
        "reasoning": {"effort": "low", "summary": "auto"},
        "parallel_tool_calls": True,
        "tool_choice": {"type": "function", "name": "look"},
        "prompt_cache_key": "k",
        "store": False,
    }
    assert {name: body[name] for name in expected} == expected


@pytest.mark.parametrize(("setting", "value"), [("seed", 0), ("stop", ("END",))])
def test_a_setting_that_the_responses_api_lacks_is_an_error_or_a_warning(setting: str, value: Any) -> None:
    with pytest.raises(UnsupportedError, match=f"openai:gpt-5: the Responses API has no setting '{setting}'"):
        responses(**{setting: value})
    with pytest.warns(UserWarning, match=f"no setting '{setting}'"):
        body = responses(**{setting: value}, unsupported="warn")
    assert setting not in body


@pytest.mark.parametrize("word", ["auto", "none", "required"])
def test_a_word_chooses_among_the_tools(word: str) -> None:
    assert chat(tools=(LOOK,), tool_choice=word)["tool_choice"] == word
    assert responses(tools=(LOOK,), tool_choice=word)["tool_choice"] == word


def test_a_name_chooses_one_tool() -> None:
    assert chat(tools=(LOOK,), tool_choice="look")["tool_choice"] == {"type": "function", "function": {"name": "look"}}
    assert responses(tools=(LOOK,), tool_choice="look")["tool_choice"] == {"type": "function", "name": "look"}


def test_without_tools_a_choice_that_changes_nothing_is_not_sent() -> None:
    """The API refuses it there; the last step of a turn is sent with "none"."""
    for body in (chat(tool_choice="none", parallel_tool_calls=True), responses(tool_choice="none")):
        assert not {"tool_choice", "parallel_tool_calls", "tools"} & set(body)


def test_a_tool_is_offered_with_its_schema_as_it_is() -> None:
    (tool,) = chat(tools=(LOOK,))["tools"]
    assert tool == {
        "type": "function",
        "function": {"name": "look", "description": "Look there.", "parameters": LOOK.parameters},
    }
    (tool,) = responses(tools=(LOOK,))["tools"]
    assert tool == {
        "type": "function",
        "name": "look",
        "description": "Look there.",
        "parameters": LOOK.parameters,
        "strict": False,
    }


@pytest.mark.parametrize(("schema", "strict"), [(CLOSED, True), ({"type": "object", "properties": {}}, False)])
def test_structured_output_is_strict_where_the_schema_allows_it(schema: dict[str, Any], strict: bool) -> None:
    output = OutputSchema("my answer", schema)
    form = {"name": "my_answer", "schema": schema, "strict": strict}
    assert chat(output=output)["response_format"] == {"type": "json_schema", "json_schema": form}
    assert responses(output=output)["text"] == {"format": {"type": "json_schema", **form}}


@pytest.mark.parametrize(
    ("model", "sealed"),
    [("gpt-5", True), ("gpt-5.1-codex", True), ("o3", True), ("gpt-5-chat-latest", False), ("gpt-4o", False)],
)
def test_sealed_reasoning_is_asked_of_models_that_reason(model: str, sealed: bool) -> None:
    assert (responses(model).get("include") == ["reasoning.encrypted_content"]) is sealed
    assert responses(model, reasoning_effort="low")["include"] == ["reasoning.encrypted_content"]


def test_options_are_laid_over_the_body_and_none_takes_a_field_away() -> None:
    body = {"a": 1, "b": {"c": 1, "d": 2}, "tools": [{"n": 1}], "e": 5}
    options = {"a": 2, "b": {"c": 3}, "tools": ({"n": 1}, {"n": 2}), "e": None, "f": [1]}
    assert with_options(body, options) == {"a": 2, "b": {"c": 3, "d": 2}, "tools": [{"n": 1}, {"n": 2}], "f": [1]}
    assert body["tools"] == [{"n": 1}]


def test_options_add_the_providers_own_tools_to_ours() -> None:
    body = responses(tools=(LOOK,), options={"tools": [{"type": "web_search"}]})
    assert [tool["type"] for tool in body["tools"]] == ["function", "web_search"]


def test_no_option_turns_streaming_off() -> None:
    assert chat(options={"stream": False})["stream"] is True
    assert responses(options={"stream": None})["stream"] is True
