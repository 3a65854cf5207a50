"""System prompt, tools, settings, marks and thinking of a request, as they go to the API."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_express.errors import BadRequestError, UnsupportedError
from agent_express.messages import (
    Message,
    ModelRequest,
    OutputSchema,
    Reasoning,
    Section,
    Settings,
    Text,
    ToolCall,
    ToolDef,
    ToolResult,
)
from agent_express_anthropic import AnthropicModel
from agent_express_anthropic.wire import Sending, to_wire

HELLO = Message("user", "hello")
LOOK = ToolDef("look", "Look at a file.", {"properties": {"path": {"type": "string"}}})
THOUGHT = Message("assistant", [Reasoning("so", signature="c2ln", provider="anthropic"), Text("42")])
EPHEMERAL = {"type": "ephemeral"}


def wire(model: str = "claude-sonnet-5-5", *, options: Any = None, **fields: Any) -> Sending:
    fields = {"messages": (HELLO,), **fields}
    return to_wire(ModelRequest(AnthropicModel(model), **fields), model, **(options or {}))


def body(model: str = "claude-sonnet-5-5", **fields: Any) -> dict[str, Any]:
    return dict(wire(model, **fields).body)


def test_a_plain_request_asks_for_the_longest_answer_the_model_can_give() -> None:
    assert body() == {
        "model": "claude-sonnet-5-5",
        "max_tokens": 128_000,
        "messages": [{"role": "user", "content": [{"type": "text", "text": "hello"}]}],
        "stream": True,
    }


@pytest.mark.parametrize(
    ("model", "longest"),
    [("claude-haiku-4-5-20251001", 64_000), ("claude-opus-9", 8_192), ("my-local-model", 8_192)],
)
def test_the_longest_answer_depends_on_the_model(model: str, longest: int) -> None:
    assert body(model)["max_tokens"] == longest


def test_the_requests_max_tokens_win_over_the_models_and_these_over_the_table() -> None:
    assert body(options={"max_tokens": 500})["max_tokens"] == 500
    assert body(options={"max_tokens": 500}, settings=Settings(max_tokens=7))["max_tokens"] == 7


def test_each_system_section_is_a_block_of_its_own_and_blank_ones_are_left_out() -> None:
    sections = (Section("base", "Be kind.", cache_mark=True), Section("none", " "), Section("memory", "She is Ada."))
    assert body(system=sections)["system"] == [
        {"type": "text", "text": "Be kind.", "cache_control": EPHEMERAL},
        {"type": "text", "text": "She is Ada."},
    ]


# --- tools --------------------------------------------------------------------------------------


def test_a_tool_is_sent_with_its_description_and_a_schema_of_an_object() -> None:
    schema = {"type": "object", "properties": {"path": {"type": "string"}}}
    assert body(tools=(LOOK, ToolDef("go")))["tools"] == [
        {"name": "look", "description": "Look at a file.", "input_schema": schema},
        {"name": "go", "input_schema": {"type": "object", "properties": {}}},
    ]


@pytest.mark.parametrize(
    ("choice", "parallel", "sent"),
    [
        (None, None, None),
        (None, True, None),
        (None, False, {"type": "auto", "disable_parallel_tool_use": True}),
        ("auto", None, {"type": "auto"}),
        ("auto", False, {"type": "auto", "disable_parallel_tool_use": True}),
        ("none", None, {"type": "none"}),
        ("none", False, {"type": "none"}),
        ("required", None, {"type": "any"}),
        ("required", False, {"type": "any", "disable_parallel_tool_use": True}),
        ("look", None, {"type": "tool", "name": "look"}),
        ("look", False, {"type": "tool", "name": "look", "disable_parallel_tool_use": True}),
    ],
)
def test_the_tool_choice_is_said_in_the_apis_words(choice: str | None, parallel: bool | None, sent: Any) -> None:
    settings = Settings(tool_choice=choice, parallel_tool_calls=parallel)
    assert body(tools=(LOOK,), settings=settings).get("tool_choice") == sent


@pytest.mark.parametrize("choice", [None, "auto", "none"])
def test_without_tools_there_is_no_tool_choice(choice: str | None) -> None:
    assert body(settings=Settings(tool_choice=choice)).keys().isdisjoint({"tools", "tool_choice"})


@pytest.mark.parametrize("choice", ["required", "look"])
def test_a_tool_that_must_be_called_must_be_on_offer(choice: str) -> None:
    with pytest.raises(BadRequestError, match=f"tool_choice is '{choice}', but the request offers no tools"):
        body(settings=Settings(tool_choice=choice))


def test_a_history_with_calls_declares_their_tools_where_none_is_on_offer() -> None:
    history = (HELLO, Message("assistant", [ToolCall("a", "look")]), Message("tool", [ToolResult("x", call_id="a")]))
    sent = body(messages=history)
    assert sent["tools"] == [{"name": "look", "input_schema": {"type": "object"}}]
    assert sent["tool_choice"] == {"type": "none"}


# --- settings that the API lacks ----------------------------------------------------------------

lacking = pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"temperature": 0.0}, "has no setting temperature"),
        ({"top_p": 0.5}, "has no setting top_p"),
        ({"seed": 1}, "has no setting seed"),
        ({"reasoning_effort": "minimal"}, "no reasoning_effort 'minimal'"),
    ],
)


@lacking
def test_a_setting_that_the_api_lacks_is_an_error_that_says_what_to_do(settings: dict[str, Any], why: str) -> None:
    with pytest.raises(UnsupportedError, match=f"{why}.*take it out, or set Settings.unsupported"):
        body(settings=Settings(**settings))


@lacking
def test_a_setting_that_the_api_lacks_is_a_warning_where_that_is_wanted(settings: dict[str, Any], why: str) -> None:
    with pytest.warns(UserWarning, match=why):
        sent = body(settings=Settings(**settings, unsupported="warn"))
    assert sent.keys().isdisjoint(settings)


def test_stop_texts_are_stop_sequences() -> None:
    assert body(settings=Settings(stop=("END", "STOP")))["stop_sequences"] == ["END", "STOP"]


# --- thinking -----------------------------------------------------------------------------------


def test_an_effort_lets_the_model_think_and_tells_it_how_hard() -> None:
    sent = body(settings=Settings(reasoning_effort="xhigh"))
    assert sent["thinking"] == {"type": "adaptive"}
    assert sent["output_config"] == {"effort": "xhigh"}


def test_the_least_effort_takes_the_place_of_a_minimal_one_where_that_is_wanted() -> None:
    with pytest.warns(UserWarning, match="its least is 'low'"):
        sent = body(settings=Settings(reasoning_effort="minimal", unsupported="warn"))
    assert sent["output_config"] == {"effort": "low"}


def test_older_models_get_a_budget_below_max_tokens_in_place_of_an_effort() -> None:
    sent = body("claude-haiku-4-5", settings=Settings(reasoning_effort="high"))
    assert sent["thinking"] == {"type": "enabled", "budget_tokens": 24_576}
    assert "output_config" not in sent
    short = body("claude-haiku-4-5", settings=Settings(reasoning_effort="high", max_tokens=2_000))
    assert short["thinking"] == {"type": "enabled", "budget_tokens": 1_999}


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        (Settings(reasoning_effort="max"), "no reasoning_effort 'max', it takes low, medium, high"),
        (Settings(reasoning_effort="low", max_tokens=1_024), "cannot think .* with max_tokens 1024"),
    ],
)
def test_a_budget_that_an_older_model_cannot_have_is_an_error(settings: Settings, why: str) -> None:
    with pytest.raises(UnsupportedError, match=why):
        body("claude-haiku-4-5", settings=settings)
    with pytest.warns(UserWarning, match=why):
        assert "thinking" not in body("claude-haiku-4-5", settings=settings.replace(unsupported="warn"))


def test_earlier_thinking_may_be_dropped_where_middleware_has_changed_what_came_before_it() -> None:
    sending = wire("claude-opus-5-5", messages=(HELLO, THOUGHT, HELLO))
    assert sending.body["thinking"] == {
        "type": "adaptive",
        "block_binding": {"prefix_mismatch_behavior": "drop_block"},
    }
    assert sending.headers == {"anthropic-beta": "thinking-binding-controls-2026-08-01"}


@pytest.mark.parametrize(
    ("model", "fields"),
    [
        ("claude-opus-5-5", {}),
        ("claude-opus-5", {"messages": (HELLO, THOUGHT, HELLO)}),
        ("my-local-model", {"messages": (HELLO, THOUGHT, HELLO)}),
    ],
)
def test_nothing_is_said_of_earlier_thinking_where_there_is_none_or_the_model_does_not_mind(
    model: str, fields: dict[str, Any]
) -> None:
    sending = wire(model, **fields)
    assert "thinking" not in sending.body
    assert sending.headers == {}


def test_the_callers_word_on_earlier_thinking_stands() -> None:
    strict = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "error"}}
    sending = wire(messages=(HELLO, THOUGHT, HELLO), settings=Settings(options={"thinking": strict}))
    assert sending.body["thinking"] == strict
    assert sending.headers == {}


# --- structured output --------------------------------------------------------------------------

CITY = {"type": "object", "properties": {"name": {"type": "string", "minLength": 1}}, "required": ["name"]}


def test_a_schema_is_the_form_of_the_output() -> None:
    sent = body(output=OutputSchema("City", CITY))
    assert sent["output_config"]["format"] == {
        "type": "json_schema",
        "schema": {
            "type": "object",
            "properties": {"name": {"type": "string", "description": "(minLength: 1)"}},
            "required": ["name"],
            "additionalProperties": False,
        },
    }


def test_a_schema_that_the_api_cannot_enforce_is_asked_for_in_words_after_everything_else() -> None:
    free = {"type": "object", "additionalProperties": {"type": "integer"}}
    sent = body(output=OutputSchema("Counts", free), system=(Section("base", "Be kind."),))
    assert "output_config" not in sent
    assert [block["text"][:40] for block in sent["system"]] == ["Be kind.", "Your final answer must be one JSON objec"]
    assert '"additionalProperties": {"type": "integer"}' in sent["system"][1]["text"]


def test_effort_and_form_go_together() -> None:
    sent = body(output=OutputSchema("City", CITY), settings=Settings(reasoning_effort="low"))
    assert sent["output_config"].keys() == {"effort", "format"}


# --- options of the provider --------------------------------------------------------------------


def test_options_are_sent_as_they_are_and_win() -> None:
    sent = body(settings=Settings(options={"service_tier": "standard_only", "max_tokens": 5, "stream": False}))
    assert sent["service_tier"] == "standard_only"
    assert sent["max_tokens"] == 5
    assert sent["stream"] is True


def test_the_providers_own_tools_are_offered_beside_ours() -> None:
    search = {"type": "web_search_20260318", "name": "web_search"}
    sent = body(tools=(LOOK,), settings=Settings(options={"tools": [search]}))
    assert [tool["name"] for tool in sent["tools"]] == ["look", "web_search"]


def test_extra_headers_are_headers_and_beta_names_are_joined() -> None:
    options = {"extra_headers": {"Anthropic-Beta": "files-2026", "X-Trace": "1"}}
    sending = wire(messages=(HELLO, THOUGHT, HELLO), settings=Settings(options=options))
    assert "extra_headers" not in sending.body
    assert sending.headers == {
        "anthropic-beta": "files-2026,thinking-binding-controls-2026-08-01",
        "x-trace": "1",
    }


def test_an_output_config_is_joined_to_ours() -> None:
    settings = Settings(reasoning_effort="low", options={"output_config": {"task_budget": 9}})
    assert body(settings=settings)["output_config"] == {"effort": "low", "task_budget": 9}


# --- cache marks --------------------------------------------------------------------------------


def marked(sent: dict[str, Any]) -> list[str]:
    """The names and texts of the marked blocks, in the order of the API."""
    said = [block for message in sent["messages"] for block in message["content"]]
    blocks = [*sent.get("tools", []), *sent.get("system", []), *said]
    return [block.get("name") or block["text"] for block in blocks if "cache_control" in block]


def request_with_marks(tools: int, sections: int, messages: int) -> dict[str, Any]:
    return {
        "tools": tuple(ToolDef(f"tool{n}", cache_mark=True) for n in range(tools)),
        "system": tuple(Section(f"s{n}", f"section {n}", cache_mark=True) for n in range(sections)),
        "messages": tuple(
            Message("user" if n % 2 == 0 else "assistant", f"message {n}", cache_mark=True) for n in range(messages)
        )
        or (HELLO,),
    }


def test_up_to_four_marks_are_all_sent() -> None:
    assert marked(body(**request_with_marks(1, 1, 2))) == ["tool0", "section 0", "message 0", "message 1"]


def test_of_more_the_end_of_the_static_part_and_the_newest_are_kept() -> None:
    assert marked(body(**request_with_marks(2, 2, 5))) == ["section 1", "message 2", "message 3", "message 4"]
    assert marked(body(**request_with_marks(2, 0, 3))) == ["tool1", "message 0", "message 1", "message 2"]
    assert marked(body(**request_with_marks(0, 0, 5))) == ["message 1", "message 2", "message 3", "message 4"]


@given(st.integers(0, 6), st.integers(0, 6), st.integers(0, 6), st.booleans())
def test_there_are_never_more_marks_than_the_api_takes(tools: int, sections: int, messages: int, auto: bool) -> None:
    options = {"cache_control": EPHEMERAL} if auto else {}
    sent = body(**request_with_marks(tools, sections, messages), settings=Settings(options=options))
    assert len(marked(sent)) == min(tools + sections + messages, 3 if auto else 4)


def test_a_mark_on_a_message_goes_to_the_last_block_that_can_carry_one() -> None:
    thought = Message("assistant", [Text("42"), Reasoning("so", signature="c2ln", provider="anthropic")])
    history = (HELLO, thought.replace(cache_mark=True), Message("assistant", "."), HELLO)
    assert marked(body(messages=history)) == ["42"]


def test_the_time_to_live_is_the_models_unless_the_request_says_another() -> None:
    fields = {"messages": (Message("user", "hello", cache_mark=True),), "options": {"cache_ttl": "1h"}}
    block = body(**fields)["messages"][0]["content"][0]
    assert block["cache_control"] == {"type": "ephemeral", "ttl": "1h"}
    sent = body(**fields, settings=Settings(options={"cache_ttl": "5m"}))
    assert sent["messages"][0]["content"][0]["cache_control"] == {"type": "ephemeral", "ttl": "5m"}
    assert "cache_ttl" not in sent


def test_what_the_caller_handed_in_is_not_changed() -> None:
    search = {"type": "web_search_20260318", "name": "web_search", "cache_control": {"type": "ephemeral"}}
    settings = Settings(options={"tools": [search], "cache_ttl": "1h"})
    body(**request_with_marks(2, 2, 5), settings=settings)
    assert search == {"type": "web_search_20260318", "name": "web_search", "cache_control": {"type": "ephemeral"}}
