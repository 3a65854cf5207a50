"""Any history that core allows becomes a request that OpenAI's own types allow."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletionMessageParam
from openai.types.responses import ResponseInputItemParam
from pydantic import TypeAdapter

from agent_express.errors import UnsupportedError
from agent_express.messages import (
    Audio,
    File,
    Image,
    Json,
    Mark,
    Message,
    ModelRequest,
    Opaque,
    Part,
    Reasoning,
    Resource,
    ResultPart,
    Section,
    Text,
    ToolCall,
    ToolResult,
)
from agent_express_openai.wire.chat_request import THOUGHT, chat_request
from agent_express_openai.wire.responses_request import PHASE, responses_request

OWN, OTHER = "openai", "anthropic"
SEALED = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2VhbA=="}
SEARCH = {"type": "web_search_call", "id": "ws_1", "status": "completed", "action": {"type": "search", "query": "q"}}
CHAT = TypeAdapter(list[ChatCompletionMessageParam])
RESPONSES = TypeAdapter(list[ResponseInputItemParam])
Request = Callable[[ModelRequest], dict[str, Any]]


class Named:
    name = "openai:gpt-5"


def chat(request: ModelRequest) -> dict[str, Any]:
    return chat_request(request, "gpt-5", OWN, is_openai=True)


def responses(request: ModelRequest) -> dict[str, Any]:
    return responses_request(request, "gpt-5", OWN)


both = pytest.mark.parametrize("write", [chat, responses])


def asked(*messages: Message, **fields: Any) -> ModelRequest:
    return ModelRequest(Named(), messages, **fields)


# --- histories ----------------------------------------------------------------------------------

words = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=12)
data = st.binary(min_size=1, max_size=6)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=5,
)
shown = st.one_of(
    st.builds(Text, words),
    st.builds(Json, json_values),
    st.builds(Image, data),
    st.builds(Image, url=st.just("https://example.com/a.png")),
    st.builds(File, data, name=st.none() | st.just("a.pdf")),
    st.builds(File, file_id=st.just("file-1")),
    st.builds(
        Resource, st.just("file:///a/b.txt"), st.none() | words, st.none() | data, st.sampled_from(["", "image/png"])
    ),
    st.builds(Opaque, st.just("x"), st.just({"type": "x"}), st.just(OTHER)),
)
reasoning = st.one_of(
    st.builds(Reasoning, words, data=st.just({**SEALED, "status": None}), provider=st.just(OWN)),
    st.builds(Reasoning, words, data=st.just({THOUGHT: "reasoning_content"}), provider=st.just(OWN)),
    st.builds(Reasoning, words, data=st.none(), provider=st.just(OWN)),
    st.builds(Reasoning, words, signature=words, data=st.just(SEALED), provider=st.just(OTHER)),
)


@st.composite
def histories(draw: st.DrawFn) -> tuple[Message, ...]:
    """Turns of one to three user messages and some steps, each batch of calls answered in full."""
    messages: list[Message] = []
    ids = iter(range(1000))
    for _ in range(draw(st.integers(1, 3))):
        messages += draw(st.lists(users(), min_size=1, max_size=3))
        for _ in range(draw(st.integers(0, 3))):
            messages += draw(steps(ids))
    return tuple(messages)


def users() -> st.SearchStrategy[Message]:
    said = st.lists(shown, max_size=3)
    return st.builds(lambda parts, origin: Message("user", parts, origin=origin), said, st.sampled_from(["", "memory"]))


@st.composite
def steps(draw: st.DrawFn, ids: Iterator[int]) -> list[Message]:
    """One answer, with the results of its calls."""
    parts: list[Part] = draw(st.lists(st.one_of(st.builds(Text, words), reasoning, st.builds(Image, data)), max_size=3))
    calls = [ToolCall(f"call_{next(ids)}", "look", '{"a": 1}') for _ in range(draw(st.integers(0, 3)))]
    mark: Mark = draw(st.sampled_from(get_args(Mark)))
    answer = Message("assistant", [*parts, *calls], mark=mark, cache_mark=draw(st.booleans()))
    results = [
        ToolResult(draw(st.lists(result_parts(), max_size=3)), draw(st.booleans()), call.id, call.name)
        for call in calls
    ]
    return [answer, Message("tool", results)] if results else [answer]


def result_parts() -> st.SearchStrategy[ResultPart]:
    return st.one_of(st.builds(Text, words), st.builds(Json, json_values), st.builds(Image, data))


# --- what a request must be ---------------------------------------------------------------------


@given(histories())
def test_any_history_is_valid_for_chat_completions(history: tuple[Message, ...]) -> None:
    messages = chat(asked(*history))["messages"]
    realised(CHAT.validate_python(json.loads(json.dumps(messages))))
    open_calls: list[str] = []
    for before, message in zip([{}, *messages], messages, strict=False):
        if message["role"] == "tool":
            assert message["tool_call_id"] == open_calls.pop(0)
            continue
        assert open_calls == []  # nothing may stand between calls and their results
        assert (before.get("role"), message["role"]) != ("user", "user")
        assert message["content"] or message.get("tool_calls")
        open_calls = [call["id"] for call in message.get("tool_calls", ())]
    assert open_calls == []


@given(histories())
def test_any_history_is_valid_for_the_responses_api(history: tuple[Message, ...]) -> None:
    items = responses(asked(*history))["input"]
    realised(RESPONSES.validate_python(json.loads(json.dumps(items))))
    called: set[str] = set()
    for item, after in zip(items, [*items[1:], {}], strict=False):
        if item["type"] == "function_call":
            called.add(item["call_id"])
        if item["type"] == "function_call_output":
            assert item["call_id"] in called
        if item["type"] == "reasoning":
            assert after.get("type") in ("reasoning", "function_call", "message")
            assert item["encrypted_content"] == SEALED["encrypted_content"]


def realised(value: Any) -> None:
    """Walk through, for pydantic checks an Iterable only as it is read."""
    if isinstance(value, dict):
        for each in value.values():
            realised(each)
    elif not isinstance(value, str | bytes) and hasattr(value, "__iter__"):
        for each in value:
            realised(each)


@both
@given(histories())
def test_nothing_that_was_said_is_lost(write: Request, history: tuple[Message, ...]) -> None:
    sent = json.dumps(write(asked(*history)), ensure_ascii=False)
    for message in history:
        for part in message.parts:
            if isinstance(part, Text):
                assert json.dumps(part.text, ensure_ascii=False)[1:-1] in sent
            if isinstance(part, ToolCall | ToolResult):
                assert (part.id if isinstance(part, ToolCall) else part.call_id) in sent


@both
@given(histories(), st.lists(st.builds(Message, st.just("user"), words), max_size=2))
def test_a_longer_history_begins_with_the_shorter_one(
    write: Request, history: tuple[Message, ...], more: list[Message]
) -> None:
    """So that the provider's prompt cache holds: all but the last item stay as they were."""
    field = "messages" if write is chat else "input"
    before, after = write(asked(*history))[field], write(asked(*history, *more))[field]
    assert after[: max(0, len(before) - 1)] == before[:-1]


@both
def test_reasoning_of_another_provider_is_left_out(write: Request) -> None:
    answer = Message("assistant", [Reasoning("hm", "seal", SEALED, OTHER), Text("Yes."), ToolCall("c", "t")])
    sent = json.dumps(write(asked(Message("user", "?"), answer, Message("tool", [ToolResult("ok", call_id="c")]))))
    assert "hm" not in sent
    assert "rs_1" not in sent


def test_sealed_reasoning_goes_back_unchanged_before_what_it_led_to() -> None:
    answer = Message("assistant", [Reasoning("", data=SEALED, provider=OWN), ToolCall("c", "t", "{}")])
    items = responses(asked(Message("user", "?"), answer, Message("tool", [ToolResult("ok", call_id="c")])))["input"]
    assert items[1:3] == [SEALED, {"type": "function_call", "call_id": "c", "name": "t", "arguments": "{}"}]


def test_sealed_reasoning_that_led_to_nothing_is_left_out() -> None:
    cut = Message("assistant", [Reasoning("", data=SEALED, provider=OWN)], mark="interrupted")
    items = responses(asked(Message("user", "?"), cut, Message("user", "again")))["input"]
    assert [item["type"] for item in items] == ["message", "message"]


def test_a_servers_reasoning_goes_back_in_the_field_it_came_in() -> None:
    called = Message(
        "assistant", [Reasoning("hm", data={THOUGHT: "reasoning_content"}, provider=OWN), ToolCall("c", "t")]
    )
    done = Message("assistant", [Reasoning("oh", data={THOUGHT: "reasoning"}, provider=OWN), Text("Yes.")])
    result = Message("tool", [ToolResult("ok", call_id="c")])
    messages = chat(asked(Message("user", "?"), called, result, done))["messages"]
    assert messages[1]["reasoning_content"] == "hm"
    assert messages[3] == {"role": "assistant", "content": "Yes.", "reasoning": "oh"}


def test_unknown_parts_go_back_to_their_own_provider_unchanged() -> None:
    own, other = Opaque("web_search_call", SEARCH, OWN), Opaque("x", {"type": "x"}, OTHER)
    items = responses(asked(Message("user", "?"), Message("assistant", [own, other, Text("Found.")])))["input"]
    assert items[1:] == [SEARCH, {"type": "message", "role": "assistant", "content": "Found."}]


def test_the_phase_of_an_answer_goes_back_with_it() -> None:
    parts: list[Part] = [Opaque(PHASE, {"phase": "commentary"}, OWN), Text("I look."), ToolCall("c", "t")]
    items = responses(asked(Message("user", "?"), Message("assistant", parts)))["input"]
    assert items[1]["phase"] == "commentary"


def test_two_user_messages_become_one_in_chat_completions() -> None:
    messages = chat(asked(Message("user", "one"), Message("user", "two")))["messages"]
    assert messages == [{"role": "user", "content": "one\n\ntwo"}]
    (mixed,) = chat(asked(Message("user", "one"), Message("user", [Image(b"x")])))["messages"]
    assert [piece["type"] for piece in mixed["content"]] == ["text", "image_url"]


def test_a_picture_in_a_result_follows_the_results_in_chat_completions() -> None:
    calls = Message("assistant", [ToolCall("a", "look"), ToolCall("b", "look")])
    results = [ToolResult([Text("seen"), Image(b"x")], call_id="a", name="look"), ToolResult("no", True, "b", "look")]
    messages = chat(asked(Message("user", "?"), calls, Message("tool", results)))["messages"]
    assert [message["role"] for message in messages] == ["user", "assistant", "tool", "tool", "user"]
    assert [messages[2]["content"], messages[3]["content"]] == ["seen", "Error: no"]
    assert messages[4]["content"][0]["text"] == "From the result of look (a):"
    assert messages[4]["content"][1]["image_url"]["url"] == "data:image/png;base64,eA=="


def test_a_picture_in_a_result_stands_in_the_result_in_the_responses_api() -> None:
    result = ToolResult([Text("seen"), Image(b"x")], True, "a", "look")
    items = responses(asked(Message("assistant", [ToolCall("a", "look")]), Message("tool", [result])))["input"]
    assert [piece["type"] for piece in items[1]["output"]] == ["input_text", "input_text", "input_image"]
    assert items[1]["output"][0]["text"] == "Error:"


def test_the_parts_of_a_user_message_take_the_forms_of_the_responses_api() -> None:
    parts: list[Part] = [
        Text("t"),
        Image(url="https://example.com/a.png"),
        File(b"%PDF", name="a.pdf"),
        File(url="https://example.com/b.pdf"),
        File(file_id="file-1"),
    ]
    (message,) = responses(asked(Message("user", parts)))["input"]
    assert message["content"] == [
        {"type": "input_text", "text": "t"},
        {"type": "input_image", "image_url": "https://example.com/a.png", "detail": "auto"},
        {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,JVBERg=="},
        {"type": "input_file", "file_url": "https://example.com/b.pdf"},
        {"type": "input_file", "file_id": "file-1"},
    ]


def test_the_parts_of_a_user_message_take_the_forms_of_chat_completions() -> None:
    parts: list[Part] = [Text("t"), Audio(b"RIFF"), Audio(b"ID3", "audio/mpeg"), File(b"%PDF"), File(file_id="file-1")]
    (message,) = chat(asked(Message("user", parts)))["messages"]
    assert message["content"] == [
        {"type": "text", "text": "t"},
        {"type": "input_audio", "input_audio": {"data": "UklGRg==", "format": "wav"}},
        {"type": "input_audio", "input_audio": {"data": "SUQz", "format": "mp3"}},
        {"type": "file", "file": {"filename": "file.pdf", "file_data": "data:application/pdf;base64,JVBERg=="}},
        {"type": "file", "file": {"file_id": "file-1"}},
    ]


@pytest.mark.parametrize(
    ("write", "part", "says"),
    [
        (responses, Audio(b"RIFF"), "audio"),
        (responses, Image(), "neither bytes nor an address"),
        (responses, File(), "neither bytes, address nor id"),
        (chat, File(url="https://example.com/b.pdf"), "not by address"),
        (chat, Image(), "neither bytes nor an address"),
    ],
)
def test_a_part_that_an_api_lacks_is_refused_by_name(write: Request, part: Part, says: str) -> None:
    with pytest.raises(UnsupportedError, match=says) as caught:
        write(asked(Message("user", [part])))
    assert str(caught.value).startswith("openai:gpt-5")


def test_the_system_prompt_is_the_sections_with_an_empty_line_between() -> None:
    request = asked(Message("user", "?"), system=(Section("a", "One."), Section("b", "Two.", cache_mark=True)))
    assert chat(request)["messages"][0] == {"role": "system", "content": "One.\n\nTwo."}
    assert responses(request)["instructions"] == "One.\n\nTwo."
    assert "instructions" not in responses(asked(Message("user", "?")))
