"""The model as a whole: what holds for every request, streaming, usage, settings."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import warnings
from datetime import date
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_express.errors import UnsupportedError
from agent_express.events import End, TextDelta, ToolCallDelta
from agent_express.messages import (
    Audio,
    File,
    Image,
    Json,
    Message,
    ModelRequest,
    Opaque,
    OutputSchema,
    Reasoning,
    Resource,
    Section,
    Settings,
    Text,
    ToolCall,
    ToolDef,
    ToolResult,
    Usage,
)
from agent_express.models import Model, complete
from agent_express_offline import OfflineModel, respond
from agent_express_offline.answering.streaming import MAX_PIECES, pieces

MODEL = OfflineModel()

# --- any request ----------------------------------------------------------------------------------

WORDS = """
read list search count write delete add the first of them it its each file files lines in docs and then , . ! ? a.txt
src/b.py "quoted text" 'x' 5 10-20 2026-03-01 tomorrow at 2pm ann@example.org https://example.org A-1042 high not don't
if result largest file numbers path city count text date mode flag how many is are to from for with called : - 1. hello
help = # unit Paris and London *.py
"""
SENTENCES = st.lists(st.sampled_from(WORDS.split()), max_size=14).map(" ".join)
ANY_TEXT = SENTENCES | st.text(max_size=40) | st.text(st.characters(categories=["Cs", "Cc", "L"]), max_size=10)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4),
    max_leaves=8,
)
NAMES = st.sampled_from(["read_file", "list_files", "addNumbers", "search", "delete-file", "x", "", "Tool 7", "größe"])
FIELDS = st.sampled_from(
    ["path", "paths", "text", "count", "date", "to", "city", "flag", "mode", "start", "lines", "ü", ""]
)
SCALARS = st.fixed_dictionaries(
    {"type": st.sampled_from(["string", "integer", "number", "boolean"])},
    optional={
        "description": st.sampled_from(["", "a file", "a glob such as **/*.py", "ISO date", "city name"]),
        "enum": st.lists(st.sampled_from(["high", "low", 5, "list", True]), min_size=1, max_size=3),
        "minimum": st.integers(0, 6),
        "maxLength": st.integers(0, 12),
        "format": st.sampled_from(["date", "date-time", "email", "uri", "time", "weird"]),
        "pattern": st.sampled_from(["^[a-z]+$", "x"]),
        "default": VALUES,
    },
)
PROPERTIES = SCALARS | st.fixed_dictionaries({"type": st.just("array"), "items": SCALARS})


def an_object(properties: dict[str, Any], required: list[str], closed: bool) -> dict[str, Any]:
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": not closed}


SCHEMAS = st.builds(
    an_object,
    st.dictionaries(FIELDS, PROPERTIES, max_size=5),
    st.lists(FIELDS, max_size=3, unique=True),
    st.booleans(),
)
JUNK_SCHEMAS = st.dictionaries(
    st.sampled_from(["type", "properties", "required", "$ref", "anyOf", "items", "enum", "allOf", "x"]),
    VALUES,
    max_size=5,
)
TOOLS = st.lists(st.builds(ToolDef, NAMES, ANY_TEXT, SCHEMAS | JUNK_SCHEMAS), max_size=5)
CALLS = st.builds(
    ToolCall,
    st.sampled_from(["", "c", "offline_1_0_0", "offline_1_1_0", "offline_9_99_9"]),
    NAMES,
    st.sampled_from(["{}", '{"path": "a.txt"}', "[]", '{"a', "null"]),
    st.none() | ANY_TEXT,
)
RESULT_PARTS = (
    st.builds(Text, ANY_TEXT) | st.builds(Json, VALUES) | st.builds(Resource, ANY_TEXT) | st.just(Image(b"x"))
)
RESULTS = st.builds(
    ToolResult, st.lists(RESULT_PARTS, max_size=2), st.booleans(), st.sampled_from(["", "c", "offline_1_0_0"]), NAMES
)
PARTS = st.builds(Text, ANY_TEXT) | CALLS | RESULTS
PARTS |= st.sampled_from(
    [Image(url="x"), Audio(b"x"), File(b"x"), Opaque("x"), Reasoning("hm"), Resource("x"), Json(1)]
)
MESSAGES = st.builds(
    Message,
    st.sampled_from(["user", "assistant", "tool"]),
    ANY_TEXT | st.lists(PARTS, max_size=3),
    origin=st.sampled_from(["", "memory"]),
    mark=st.sampled_from(["", "superseded", "interrupted"]),
)
SETTINGS = st.builds(
    Settings,
    temperature=st.none() | st.floats(),
    max_tokens=st.none() | st.integers(-1, 20),
    stop=st.lists(st.sampled_from(["", "a", "**"]), max_size=2).map(tuple),
    tool_choice=st.none() | st.sampled_from(["auto", "none", "required", "read_file", "nothing", ""]),
    parallel_tool_calls=st.none() | st.booleans(),
)
REQUESTS = st.builds(
    ModelRequest,
    st.just(MODEL),
    st.lists(MESSAGES, max_size=6).map(tuple),
    st.lists(st.builds(Section, st.just("s"), ANY_TEXT), max_size=2).map(tuple),
    TOOLS.map(tuple),
    SETTINGS,
    st.none() | st.builds(OutputSchema, NAMES, SCHEMAS | JUNK_SCHEMAS),
)


@settings(max_examples=300, deadline=None)
@given(REQUESTS)
def test_every_request_is_answered_with_something_that_can_be_written_down(request: ModelRequest) -> None:
    response = respond(request)
    assert response.message.role == "assistant"
    assert bool(response.message.tool_calls) == (response.finish_reason == "tool_calls")
    for part in response.message.parts:
        if isinstance(part, Text):
            part.text.encode()
            assert "\0" not in part.text
        else:
            assert isinstance(part, ToolCall)
            part.args.encode()


@settings(max_examples=150, deadline=None)
@given(REQUESTS)
def test_the_same_request_gives_the_same_response(request: ModelRequest) -> None:
    assert respond(request) == respond(request)


def fits(value: Any, schema: dict[str, Any]) -> bool:
    """A second opinion, independent of the package, on the schemas that this file makes."""
    kinds: dict[str, Any] = {"string": str, "integer": int, "number": (int, float), "boolean": bool, "array": list}
    kind = schema["type"]
    if kind == "object":
        known = schema["properties"]
        return (
            isinstance(value, dict)
            and all(name in value for name in schema["required"])
            and all(fits(each, known[name]) for name, each in value.items() if name in known)
            and (schema["additionalProperties"] or value.keys() <= known.keys())
        )
    if not isinstance(value, kinds[kind]) or (isinstance(value, bool) and kind != "boolean"):
        return False
    if "enum" in schema and not any(value == each and type(value) is type(each) for each in schema["enum"]):
        return False
    if kind == "array":
        return all(fits(each, schema["items"]) for each in value)
    if kind == "string":
        letters = schema.get("pattern") != "^[a-z]+$" or (value.isascii() and value.isalpha() and value.islower())
        has_x = schema.get("pattern") != "x" or "x" in value
        return len(value) <= schema.get("maxLength", len(value)) and letters and has_x
    return kind == "boolean" or value >= schema.get("minimum", value)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(MESSAGES, max_size=3),
    SENTENCES,
    st.lists(st.builds(ToolDef, NAMES, ANY_TEXT, SCHEMAS), min_size=1, max_size=4, unique_by=lambda tool: tool.name),
    SETTINGS,
)
def test_only_offered_tools_are_called_and_only_with_what_their_schema_allows(
    before: list[Message], said: str, tools: list[ToolDef], how: Settings
) -> None:
    request = ModelRequest(MODEL, (*before, Message("user", said)), tools=tuple(tools), settings=how)
    schemas = {tool.name: tool.parameters for tool in tools}
    made = respond(request).message.tool_calls
    assert len({call.id for call in made}) == len(made)
    for call in made:
        assert fits(call.parsed(), dict(schemas[call.name]))
    if how.tool_choice == "none":
        assert made == ()


@settings(max_examples=300, deadline=None)
@given(SENTENCES, SCHEMAS)
def test_a_structured_answer_fits_its_schema_or_is_no_json_at_all(said: str, schema: dict[str, Any]) -> None:
    text = respond(ModelRequest(MODEL, (Message("user", said),), output=OutputSchema("Answer", schema))).message.text
    assert text.startswith("I cannot answer as `Answer`: ") or fits(json.loads(text), schema)


@settings(max_examples=100, deadline=None)
@given(REQUESTS)
async def test_the_stream_put_together_is_the_response(request: ModelRequest) -> None:
    events = [event async for event in MODEL.stream(request)]
    end = events.pop()
    assert isinstance(end, End)
    message = end.result.message
    assert "".join(event.text for event in events if isinstance(event, TextDelta)) == message.text
    streamed: dict[int, list[str]] = {}
    for event in events:
        if isinstance(event, ToolCallDelta):
            call = streamed.setdefault(event.index, ["", "", ""])
            streamed[event.index] = [call[0] + event.call_id, call[1] + event.name, call[2] + event.args]
    assert [tuple(call) for call in streamed.values()] == [
        (call.id, call.name, call.args) for call in message.tool_calls
    ]


def test_the_response_does_not_depend_on_the_process() -> None:
    """Sets of texts are ordered differently in every process; nothing may come of it."""
    code = (
        "import sys; from agent_express.messages import *; from agent_express_offline import *;"
        "p = {'type': 'object', 'properties': {n: {'type': 'string'} for n in ('path', 'city', 'text')}};"
        "t = tuple(ToolDef(n, n, p) for n in ('read_file', 'get_weather', 'search_text', 'list_files'));"
        "m = (Message('user', 'search for x in a.txt, list Paris, read it and what is the weather in Rome'),);"
        "sys.stdout.write(repr(respond(ModelRequest(OfflineModel(), m, tools=t)).message))"
    )
    outputs = {
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, check=True, env={**os.environ, "PYTHONHASHSEED": seed}
        ).stdout
        for seed in ("0", "1", "2")
    }
    assert len(outputs) == 1


# --- long input -----------------------------------------------------------------------------------

FIVE_MILLION = 5_000_000


PIECES = [
    "read the file now ",
    "read it, then ",
    "a/b.txt and ",
    "a",
    "a1",
    "9",
    "1,",
    "a.b@",
    "'a ",
    "\ud800",
    "(",
    "{",
]
PIECES += ['"', "“", "„a", "`", "```", "```x\n", ".", "\n", " ", "\N{CJK UNIFIED IDEOGRAPH-8AAD}"]


@pytest.mark.parametrize("piece", PIECES)
def test_five_million_characters_are_answered_briefly(piece: str, files: Any) -> None:
    text = piece * (FIVE_MILLION // len(piece))
    response = respond(ModelRequest(MODEL, (Message("user", text),), tools=files.tools))
    assert len(response.message.text) < 5_000


def test_a_quoted_text_of_five_million_characters_goes_to_the_tool_whole(files: Any) -> None:
    content = "x y " * (FIVE_MILLION // 4)
    said = Message("user", f'Write "{content}" to big.txt')
    call = respond(ModelRequest(MODEL, (said,), tools=files.tools)).message.tool_calls[0]
    assert call.parsed() == {"path": "big.txt", "content": content}
    sent = pieces(call.args)
    assert len(sent) <= MAX_PIECES
    assert "".join(sent) == call.args


def test_a_result_of_five_million_characters_is_searched_and_shown_in_part(files: Any) -> None:
    said = Message("user", "search for x in docs and read the first")
    call = ToolCall("offline_1_0_0", "search_text", '{"text": "x", "folder": "docs"}')
    result = ToolResult("docs/a.md:1: x\n" * (FIVE_MILLION // 15), call_id=call.id, name=call.name)
    request = ModelRequest(MODEL, (said, Message("assistant", [call]), Message("tool", [result])), tools=files.tools)
    assert respond(request).message.tool_calls[0].parsed() == {"path": "docs/a.md"}


# --- streaming, usage, settings -------------------------------------------------------------------


async def test_the_answer_comes_word_by_word_and_lets_others_run_in_between(files: Any) -> None:
    turns = 0

    async def beside() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    task = asyncio.create_task(beside())
    seen: list[int] = []
    async for event in MODEL.stream(ModelRequest(MODEL, (Message("user", "hello"),), tools=files.tools)):
        if isinstance(event, TextDelta):
            assert len(event.text.split()) == 1
            seen.append(turns)
    task.cancel()
    assert len(seen) > 50
    assert all(before < after for before, after in pairwise(seen))


async def test_the_stream_can_be_left_early() -> None:
    stream = MODEL.stream(ModelRequest(MODEL, (Message("user", "hello"),)))
    assert isinstance(await anext(stream), TextDelta)
    await stream.aclose()
    with pytest.raises(StopAsyncIteration):
        await anext(stream)


async def test_usage_is_the_words_sent_and_the_words_answered() -> None:
    tool = ToolDef("ping", "Send a ping.", {"type": "object", "properties": {"host": {"description": "Where to"}}})
    request = ModelRequest(MODEL, (Message("user", "dance with me"),), (Section("s", "You are kind."),), tools=(tool,))
    response = await complete(MODEL, request)
    assert response.usage == Usage(input_tokens=3 + 3 + 4 + 3, output_tokens=len(response.message.text.split()))
    assert response.model == "offline:commands"


def test_max_tokens_counts_words_and_cuts_the_answer() -> None:
    said = (Message("user", "hello"),)
    response = respond(ModelRequest(MODEL, said, settings=Settings(max_tokens=4)))
    assert response.message.text == "I am the offline"
    assert response.finish_reason == "length"
    assert respond(ModelRequest(MODEL, said, settings=Settings(max_tokens=10_000))).finish_reason == "stop"


def test_a_stop_text_ends_the_answer_before_it() -> None:
    response = respond(ModelRequest(MODEL, (Message("user", "hello"),), settings=Settings(stop=("model", "offline"))))
    assert response.message.text == "I am the "


async def test_settings_of_chance_are_kept_by_leaving_nothing_to_chance() -> None:
    said = (Message("user", "hello"),)
    for how in (Settings(temperature=2.0), Settings(top_p=0.1), Settings(seed=7)):
        assert await complete(MODEL, ModelRequest(MODEL, said, settings=how)) == respond(ModelRequest(MODEL, said))


@pytest.mark.parametrize(
    ("lacking", "named"),
    [({"reasoning_effort": "high"}, "reasoning_effort='high'"), ({"options": {"x": 1}}, "option 'x'")],
)
async def test_a_setting_it_lacks_is_an_error_or_a_warning_and_never_silence(lacking: Any, named: str) -> None:
    said = (Message("user", "hello"),)
    with pytest.raises(UnsupportedError, match=named):
        await complete(MODEL, ModelRequest(MODEL, said, settings=Settings(**lacking)))
    with pytest.warns(UserWarning, match=named):
        await complete(MODEL, ModelRequest(MODEL, said, settings=Settings(**lacking, unsupported="warn")))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        await complete(MODEL, ModelRequest(MODEL, said))


def test_it_is_a_model_and_says_what_it_can_read() -> None:
    assert isinstance(MODEL, Model)
    assert MODEL.modalities == {"text"}
    assert MODEL.context_window is None
    assert OfflineModel(today=date(2026, 3, 1)).name == "offline:commands"


async def test_one_model_serves_many_conversations_at_once(files: Any) -> None:
    async def ask(path: str) -> str:
        request = ModelRequest(MODEL, (Message("user", f"read {path}"),), tools=files.tools)
        return (await complete(MODEL, request)).message.tool_calls[0].args

    paths = [f"f{number}.txt" for number in range(50)]
    assert await asyncio.gather(*map(ask, paths)) == [json.dumps({"path": path}) for path in paths]
