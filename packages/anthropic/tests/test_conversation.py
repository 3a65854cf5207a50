"""Whatever history the core allows becomes messages that the API takes.

The rules are those of https://platform.claude.com/docs/en/api/messages and of its error messages; the shape is checked
with the SDK's own types.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any, cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pydantic import TypeAdapter

from agent_express.errors import BadRequestError, UnsupportedError
from agent_express.messages import (
    Audio,
    File,
    Image,
    Json,
    Message,
    ModelRequest,
    Opaque,
    Reasoning,
    Resource,
    Section,
    Settings,
    Text,
    ToolCall,
    ToolDef,
    ToolResult,
)
from agent_express_anthropic import AnthropicModel
from agent_express_anthropic.wire import Sending, to_wire

MODEL = AnthropicModel("claude-sonnet-5-5")


def sent(*messages: Message, **fields: Any) -> list[dict[str, Any]]:
    """The messages that go to the API for this history."""
    return cast("list[dict[str, Any]]", wire(*messages, **fields).body["messages"])


def wire(*messages: Message, **fields: Any) -> Sending:
    return to_wire(ModelRequest(MODEL, messages, **fields), "claude-sonnet-5-5")


def user(*content: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(content)}


def assistant(*content: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(content)}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


# --- any history --------------------------------------------------------------------------------

values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
bytes_ = st.binary(max_size=8)
types = st.sampled_from(["image/png", "image/tiff", "application/pdf", "text/csv", "text/plain", "x/y", ""])
texts = st.builds(Text, st.text() | st.sampled_from(["", " \n", "done. "]))
foreign = st.builds(Opaque, st.just("x"), st.just({"type": "x"}), provider=st.just("openai"))
shown = st.one_of(
    texts,
    st.builds(Json, values),
    st.builds(Image, bytes_, media_type=types),
    st.builds(Image, url=st.just("https://example.org/cat.png")),
    st.builds(Audio, bytes_),
    st.builds(File, bytes_, media_type=types, name=st.none() | st.text()),
    st.builds(File, url=st.just("https://example.org/a"), media_type=types),
    st.builds(File, file_id=st.text(min_size=1)),
    st.builds(Resource, st.text(), text=st.none() | st.text(), data=st.none() | bytes_, media_type=types),
    foreign,
)
thoughts = st.one_of(
    st.builds(Reasoning, st.text(), signature=st.none() | st.text(min_size=1), provider=st.just("anthropic")),
    st.builds(
        Reasoning, data=st.just({"type": "redacted_thinking", "data": "c2VhbGVk"}), provider=st.just("anthropic")
    ),
    st.builds(Reasoning, st.text(), provider=st.just("openai"), data=st.just({"id": "rs_1"})),
)
odd_arguments = ["", "[]", '{"a": "x', '{"a": NaN}', '{"a": 1e999}', '{"a": "\\ud800"}', "[" * 5_000, "9" * 5_000]
calls = st.builds(
    ToolCall,
    st.text(min_size=1, max_size=3) | st.sampled_from(["call_1", "call_2"]),
    st.text(max_size=200) | st.just("read_file"),
    st.dictionaries(st.text(), values, max_size=3).map(json.dumps) | st.sampled_from(odd_arguments),
    invalid=st.none() | st.sampled_from(["", "not json"]),
)
extras = {"cache_mark": st.booleans(), "mark": st.sampled_from(["", "superseded", "interrupted"])}
said_by_user = st.builds(Message, st.just("user"), st.lists(shown, max_size=3), cache_mark=st.booleans())
parts_of_model = st.lists(texts | thoughts | foreign | st.builds(Image, bytes_), max_size=4)


@st.composite
def steps(draw: st.DrawFn) -> list[Message]:
    """An answer of the model and, where it calls tools, their results in the order of the calls.

    Between the two a middleware may have said something.
    """
    made = draw(st.lists(calls, max_size=3, unique_by=lambda call: call.id))
    parts = [*draw(parts_of_model), *made, *draw(parts_of_model)]
    answer = Message("assistant", parts, cache_mark=draw(extras["cache_mark"]), mark=draw(extras["mark"]))
    if not made:
        return [answer]
    results = [
        ToolResult(draw(st.lists(shown, max_size=2)), draw(st.booleans()), call_id=call.id, name=call.name)
        for call in made
    ]
    between = [Message("user", "by the way", origin="memory")] if draw(st.booleans()) else []
    return [answer, *between, Message("tool", results, cache_mark=draw(st.booleans()))]


@st.composite
def histories(draw: st.DrawFn) -> list[Message]:
    """Users and models in any order, with something said in it."""
    rest = draw(st.lists(said_by_user.map(lambda message: [message]) | steps(), max_size=6))
    history = [message for messages in rest for message in messages]
    history.insert(draw(st.sampled_from([0, len(history)])), Message("user", "hello"))
    return history


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(history=histories(), offered=st.booleans(), marked=st.booleans())
@pytest.mark.filterwarnings("ignore:anthropic.claude-sonnet-5-5:UserWarning")
def test_any_history_becomes_a_request_that_the_api_takes(history: list[Message], offered: bool, marked: bool) -> None:
    tools = (ToolDef("read_file", cache_mark=marked),) if offered else ()
    system = (Section("a", "Be kind.", cache_mark=marked), Section("b", " ", cache_mark=marked))
    lenient = Settings(unsupported="warn")
    request = ModelRequest(MODEL, tuple(history), system=system, tools=tools, settings=lenient)
    body = dict(to_wire(request, "claude-sonnet-5-5").body)
    assert complaints(body) == []
    assert types_of_the_sdk(body) == []


def complaints(body: dict[str, Any]) -> list[str]:
    """What the API would say against *body*."""
    json.dumps(body, ensure_ascii=False, allow_nan=False).encode()
    messages = body["messages"]
    found = [] if messages[0]["role"] == "user" else ["the first message must use the user role"]
    for before, after in zip(messages, [*messages[1:], {"role": "", "content": []}], strict=True):
        if before["role"] == after["role"]:
            found.append("roles must alternate")
        found += against(before)
        asked = [block["id"] for block in before["content"] if block["type"] == "tool_use"]
        answered = [block["tool_use_id"] for block in after["content"] if block["type"] == "tool_result"]
        head = [block["type"] for block in after["content"][: len(asked)]]
        if answered != asked or head != ["tool_result"] * len(asked):
            found.append(f"tool_use {asked} must be answered at the head of the next message, not {answered}")
    ids = [block["id"] for message in messages for block in message["content"] if block["type"] == "tool_use"]
    if len(ids) != len(set(ids)):
        found.append("tool_use ids must be unique")
    if ids and not body.get("tools"):
        found.append("requests with tool_use blocks must define tools")
    if messages[-1]["role"] == "assistant" and messages[-1]["content"][-1].get("text", "").endswith((" ", "\n")):
        found.append("the final assistant content cannot end with trailing whitespace")
    if json.dumps(body).count('"cache_control"') > 4:
        found.append("a maximum of 4 blocks with cache_control may be provided")
    return found


def against(message: dict[str, Any]) -> list[str]:
    content = message["content"]
    found = [] if content else ["content must not be empty"]
    for block in content:
        kind = block["type"]
        if kind == "text" and not block["text"].strip():
            found.append("text content blocks must contain non-whitespace text")
        if kind == "tool_use" and not re.fullmatch(r"[a-zA-Z0-9_-]+", block["id"]):
            found.append(f"tool_use.id must be letters, digits, _ and -, not {block['id']!r}")
        if kind == "tool_use" and not re.fullmatch(r"[a-zA-Z0-9_-]{1,128}", block["name"]):
            found.append(f"tool_use.name must be letters, digits, _ and -, not {block['name']!r}")
        if kind == "tool_result" and block.get("is_error") and not block.get("content"):
            found.append("content cannot be empty if is_error is true")
        if kind == "tool_result":
            found += against({"role": "user", "content": block.get("content", [text("x")])})
        if kind in ("image", "document") and message["role"] == "assistant":
            found.append(f"{kind} blocks are not allowed in assistant messages")
        if "thinking" in kind and "cache_control" in block:
            found.append("thinking blocks cannot have cache_control")
    if content and message["role"] == "assistant" and "thinking" in content[-1]["type"]:
        found.append("the final block in an assistant message cannot be thinking")
    return found


def types_of_the_sdk(body: dict[str, Any]) -> list[str]:
    """Where *body* is not what the SDK's types say; they are validated deeply."""
    found: list[str] = []
    for key, adapter in adapters().items():
        for item in body.get(key, []):
            try:
                consumed(adapter.validate_python(item))
            except ValueError as error:
                found.append(f"{key}: {error}")
    return found


@cache
def adapters() -> dict[str, TypeAdapter[Any]]:
    """Kept, since an iterator made by an adapter must not outlive it."""
    from anthropic.types import MessageParam, TextBlockParam, ToolParam

    kinds = {"messages": MessageParam, "system": TextBlockParam, "tools": ToolParam}
    return {key: TypeAdapter(kind) for key, kind in kinds.items()}


def consumed(value: Any) -> None:
    """Iterate to the end: pydantic validates what is typed `Iterable` only then."""
    if isinstance(value, dict):
        for each in value.values():
            consumed(each)
    elif not isinstance(value, str | bytes) and hasattr(value, "__iter__"):
        for each in value:
            consumed(each)


# --- one thing at a time ------------------------------------------------------------------------


def test_neighbours_of_one_role_are_merged() -> None:
    draft = Message("assistant", "a draft", mark="superseded")
    history = (Message("user", "one"), Message("user", "two"), draft, Message("assistant", "the answer"))
    assert sent(*history, Message("user", "thanks")) == [
        user(text("one"), text("two")),
        assistant(text("a draft"), text("the answer")),
        user(text("thanks")),
    ]


def test_tool_results_come_first_in_the_users_message_in_the_order_of_the_calls() -> None:
    asked = Message("assistant", [ToolCall("a", "look"), ToolCall("b", "look")])
    hint = Message("user", "by the way", origin="memory")
    results = Message("tool", [ToolResult("1", call_id="a"), ToolResult("2", True, call_id="b")])
    assert sent(Message("user", "go"), asked, hint, results, Message("user", "and?"))[-1] == user(
        {"type": "tool_result", "tool_use_id": "a", "content": [text("1")]},
        {"type": "tool_result", "tool_use_id": "b", "is_error": True, "content": [text("2")]},
        text("by the way"),
        text("and?"),
    )


def test_call_ids_that_another_message_has_used_are_told_apart() -> None:
    batch = [Message("assistant", [ToolCall("call_1", "look")]), Message("tool", [ToolResult("x", call_id="call_1")])]
    content = [block for message in sent(Message("user", "go"), *batch, *batch) for block in message["content"]]
    assert [block["id"] for block in content if block["type"] == "tool_use"] == ["call_1", "call_1_2"]
    assert [block["tool_use_id"] for block in content if block["type"] == "tool_result"] == ["call_1", "call_1_2"]


def test_empty_texts_and_messages_are_not_sent() -> None:
    history = (Message("user", ""), Message("user", "hello"), Message("assistant", " \n"), Message("user", [Text("")]))
    assert sent(*history) == [user(text("hello"))]


def test_a_history_that_starts_with_the_model_gets_a_user_before_it() -> None:
    first, second, _ = sent(Message("assistant", "Good morning!"), Message("user", "hello"))
    assert first["role"] == "user"
    assert second == assistant(text("Good morning!"))


def test_a_history_with_nothing_in_it_is_refused() -> None:
    with pytest.raises(BadRequestError, match="add a user message"):
        sent(Message("user", "  "))


def test_an_answer_that_the_model_is_to_go_on_with_loses_the_white_space_at_its_end() -> None:
    assert sent(Message("user", "count"), Message("assistant", "1, 2, "))[-1] == assistant(text("1, 2,"))


def test_own_thinking_goes_back_unchanged_and_that_of_others_does_not() -> None:
    own = Reasoning("so...", signature="c2ln", provider="anthropic")
    unseen = Reasoning("", signature="c2ln", provider="anthropic")
    sealed = Reasoning(data={"type": "redacted_thinking", "data": "c2VhbGVk"}, provider="anthropic")
    other = Reasoning("hmm", data={"id": "rs_1"}, provider="openai")
    assert sent(Message("user", "?"), Message("assistant", [own, unseen, sealed, other, Text("42")]))[-1] == assistant(
        {"type": "thinking", "thinking": "so...", "signature": "c2ln"},
        {"type": "thinking", "thinking": "", "signature": "c2ln"},
        {"type": "redacted_thinking", "data": "c2VhbGVk"},
        text("42"),
    )


def test_thinking_that_was_interrupted_or_led_to_nothing_is_not_sent() -> None:
    cut = Message("assistant", [Reasoning("hm", provider="anthropic"), Text("Well")], mark="interrupted")
    vain = Message("assistant", [Reasoning("hm", signature="c2ln", provider="anthropic")])
    assert sent(Message("user", "?"), cut, Message("user", "!"), vain, Message("user", "?!")) == [
        user(text("?")),
        assistant(text("Well")),
        user(text("!"), text("?!")),
    ]


def test_opaque_parts_go_back_to_their_provider_unchanged_and_to_no_other() -> None:
    searched = {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": [{"url": "https://example.org"}]}
    own = Opaque("web_search_tool_result", searched, provider="anthropic")
    other = Opaque("computer_call", {"type": "computer_call"}, provider="openai")
    assert sent(Message("user", "?"), Message("assistant", [own, other, Text("Found.")]))[-1] == assistant(
        searched, text("Found.")
    )


@pytest.mark.parametrize("written", ['{"a": "x', "[1]", '{"a": NaN}', '{"a": "\\ud800"}'])
def test_arguments_that_are_no_json_object_are_shown_to_the_model_as_it_wrote_them(written: str) -> None:
    asked = Message("assistant", [ToolCall("a", "look", written)])
    result = Message("tool", [ToolResult("no JSON", True, call_id="a")])
    assert sent(Message("user", "go"), asked, result)[1]["content"][0]["input"] == {"INVALID_JSON": written}


def test_a_call_that_the_core_found_invalid_shows_what_the_model_wrote() -> None:
    asked = Message("assistant", [ToolCall("a", "look", invalid="{oops")])
    result = Message("tool", [ToolResult("no JSON", True, call_id="a")])
    assert sent(Message("user", "go"), asked, result)[1]["content"][0]["input"] == {"INVALID_JSON": "{oops"}


# --- pictures and files -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("part", "block"),
    [
        (
            Image(b"\x89PNG"),
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "iVBORw=="}},
        ),
        (Image(url="https://x.org/a"), {"type": "image", "source": {"type": "url", "url": "https://x.org/a"}}),
        (
            File(b"%PDF", name="a.pdf"),
            {
                "type": "document",
                "source": {"type": "base64", "media_type": "application/pdf", "data": "JVBERg=="},
                "title": "a.pdf",
            },
        ),
        (File(url="https://x.org/a"), {"type": "document", "source": {"type": "url", "url": "https://x.org/a"}}),
        (File(file_id="file_1"), {"type": "document", "source": {"type": "file", "file_id": "file_1"}}),
        (
            File(file_id="file_1", media_type="image/png"),
            {"type": "image", "source": {"type": "file", "file_id": "file_1"}},
        ),
        (
            File("Grüße".encode(), media_type="text/markdown"),
            {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "Grüße"}},
        ),
        (Resource("file:///a", text="words"), text("words")),
        (Resource("https://x.org/a"), text("https://x.org/a")),
        (Json({"a": [1]}), text('{"a":[1]}')),
    ],
)
def test_attachments_are_sent_to_the_model(part: Any, block: dict[str, Any]) -> None:
    assert sent(Message("user", [part])) == [user(block)]


unreadable = pytest.mark.parametrize(
    ("part", "why"),
    [
        (Audio(b"RIFF"), "cannot hear audio"),
        (Image(b"II*", media_type="image/tiff"), "not image/tiff"),
        (File(b"PK", media_type="application/zip"), "not application/zip"),
        (File(url="https://x.org/a", media_type="text/html"), "not text/html"),
        (File(b"\xff\xfe", media_type="text/plain"), "UTF-8"),
    ],
)


@unreadable
def test_what_the_model_cannot_read_is_refused(part: Any, why: str) -> None:
    with pytest.raises(UnsupportedError, match=why):
        sent(Message("user", [part]))


@unreadable
def test_what_the_model_cannot_read_is_left_out_with_a_word_where_that_is_wanted(part: Any, why: str) -> None:
    with pytest.warns(UserWarning, match=why):
        content = sent(Message("user", [part]), settings=Settings(unsupported="warn"))[0]["content"]
    assert content[0]["text"].startswith(f"[{part.kind} left out: ")


def test_a_picture_in_the_models_own_message_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="in the user's messages"):
        sent(Message("user", "draw"), Message("assistant", [Image(b"\x89PNG")]), Message("user", "again"))


@pytest.mark.parametrize("part", [Image(), File()])
def test_an_attachment_without_content_says_what_it_needs(part: Any) -> None:
    with pytest.raises(BadRequestError, match="give it one of the"):
        sent(Message("user", [part]))
