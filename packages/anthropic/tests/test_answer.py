"""Streams of the API become deltas and one response."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_express.errors import ContentFilterError, ProviderUnavailableError
from agent_express.events import Event, ReasoningDelta, TextDelta, ToolCallDelta
from agent_express.messages import Message, ModelRequest, ModelResponse, Opaque, Reasoning, Text, ToolCall, Usage
from agent_express_anthropic import AnthropicModel
from agent_express_anthropic.answer import Answer
from agent_express_anthropic.wire import to_wire

START: dict[str, Any] = {"type": "message_start", "message": {"id": "msg_1", "model": "claude-sonnet-5-5"}}
STOP: dict[str, Any] = {"type": "message_stop"}


def ending(reason: str | None = "end_turn", **fields: Any) -> dict[str, Any]:
    return {"type": "message_delta", "delta": {"stop_reason": reason}, **fields}


def block(index: int, start: dict[str, Any], *deltas: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"type": "content_block_start", "index": index, "content_block": start},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def fed(*events: Any) -> tuple[list[Event], Answer]:
    answer = Answer("anthropic:kit")
    deltas = [answer.feed(event) for event in events]
    return [delta for delta in deltas if delta is not None], answer


def heard(*events: Any, end: dict[str, Any] | None = None) -> tuple[list[Event], ModelResponse]:
    deltas, answer = fed(START, *events, end or ending(), STOP)
    return deltas, answer.response()


def test_text_comes_piece_by_piece_and_whole() -> None:
    text = block(0, {"type": "text", "text": "Hi"}, *({"type": "text_delta", "text": each} for each in (" the", "re")))
    deltas, response = heard(*text)
    assert deltas == [TextDelta("Hi"), TextDelta(" the"), TextDelta("re")]
    assert response.message == Message("assistant", "Hi there")
    assert (response.id, response.model) == ("msg_1", "claude-sonnet-5-5")


def test_thinking_comes_with_its_seal() -> None:
    start = {"type": "thinking", "thinking": "", "signature": ""}
    deltas, response = heard(
        *block(
            0,
            start,
            {"type": "thinking_delta", "thinking": "so"},
            {"type": "thinking_delta", "thinking": "..."},
            {"type": "signature_delta", "signature": "c2ln"},
        )
    )
    assert deltas == [ReasoningDelta("so"), ReasoningDelta("...")]
    assert response.message.parts == (Reasoning("so...", signature="c2ln", provider="anthropic"),)


def test_calls_are_counted_among_themselves_and_named_from_their_first_delta() -> None:
    pieces = ("", '{"a"', ": 1}")
    deltas, response = heard(
        *block(0, {"type": "text", "text": "I look."}),
        *block(
            1,
            {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {}},
            *({"type": "input_json_delta", "partial_json": piece} for piece in pieces),
        ),
        *block(2, {"type": "tool_use", "id": "toolu_2", "name": "go", "input": {}}),
        end=ending("tool_use"),
    )
    assert deltas == [
        TextDelta("I look."),
        ToolCallDelta(index=0, call_id="toolu_1", name="look"),
        ToolCallDelta(index=0, args='{"a"', call_id="toolu_1", name="look"),
        ToolCallDelta(index=0, args=": 1}", call_id="toolu_1", name="look"),
        ToolCallDelta(index=1, call_id="toolu_2", name="go"),
    ]
    assert response.message.tool_calls == (ToolCall("toolu_1", "look", '{"a": 1}'), ToolCall("toolu_2", "go", "{}"))
    assert response.finish_reason == "tool_calls"


def test_arguments_that_a_server_sends_all_at_once_are_kept() -> None:
    _, response = heard(*block(0, {"type": "tool_use", "id": "t", "name": "look", "input": {"a": "ü"}}))
    assert response.message.tool_calls == (ToolCall("t", "look", '{"a": "ü"}'),)


def test_arguments_that_are_no_json_stay_as_the_model_wrote_them() -> None:
    cut = {"type": "input_json_delta", "partial_json": '{"a": "x'}
    _, response = heard(*block(0, {"type": "tool_use", "id": "t", "name": "look", "input": {}}, cut))
    assert response.message.tool_calls == (ToolCall("t", "look", '{"a": "x'),)


# --- what we do not look into -------------------------------------------------------------------


def test_sealed_thinking_the_providers_tools_and_unknown_blocks_are_kept_whole_and_in_order() -> None:
    sealed = {"type": "redacted_thinking", "data": "c2VhbGVk"}
    search = {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}}
    query = ({"type": "input_json_delta", "partial_json": piece} for piece in ('{"query":', ' "oslo"}'))
    new = {"type": "hologram", "voxels": [1, 2]}
    deltas, response = heard(
        *block(0, sealed), *block(1, search, *query), *block(2, new), *block(3, {"type": "text", "text": "Rain."})
    )
    assert deltas == [TextDelta("Rain.")]
    assert response.message.parts == (
        Reasoning(data=sealed, provider="anthropic"),
        Opaque("server_tool_use", {**search, "input": {"query": "oslo"}}, provider="anthropic"),
        Opaque("hologram", new, provider="anthropic"),
        Text("Rain."),
    )


def test_what_came_in_goes_out_again_as_it_was() -> None:
    blocks: list[dict[str, Any]] = [
        {"type": "thinking", "thinking": "so", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "c2VhbGVk"},
        {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {"query": "oslo"}},
        {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": [{"type": "web_search_result"}]},
        {"type": "text", "text": "Rain."},
        {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"path": "a"}},
    ]
    _, response = heard(*(event for index, each in enumerate(blocks) for event in block(index, each)))
    history = (Message("user", "?"), response.message, Message("user", "!"))
    sent = to_wire(ModelRequest(AnthropicModel("claude-opus-5"), history), "claude-opus-5").body["messages"]
    assert sent[1]["content"] == blocks


@pytest.mark.parametrize("event", [{"type": "ping"}, {"type": "aurora", "colour": "green"}])
def test_unknown_events_pass_by(event: dict[str, Any]) -> None:
    deltas, response = heard(event, *block(0, {"type": "text", "text": "hi"}, {"type": "aurora_delta"}))
    assert deltas == [TextDelta("hi")]
    assert response.message.text == "hi"


# --- how it ends --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reason", "finish"),
    [
        ("end_turn", "stop"),
        ("stop_sequence", "stop"),
        ("tool_use", "tool_calls"),
        ("max_tokens", "length"),
        ("model_context_window_exceeded", "length"),
        ("pause_turn", "other"),
        ("something_new", "other"),
    ],
)
def test_the_stop_reason_is_a_finish_reason(reason: str, finish: str) -> None:
    assert heard(*block(0, {"type": "text", "text": "hi"}), end=ending(reason))[1].finish_reason == finish


def test_a_refusal_is_an_error_that_says_why() -> None:
    details = {"type": "refusal", "category": "cyber", "explanation": "That could do harm."}
    end = {"type": "message_delta", "delta": {"stop_reason": "refusal", "stop_details": details}}
    with pytest.raises(ContentFilterError, match=r"kit refused to answer: cyber: That could do harm\.") as caught:
        heard(*block(0, {"type": "text", "text": "Well"}), end=end)
    assert not caught.value.retryable


@pytest.mark.parametrize(
    "events",
    [[], [START], [START, ending()], [START, STOP], [START, ending(None), STOP], [ending()]],
)
def test_an_answer_without_stop_reason_or_closing_event_is_not_whole(events: list[dict[str, Any]]) -> None:
    with pytest.raises(ProviderUnavailableError, match="broke off before its end") as caught:
        fed(*events)[1].response()
    assert caught.value.retryable


# --- usage --------------------------------------------------------------------------------------


def used(first: Any, last: Any) -> Usage:
    start = {"type": "message_start", "message": {"usage": first}}
    return fed(start, ending(usage=last), STOP)[1].response().usage


def test_the_prompt_is_counted_with_what_the_cache_holds_of_it() -> None:
    first = {"input_tokens": 10, "cache_read_input_tokens": 200, "cache_creation_input_tokens": 30, "output_tokens": 1}
    last = {"output_tokens": 50, "output_tokens_details": {"thinking_tokens": 20}}
    assert used(first, last) == Usage(
        input_tokens=240, output_tokens=50, cache_read_tokens=200, cache_write_tokens=30, reasoning_tokens=20
    )


def test_the_last_figures_win_since_they_are_totals() -> None:
    assert used({"input_tokens": 10}, {"input_tokens": 70, "output_tokens": 5}) == Usage(70, 5)


@pytest.mark.parametrize("last", [None, {}, {"output_tokens": None}, "none"])
def test_what_is_not_reported_is_unknown_and_the_placeholder_at_the_start_is_no_report(last: Any) -> None:
    assert used({"input_tokens": 10, "output_tokens": 1, "cache_read_input_tokens": None}, last) == Usage(10)
    assert used(None, last) == Usage()


# --- damaged streams ----------------------------------------------------------------------------

damaged = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 2) | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(
                ["type", "index", "message", "delta", "content_block", "usage", "text", "id", "name", "input"]
            ),
            inner
            | st.sampled_from(
                [
                    *("message_start", "content_block_start", "content_block_delta", "message_delta", "message_stop"),
                    *("text", "tool_use", "thinking", "text_delta", "input_json_delta", "signature_delta"),
                ]
            ),
        )
    ),
    max_leaves=8,
)


@pytest.mark.parametrize(
    ("event", "why"),
    [
        ([], "has no type"),
        ({"type": "message_start"}, "has no message"),
        ({"type": "content_block_start", "index": "0"}, "has no index"),
        ({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta"}}, "block 0, which has not begun"),
    ],
)
def test_a_damaged_event_is_told_by_what_it_lacks(event: Any, why: str) -> None:
    with pytest.raises(ProviderUnavailableError, match=why):
        fed(event)


@given(st.lists(damaged, max_size=5))
def test_no_stream_makes_it_raise_anything_but_a_retryable_error(events: list[Any]) -> None:
    with pytest.raises(ProviderUnavailableError):  # by itself, none of these events can make an answer whole
        fed(*events, ending(None))[1].response()


answers = st.lists(st.text(min_size=1) | st.dictionaries(st.text(), st.integers() | st.text()), max_size=4)


@given(answers, st.randoms(use_true_random=False))
def test_any_answer_survives_any_cut_into_pieces(parts: list[Any], random: Any) -> None:
    events: list[dict[str, Any]] = []
    for index, part in enumerate(parts):
        whole = part if isinstance(part, str) else json.dumps(part)
        cut = random.randint(0, len(whole))
        pieces = (whole[:cut], whole[cut:])
        if isinstance(part, str):
            deltas = [{"type": "text_delta", "text": piece} for piece in pieces]
            events += block(index, {"type": "text", "text": ""}, *deltas)
        else:
            deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
            events += block(index, {"type": "tool_use", "id": f"t{index}", "name": "n", "input": {}}, *deltas)
    heard_deltas, response = heard(*events)
    assert response.message.text == "".join(part for part in parts if isinstance(part, str))
    assert [call.parsed() for call in response.message.tool_calls] == [part for part in parts if isinstance(part, dict)]
    said = "".join(delta.text for delta in heard_deltas if isinstance(delta, TextDelta))
    assert said == response.message.text
