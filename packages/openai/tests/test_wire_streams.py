"""Any stream becomes its answer, however it is cut into pieces; what no stream says becomes an error of ours."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_express.errors import ContentFilterError, ModelError, ProviderUnavailableError, RateLimitError
from agent_express.events import Event, ReasoningDelta, TextDelta, ToolCallDelta
from agent_express.messages import Message, ModelRequest, Opaque, Reasoning, Text, ToolCall, Usage
from agent_express_openai.wire.chat_request import THOUGHT
from agent_express_openai.wire.chat_stream import ChatReader
from agent_express_openai.wire.responses_request import PHASE, responses_request
from agent_express_openai.wire.responses_stream import ResponsesReader, parts_of

OWN = "openai"
words = st.text(min_size=1, max_size=12)
calls = st.builds(ToolCall, st.uuids().map(str), words, words)


class Named:
    name = "openai:gpt-5"


def chat(*chunks: Any) -> ChatReader:
    reader = ChatReader("openai:gpt-5", OWN)
    for chunk in chunks:
        reader.feed(chunk)
    return reader


def responses(*events: Any) -> ResponsesReader:
    reader = ResponsesReader("openai:gpt-5", OWN)
    for event in events:
        reader.feed(event)
    return reader


def told(reader: ChatReader | ResponsesReader, stream: Iterable[Any]) -> list[Event]:
    return [event for each in stream for event in reader.feed(each)]


def joined(events: list[Event], kind: type[TextDelta] | type[ReasoningDelta]) -> str:
    return "".join(event.text for event in events if isinstance(event, kind))


@st.composite
def pieces(draw: st.DrawFn, text: str) -> list[str]:
    """*text* cut anywhere, into any number of pieces."""
    cuts = sorted(draw(st.sets(st.integers(1, max(1, len(text) - 1)), max_size=4)))
    return [text[start:end] for start, end in pairwise([0, *(cut for cut in cuts if cut < len(text)), len(text)])]


def choice(delta: Any, finish: str | None = None) -> dict[str, Any]:
    return {"id": "c", "model": "gpt-5", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}


# --- round trips --------------------------------------------------------------------------------


@given(st.data(), words | st.just(""), words | st.just(""), st.lists(calls, max_size=3, unique_by=lambda call: call.id))
def test_a_chat_stream_cut_anywhere_is_its_answer(
    data: st.DataObject, thought: str, said: str, called: list[ToolCall]
) -> None:
    chunks = [choice({"role": "assistant", "content": ""})]
    chunks += [choice({"reasoning_content": piece}) for piece in data.draw(pieces(thought))]
    chunks += [choice({"content": piece}) for piece in data.draw(pieces(said))]
    for at, call in enumerate(called):
        head = {"index": at, "id": call.id, "type": "function", "function": {"name": call.name, "arguments": ""}}
        chunks.append(choice({"tool_calls": [head]}))
        for piece in data.draw(pieces(call.args)):
            chunks.append(choice({"tool_calls": [{"index": at, "function": {"arguments": piece}}]}))
    chunks.append(choice({}, "tool_calls" if called else "stop"))
    reader = ChatReader("openai:gpt-5", OWN)
    events = told(reader, chunks)
    response = reader.response()
    assert joined(events, TextDelta) == response.message.text == said
    assert joined(events, ReasoningDelta) == thought
    assert list(response.message.tool_calls) == called
    assert [part for part in response.message.parts if isinstance(part, Reasoning)] == (
        [Reasoning(thought, data={THOUGHT: "reasoning_content"}, provider=OWN)] if thought else []
    )
    for at, call in enumerate(called):
        own = [event for event in events if isinstance(event, ToolCallDelta) and event.index == at]
        assert "".join(event.args for event in own) == call.args
        assert (own[0].call_id, own[0].name) == (call.id, call.name)


items = st.one_of(
    st.builds(
        lambda text, at: {
            "type": "message",
            "id": at,
            "role": "assistant",
            "content": [{"type": "output_text", "text": text}],
        },
        words,
        st.uuids().map(str),
    ),
    st.builds(
        lambda args, at: {"type": "function_call", "id": f"fc_{at}", "call_id": at, "name": "look", "arguments": args},
        words,
        st.uuids().map(str),
    ),
    st.builds(
        lambda thought, at: {
            "type": "reasoning",
            "id": at,
            "summary": [{"type": "summary_text", "text": thought}],
            "encrypted_content": "c2VhbA==",
        },
        words,
        st.uuids().map(str),
    ),
    st.builds(lambda at: {"type": "web_search_call", "id": at, "status": "completed"}, st.uuids().map(str)),
)


def said_by(item: dict[str, Any], data: st.DataObject, at: int) -> list[dict[str, Any]]:
    """The events in which the API tells one item."""
    empty = {**item, "content": [], "summary": [], "arguments": ""}
    events: list[dict[str, Any]] = [{"type": "response.output_item.added", "output_index": at, "item": empty}]
    match item["type"]:
        case "message":
            kind, text = "response.output_text.delta", item["content"][0]["text"]
        case "function_call":
            kind, text = "response.function_call_arguments.delta", item["arguments"]
        case "reasoning":
            kind, text = "response.reasoning_summary_text.delta", item["summary"][0]["text"]
        case _:
            kind, text = "response.web_search_call.searching", ""
    events += [{"type": kind, "output_index": at, "delta": piece} for piece in data.draw(pieces(text))]
    return [*events, {"type": "response.output_item.done", "output_index": at, "item": item}]


@given(st.data(), st.lists(items, max_size=5))
def test_a_responses_stream_cut_anywhere_is_its_answer(data: st.DataObject, output: list[dict[str, Any]]) -> None:
    stream = [event for at, item in enumerate(output) for event in said_by(item, data, at)]
    closing = {"id": "r", "model": "gpt-5", "status": "completed", "output": data.draw(st.sampled_from([output, []]))}
    reader = ResponsesReader("openai:gpt-5", OWN)
    events = told(reader, [*stream, {"type": "response.completed", "response": closing}])
    message = reader.response().message
    assert list(message.parts) == [part for item in output for part in parts_of(item, OWN)]
    assert joined(events, TextDelta) == message.text
    for at, call in enumerate(message.tool_calls):
        own = [event for event in events if isinstance(event, ToolCallDelta) and event.index == at]
        assert "".join(event.args for event in own) == call.args
        assert own[0].call_id == call.id


@given(st.lists(items, min_size=1, max_size=5))
def test_what_the_responses_api_said_goes_back_as_it_came(output: list[dict[str, Any]]) -> None:
    """Reasoning and what we do not know word for word; texts and calls in what they mean."""
    answer = Message("assistant", [part for item in output for part in parts_of(item, OWN)])
    back = responses_request(ModelRequest(Named(), (answer, Message("user", "on"))), "gpt-5", OWN)["input"][:-1]
    while output and output[-1]["type"] == "reasoning":
        output = output[:-1]  # led to nothing: not sent
    assert [item["type"] for item in back] == [item["type"] for item in output]
    for item, came in zip(back, output, strict=True):
        match came["type"]:
            case "message":
                assert item["content"] == came["content"][0]["text"]
            case "function_call":
                assert [item[key] for key in ("call_id", "name", "arguments")] == [
                    came[key] for key in ("call_id", "name", "arguments")
                ]
            case _:
                assert item == came


# --- what no provider should send ---------------------------------------------------------------

FIELDS = [
    *("type", "choices", "delta", "content", "tool_calls", "index", "id", "function", "name", "arguments", "usage"),
    *("error", "response", "item", "output", "output_index", "status", "summary", "finish_reason", "model"),
    *("prompt_tokens", "input_tokens_details"),
]
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(FIELDS),
            inner | st.sampled_from(["response.completed", "response.output_item.done", "function_call", "message"]),
            max_size=5,
        )
    ),
    max_leaves=12,
)


@pytest.mark.parametrize("kind", [ChatReader, ResponsesReader])
@given(st.lists(anything, max_size=5))
def test_a_stream_of_anything_is_an_answer_or_a_model_error(
    kind: type[ChatReader] | type[ResponsesReader], stream: list[Any]
) -> None:
    reader = kind("openai:gpt-5", OWN)
    with suppress(ModelError):
        assert all(isinstance(event, Event) for event in told(reader, stream))
        assert reader.response().message.role == "assistant"


# --- chat: the ways of other servers ------------------------------------------------------------


def test_calls_that_are_all_numbered_0_are_told_apart_by_their_ids() -> None:
    reader = chat(
        choice({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "look", "arguments": "{1"}}]}),
        choice({"tool_calls": [{"index": 0, "function": {"arguments": "}"}}]}),
        choice({"tool_calls": [{"index": 0, "id": "b", "function": {"name": "hear", "arguments": "{2}"}}]}),
        choice({}, "tool_calls"),
    )
    assert reader.response().message.tool_calls == (ToolCall("a", "look", "{1}"), ToolCall("b", "hear", "{2}"))


def test_calls_without_a_number_are_told_apart_by_their_ids() -> None:
    reader = chat(
        choice({"tool_calls": [{"id": "a", "function": {"name": "look", "arguments": {"x": 1}}}]}),
        choice({"tool_calls": [{"id": "b", "function": {"name": "hear", "arguments": "{}"}}]}),
        choice({}, "stop"),
    )
    response = reader.response()
    assert response.message.tool_calls == (ToolCall("a", "look", '{"x": 1}'), ToolCall("b", "hear", "{}"))
    assert response.finish_reason == "tool_calls"


def test_a_call_without_arguments_has_an_empty_object() -> None:
    reader = chat(choice({"tool_calls": [{"index": 0, "id": "a", "function": {"name": "now"}}]}), choice({}, "stop"))
    assert reader.response().message.tool_calls == (ToolCall("a", "now", "{}"),)


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
def test_reasoning_is_read_from_either_field(field: str) -> None:
    response = chat(choice({field: "hm", "content": None}), choice({"content": "Yes."}, "stop")).response()
    assert response.message.parts == (Reasoning("hm", data={THOUGHT: field}, provider=OWN), Text("Yes."))


@pytest.mark.parametrize(
    ("finish", "means"),
    [
        ("stop", "stop"),
        ("length", "length"),
        ("content_filter", "content_filter"),
        ("function_call", "tool_calls"),
        ("eos", "other"),
    ],
)
def test_a_finish_reason_of_chat_completions_is_one_of_ours(finish: str, means: str) -> None:
    assert chat(choice({"content": "x"}), choice({}, finish)).response().finish_reason == means


def test_usage_of_chat_completions_has_cached_and_reasoning_tokens() -> None:
    usage = {
        "prompt_tokens": 100,
        "completion_tokens": 20,
        "prompt_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 8},
        "completion_tokens_details": {"reasoning_tokens": 12},
    }
    reader = chat(choice({"content": "x"}, "stop"), {"choices": [], "usage": usage})
    assert reader.response().usage == Usage(100, 20, 64, 8, 12)
    assert chat(choice({}, "stop"), {"usage": {"prompt_cache_hit_tokens": 5}}).response().usage == Usage(None, None, 5)


def test_an_error_in_a_chunk_is_mapped_by_its_code() -> None:
    with pytest.raises(RateLimitError):
        chat({"error": {"message": "slow down", "code": 429}})
    with pytest.raises(ProviderUnavailableError):
        chat({"object": "error", "message": "engine died", "type": "InternalServerError", "code": 500})


def test_a_stream_without_a_finish_reason_is_no_answer() -> None:
    with pytest.raises(ProviderUnavailableError, match="without a finish_reason") as caught:
        chat(choice({"content": "half an ans"})).response()
    assert caught.value.retryable


# --- responses ----------------------------------------------------------------------------------


def completed(**fields: Any) -> dict[str, Any]:
    return {"type": "response.completed", "response": {"id": "r", "status": "completed", "output": [], **fields}}


def test_a_server_that_sends_no_deltas_is_heard_all_the_same() -> None:
    item = {"type": "message", "content": [{"type": "output_text", "text": "all at once"}]}
    reader = ResponsesReader("openai:gpt-5", OWN)
    assert told(reader, [completed(output=[item])]) == [TextDelta("all at once")]
    assert reader.response().message.text == "all at once"


def test_items_that_are_not_numbered_are_all_kept() -> None:
    texts = [{"type": "message", "content": [{"type": "output_text", "text": text}]} for text in ("a", "b")]
    stream = [{"type": "response.output_item.done", "item": item} for item in texts]
    assert responses(*stream, completed()).response().message.text == "ab"


def test_a_refusal_is_said_and_ends_as_a_content_filter() -> None:
    item = {"type": "message", "content": [{"type": "refusal", "refusal": "I will not."}]}
    reader = ResponsesReader("openai:gpt-5", OWN)
    events = told(
        reader,
        [
            {"type": "response.refusal.delta", "output_index": 0, "delta": "I will "},
            {"type": "response.refusal.delta", "output_index": 0, "delta": "not."},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            completed(output=[item]),
        ],
    )
    assert joined(events, TextDelta) == reader.response().message.text == "I will not."
    assert reader.response().finish_reason == "content_filter"
    assert chat(choice({"refusal": "I will not."}), choice({}, "stop")).response().finish_reason == "content_filter"


@pytest.mark.parametrize(
    ("reason", "means"), [("max_output_tokens", "length"), ("content_filter", "content_filter"), ("steered", "other")]
)
def test_an_incomplete_response_says_why(reason: str, means: str) -> None:
    item = {"type": "message", "content": [{"type": "output_text", "text": "half"}]}
    response = {"status": "incomplete", "incomplete_details": {"reason": reason}, "output": [item]}
    assert responses({"type": "response.incomplete", "response": response}).response().finish_reason == means


def test_an_answer_that_the_filter_withheld_is_an_error() -> None:
    response = {"status": "incomplete", "incomplete_details": {"reason": "content_filter"}, "output": []}
    with pytest.raises(ContentFilterError):
        responses({"type": "response.incomplete", "response": response}).response()
    with pytest.raises(ContentFilterError):
        chat(choice({}, "content_filter")).response()


def test_two_paragraphs_of_thought_are_streamed_as_they_are_kept() -> None:
    summary = [{"type": "summary_text", "text": "first"}, {"type": "summary_text", "text": "second"}]
    item = {"type": "reasoning", "id": "rs", "summary": summary, "encrypted_content": "x"}
    reader = ResponsesReader("openai:gpt-5", OWN)
    events = told(
        reader,
        [
            {"type": "response.reasoning_summary_part.added", "summary_index": 0},
            {"type": "response.reasoning_summary_text.delta", "delta": "first"},
            {"type": "response.reasoning_summary_part.added", "summary_index": 1},
            {"type": "response.reasoning_summary_text.delta", "delta": "second"},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            completed(),
        ],
    )
    (thought,) = reader.response().message.parts
    assert isinstance(thought, Reasoning)
    assert joined(events, ReasoningDelta) == thought.text == "first\n\nsecond"
    assert (thought.signature, thought.data, thought.provider) == ("x", item, OWN)


def test_the_phase_of_an_answer_is_kept_beside_its_text() -> None:
    item = {"type": "message", "phase": "commentary", "content": [{"type": "output_text", "text": "I look."}]}
    assert parts_of(item, OWN) == [Opaque(PHASE, {"phase": "commentary"}, OWN), Text("I look.")]


def test_usage_of_the_responses_api_has_cached_and_reasoning_tokens() -> None:
    usage = {
        "input_tokens": 100,
        "input_tokens_details": {"cached_tokens": 64, "cache_write_tokens": 8},
        "output_tokens": 20,
        "output_tokens_details": {"reasoning_tokens": 12},
    }
    assert responses(completed(usage=usage)).response().usage == Usage(100, 20, 64, 8, 12)


@pytest.mark.parametrize(
    ("event", "kind"),
    [
        ({"type": "error", "code": "rate_limit_exceeded", "message": "slow down"}, RateLimitError),
        ({"type": "error", "error": {"code": "server_error", "message": "oops"}}, ProviderUnavailableError),
        ({"type": "response.failed", "response": {"error": {"code": "server_error"}}}, ProviderUnavailableError),
        ({"type": "response.failed", "response": {"error": {"code": "invalid_prompt"}}}, ContentFilterError),
        ({"type": "response.failed", "response": {}}, ProviderUnavailableError),
    ],
)
def test_a_failure_in_mid_stream_is_mapped_by_its_code(event: dict[str, Any], kind: type[ModelError]) -> None:
    with pytest.raises(kind):
        responses(event)
