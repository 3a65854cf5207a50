"""Record and replay: what is written, what is matched, what is said when nothing fits."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_express import Agent, Answer, tool
from agent_express.errors import ModelError, ProviderUnavailableError, RateLimitError
from agent_express.events import End, Event, TextDelta
from agent_express.messages import (
    Audio,
    File,
    Image,
    Json,
    Message,
    ModelRequest,
    ModelResponse,
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
from agent_express.testing import (
    CassetteError,
    FunctionModel,
    MismatchError,
    Recorder,
    Replayer,
    Say,
    ScriptedModel,
    Scrubber,
    call,
    cassette,
    snapshot,
)
from agent_express.testing.recording import seal

EVERY_PART = (
    Text("look"),
    Image(b"\x89PNG\x00\xff", media_type="image/png"),
    Audio(b"\x00\x01"),
    File(b"%PDF", name="a.pdf"),
    Resource("file:///a", data=b"\xfe"),
    Opaque("cite", {"n": 1}, "openai"),
    Reasoning("hm", "sealed", {"id": "r-1"}, "openai"),
)


def asking(model: Model, text: str = "hi") -> ModelRequest:
    return ModelRequest(model, (Message("user", text),))


def rich(model: Model) -> ModelRequest:
    return ModelRequest(
        model,
        (
            Message("user", EVERY_PART[:6]),
            Message("assistant", [EVERY_PART[6], ToolCall("c1", "read", '{"path": "a"}')]),
            Message("tool", [ToolResult([Text("x"), Json({"n": 1.5})], call_id="c1", name="read")], cache_mark=True),
        ),
        system=(Section("instructions", "be brief", cache_mark=True),),
        tools=(ToolDef("read", "Read a file.", {"type": "object", "properties": {"path": {"type": "string"}}}),),
        settings=Settings(temperature=0.5, stop=("END",), options={"user": "u"}),
        output=OutputSchema("answer", {"type": "object"}),
    )


async def streamed(model: Model, request: ModelRequest) -> list[Event | End[ModelResponse]]:
    return [event async for event in model.stream(request)]


async def test_a_replay_streams_what_was_recorded_event_for_event(tmp_path: Path) -> None:
    path = tmp_path / "new folder" / "traffic.jsonl"
    answer = Say("It is ré 12 °C", [call("read", path="ü")], Reasoning("hm", "sealed", {"id": "r"}), Usage(3, 4, 1))
    recorder = Recorder(ScriptedModel(answer, name="openai:gpt-5", context_window=128_000), path)
    live = await streamed(recorder, rich(recorder))

    replayer = Replayer(path)
    assert await streamed(replayer, rich(replayer)) == live
    assert (replayer.name, replayer.context_window, replayer.modalities) == ("openai:gpt-5", 128_000, None)
    assert replayer.unused == ()
    assert isinstance(replayer, Model)


async def test_the_file_is_versioned_json_lines_in_utf_8(tmp_path: Path) -> None:
    path = tmp_path / "traffic.jsonl"
    recorder = Recorder(ScriptedModel("é", name="m", modalities=frozenset({"text", "image"})), path)
    await complete(recorder, asking(recorder, "ü"))
    head, exchange = path.read_bytes().decode("utf-8").splitlines()
    assert json.loads(head) == {
        "format": "agent-express-cassette",
        "version": 1,
        "model": "m",
        "modalities": ["image", "text"],
    }
    assert "ü" in exchange
    assert json.loads(exchange) == {
        "request": {"messages": [{"role": "user", "parts": [{"kind": "text", "text": "ü"}]}]},
        "deltas": [{"type": "delta:text", "version": 1, "text": "é"}],
        "response": {
            "message": {"role": "assistant", "parts": [{"kind": "text", "text": "é"}]},
            "usage": {"input_tokens": 1, "output_tokens": 1, "reasoning_tokens": 0},
        },
    }
    assert [each.name for each in tmp_path.iterdir()] == ["traffic.jsonl"]


async def test_errors_are_replayed_with_class_and_all_that_a_retry_looks_at(tmp_path: Path) -> None:
    class HouseLimitError(RateLimitError):
        def __init__(self, tenant: str) -> None:
            super().__init__(f"{tenant} is too busy", retry_after=2.5, status=429)

    path = tmp_path / "traffic.jsonl"
    recorder = Recorder(
        ScriptedModel(
            HouseLimitError("acme"),
            Say("half an", error=ProviderUnavailableError("broke off", retryable=False), fail_after=2),
        ),
        path,
    )
    for text in ("a", "b"):
        with pytest.raises(ModelError):
            await complete(recorder, asking(recorder, text))

    replayer = Replayer(path)
    with pytest.raises(HouseLimitError) as limit:
        await complete(replayer, asking(replayer, "a"))
    assert (str(limit.value), limit.value.retryable) == ("acme is too busy", True)
    assert (limit.value.retry_after, limit.value.status) == (2.5, 429)
    seen: list[object] = []
    with pytest.raises(ProviderUnavailableError, match="broke off") as broken:
        async for event in replayer.stream(asking(replayer, "b")):
            seen.append(event)
    assert seen == [TextDelta("half"), TextDelta(" an")]
    assert broken.value.retryable is False


async def test_an_error_class_that_is_gone_is_replayed_as_its_nearest_base(tmp_path: Path) -> None:
    path = tmp_path / "traffic.jsonl"
    recorder = Recorder(ScriptedModel(RateLimitError("busy")), path)
    with pytest.raises(RateLimitError):
        await complete(recorder, asking(recorder))
    path.write_text(path.read_text("utf-8").replace('["RateLimitError"', '["GoneError","RateLimitError"'), "utf-8")
    replayer = Replayer(path)
    with pytest.raises(RateLimitError, match="busy"):
        await complete(replayer, asking(replayer))


async def test_a_request_that_differs_is_refused_with_the_place_and_both_values(tmp_path: Path) -> None:
    path = tmp_path / "traffic.jsonl"
    recorder = Recorder(ScriptedModel("one", "two"), path)
    await complete(recorder, asking(recorder, "What is the weather in Oslo?"))
    await complete(recorder, asking(recorder, "Thanks"))
    replayer = Replayer(path)
    await complete(replayer, asking(replayer, "Thanks"))
    with pytest.raises(MismatchError) as caught:
        await complete(replayer, asking(replayer, "What is the weather in Bergen?"))
    oslo, bergen = "'What is the weather in Oslo?'", "'What is the weather in Bergen?'"
    assert str(caught.value).splitlines() == [
        f"{path}: request 2 is not among the recorded ones that are left",
        f"  the nearest is record 1, at messages[0].parts[0].text: expected {oslo}, found {bergen}",
        "  record 1: [messages: user 'What is the weather in Oslo?'; tools: none]",
        "  record 2 (used): [messages: user 'Thanks'; tools: none]",
        "  where the change is wanted, record again: AGENT_EXPRESS_CASSETTES=record",
    ]


@pytest.mark.parametrize(
    ("change", "place"),
    [
        ({"system": (Section("instructions", "be long", cache_mark=True),)}, "system[0].text"),
        ({"tools": ()}, "tools: expected [{"),
        ({"settings": Settings(temperature=1, stop=("END",), options={"user": "u"})}, "settings.temperature"),
        ({"settings": Settings(temperature=0.5, stop=("END",), options={"user": "v"})}, "settings.options.user"),
        ({"output": None}, "output: expected {"),
        ({"output": OutputSchema("answer", {"type": "object", "x": True})}, "output.schema.x: expected nothing, found"),
    ],
)
async def test_everything_in_the_request_is_compared(tmp_path: Path, change: dict[str, object], place: str) -> None:
    path = tmp_path / "traffic.jsonl"
    recorder = Recorder(ScriptedModel("one"), path)
    await complete(recorder, rich(recorder))
    replayer = Replayer(path)
    with pytest.raises(MismatchError, match=re.escape(f"the nearest is record 1, at {place}")):
        await complete(replayer, rich(replayer).replace(**change))


async def test_the_integer_one_the_float_one_and_true_are_different_arguments(tmp_path: Path) -> None:
    path = tmp_path / "traffic.jsonl"
    recorder = Recorder(ScriptedModel("one"), path)
    await complete(recorder, asking(recorder).replace(settings=Settings(options={"n": 1})))
    replayer = Replayer(path)
    for other in (1.0, True):
        with pytest.raises(MismatchError, match=r"settings.options.n: expected 1, found (1.0|true)"):
            await complete(replayer, asking(replayer).replace(settings=Settings(options={"n": other})))
    assert len(replayer.unused) == 1


async def test_equal_requests_are_answered_in_their_order_and_each_record_once(tmp_path: Path) -> None:
    path = tmp_path / "traffic.jsonl"
    recorder = Recorder(ScriptedModel("one", "two"), path)
    for _ in range(2):
        await complete(recorder, asking(recorder))
    replayer = Replayer(path)
    assert [(await complete(replayer, asking(replayer))).message.text for _ in range(2)] == ["one", "two"]
    with pytest.raises(MismatchError, match="request 3 is not among the recorded ones that are left"):
        await complete(replayer, asking(replayer))


async def test_records_that_nobody_asked_for_are_told(tmp_path: Path) -> None:
    path = tmp_path / "traffic.jsonl"
    recorder = Recorder(ScriptedModel("one", "two"), path)
    await complete(recorder, asking(recorder, "a"))
    await complete(recorder, asking(recorder, "b"))
    replayer = Replayer(path)
    await complete(replayer, asking(replayer, "b"))
    assert [request.messages[0].text for request in replayer.unused] == ["a"]


async def test_a_stream_that_its_reader_closed_is_replayed_up_to_there(tmp_path: Path) -> None:
    path = tmp_path / "traffic.jsonl"
    inner = ScriptedModel("one two three")
    recorder = Recorder(inner, path)
    stream = recorder.stream(asking(recorder))
    assert [await anext(stream), await anext(stream)] == [TextDelta("one"), TextDelta(" two")]
    await stream.aclose()
    assert inner.open_streams == 0

    replayer = Replayer(path)
    again = replayer.stream(asking(replayer))
    assert [await anext(again), await anext(again)] == [TextDelta("one"), TextDelta(" two")]
    with pytest.raises(MismatchError, match="record 1 ends after 2 deltas because its reader closed the stream there"):
        await anext(again)
    assert replayer.open_streams == 0


async def test_a_fault_of_the_adapter_is_raised_and_not_recorded(tmp_path: Path) -> None:
    path = tmp_path / "traffic.jsonl"
    recorder = Recorder(ScriptedModel(KeyError("choices"), "fine"), path)
    with pytest.raises(KeyError):
        await complete(recorder, asking(recorder))
    assert not path.exists()
    await complete(recorder, asking(recorder))
    assert [request.messages[0].text for request in Replayer(path).unused] == ["hi"]


async def test_the_recorder_opens_and_closes_the_model_it_records(tmp_path: Path) -> None:
    class Opened(FunctionModel):
        told: list[str] = []

        async def init(self) -> None:
            self.told.append("init")

        async def dispose(self) -> None:
            self.told.append("dispose")

    recorder = Recorder(Opened(lambda request: request.model.name), tmp_path / "traffic.jsonl")
    await recorder.init()
    assert (await complete(recorder, asking(recorder))).message.text == "function"
    await recorder.dispose()
    assert Opened.told == ["init", "dispose"]
    closed = Recorder(ScriptedModel(), tmp_path / "other.jsonl")
    await closed.init()
    await closed.dispose()
    assert not closed.path.exists()


async def test_recording_anew_replaces_the_file_of_the_same_model_and_of_no_other(tmp_path: Path) -> None:
    path = tmp_path / "traffic.jsonl"
    for text in ("old", "new"):
        recorder = Recorder(ScriptedModel("fine", name="a"), path)
        await complete(recorder, asking(recorder, text))
    assert [request.messages[0].text for request in Replayer(path).unused] == ["new"]
    other = Recorder(ScriptedModel("fine", name="b"), path)
    with pytest.raises(CassetteError, match="holds the traffic of 'a' and would be overwritten with that of 'b'"):
        await complete(other, asking(other))
    assert Replayer(path).name == "a"


async def test_events_of_other_classes_are_replayed_while_their_module_is_imported(tmp_path: Path) -> None:
    class Searched(Event, type="recording-test:searched", durable=False):
        query: str

    async def events(request: ModelRequest) -> AsyncIterator[Event | End[ModelResponse]]:
        yield Searched("oslo")
        yield End(ModelResponse(Message("assistant", "found")))

    path = tmp_path / "traffic.jsonl"
    recorder = Recorder(FunctionModel(events), path)
    await complete(recorder, asking(recorder))
    replayer = Replayer(path)
    assert (await streamed(replayer, asking(replayer)))[0] == Searched("oslo")
    path.write_text(path.read_text("utf-8").replace("recording-test:searched", "nobody:knows"), "utf-8")
    unknown = Replayer(path)
    with pytest.raises(CassetteError, match="no event class of type 'nobody:knows' is imported"):
        await complete(unknown, asking(unknown))


async def test_a_whole_turn_with_tools_is_replayed_through_an_agent(tmp_path: Path) -> None:
    path = tmp_path / "traffic.jsonl"

    @tool
    async def weather(city: str) -> str:
        """Tell the weather."""
        return f"12 °C in {city}"

    async def turn(model: Recorder | Replayer) -> list[Event | End[Answer[str]]]:
        agent = Agent(model, instructions="be brief", tools=[weather])
        async with agent, agent.session("s") as session, session.stream("Oslo?") as events:
            return [event async for event in events]

    live = await turn(Recorder(ScriptedModel([call("weather", city="Oslo")], "It is 12 °C."), path))
    replayer = Replayer(path)
    assert snapshot(await turn(replayer)) == snapshot(live)
    assert replayer.unused == ()


# --- the file as found --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "nothing is recorded at .*: run the test once in the mode 'record'"),
        ("", "is None version None, expected 'agent-express-cassette' version 1: record it again"),
        ('{"format": "agent-express-cassette", "version": 2}', "is 'agent-express-cassette' version 2, expected"),
        ("hello", "line 1 is not JSON"),
        ('{"format": "agent-express-cassette", "version": 1}\n{"a', "line 2 is not JSON"),
        ('{"format": "agent-express-cassette", "version": 1}\n[1]', r"line 2 is \[1\], expected a JSON object"),
        ('{"format": "agent-express-cassette", "version": 1}\n{"a": 1}', "line 2 has no request"),
    ],
)
def test_a_file_that_cannot_be_replayed_says_why(tmp_path: Path, content: str | None, message: str) -> None:
    path = tmp_path / "traffic.jsonl"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    with pytest.raises(CassetteError, match=message):
        Replayer(path)


async def test_what_json_cannot_hold_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "traffic.jsonl"
    recorder = Recorder(ScriptedModel("fine", "fine", "fine"), path)
    await complete(recorder, asking(recorder))
    before = path.read_bytes()
    for options in ({"n": float("nan")}, {"s": "\ud800"}):
        with pytest.raises(CassetteError, match="cannot be written as JSON"):
            await complete(recorder, asking(recorder).replace(settings=Settings(options=options)))
    assert path.read_bytes() == before
    assert len(list(tmp_path.iterdir())) == 1


# --- secrets ------------------------------------------------------------------------------------

FILLER = "aB3" * 12
SECRETS = [  # put together here, so that no scanner takes this file for a leak
    f"sk-proj-{FILLER}",
    f"sk-ant-{FILLER}",
    f"ghp_{FILLER}",
    f"github_pat_{FILLER}",
    f"glpat-{FILLER}",
    f"xoxb-{FILLER}",
    f"AKIA{'A1' * 8}",
    f"AIza{FILLER}",
    f"hf_{FILLER}",
    f"eyJ{FILLER}.{FILLER}.{FILLER}",
    f"-----BEGIN RSA {'PRIVATE'} KEY-----\n{FILLER}\n-----END RSA {'PRIVATE'} KEY-----",
]


@pytest.mark.parametrize("secret", SECRETS)
async def test_keys_and_tokens_never_reach_the_file(tmp_path: Path, secret: str) -> None:
    path = tmp_path / "traffic.jsonl"
    half = len(secret) // 2
    recorder = Recorder(
        ScriptedModel(
            Say(
                ["It is ", secret[:half], secret[half:], "."],
                [call("login", key=secret, other=[{"deep": secret}])],
                reasoning=f"The key {secret} works",
            ),
            RateLimitError(f"key {secret} is over its limit"),
        ),
        path,
    )
    request = ModelRequest(
        recorder,
        (
            Message("user", [Text(f"use {secret}"), File(f"KEY={secret}".encode(), media_type="text/plain")]),
            Message("tool", [ToolResult([Json({secret: secret})], call_id="1")]),
        ),
        system=(Section("instructions", f"key: {secret}"),),
        settings=Settings(options={"headers": {"X-Key": secret}}),
    )
    await complete(recorder, request)
    with pytest.raises(RateLimitError):
        await complete(recorder, request)
    written = path.read_text(encoding="utf-8")
    joined = "".join(delta.get("text", "") for delta in json.loads(written.splitlines()[1])["deltas"])
    for piece in (secret, json.dumps(secret)[1:-1], json.dumps(json.dumps(secret))[2:-2]):
        assert piece not in written
        assert piece not in joined
    assert "It is <secret>." in joined

    replayer = Replayer(path)
    assert (await complete(replayer, request)).message.text == "It is <secret>."
    with pytest.raises(RateLimitError, match="key <secret> is over its limit"):
        await complete(replayer, request)


async def test_values_of_secret_variables_become_their_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    values = {"SHOP_KEY": 'pa"ss\\wörd', "SHOP_TOKEN": "plain-enough", "db_password": "hunter22", "A_SECRET": "abc"}
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    path = tmp_path / "traffic.jsonl"
    recorder = Recorder(ScriptedModel([call("login", user="abc", key=values["SHOP_KEY"])]), path)
    request = asking(recorder, f"{values['SHOP_KEY']} {values['SHOP_TOKEN']} {values['db_password']}")
    await complete(recorder, request)

    replayer = Replayer(path)
    message = (await complete(replayer, request)).message
    assert message.tool_calls[0].parsed() == {"user": "abc", "key": "<SHOP_KEY>"}
    recorded = json.loads(path.read_text(encoding="utf-8").splitlines()[1])
    assert recorded["request"]["messages"][0]["parts"][0]["text"] == "<SHOP_KEY> <SHOP_TOKEN> <db_password>"


async def test_a_replay_matches_although_the_secret_is_another_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "traffic.jsonl"
    monkeypatch.setenv("SHOP_TOKEN", "the-real-one")
    recorder = Recorder(ScriptedModel("fine"), path)
    await complete(recorder, asking(recorder, "log in with the-real-one"))
    monkeypatch.setenv("SHOP_TOKEN", "made-up-for-tests")
    replayer = Replayer(path)
    assert (await complete(replayer, asking(replayer, "log in with made-up-for-tests"))).message.text == "fine"


async def test_own_secrets_are_texts_patterns_or_functions(tmp_path: Path) -> None:
    path = tmp_path / "traffic.jsonl"
    own = ("Ada Lovelace", re.compile(r"\b\d{4} \d{4}\b"), lambda text: text.replace("Oslo", "<town>"))
    recorder = Recorder(ScriptedModel("fine"), path, secrets=own)
    request = asking(recorder, "Ada Lovelace, 1234 5678, Oslo")
    await complete(recorder, request)
    assert json.loads(path.read_text(encoding="utf-8").splitlines()[1])["request"]["messages"][0]["parts"] == [
        {"kind": "text", "text": "<secret>, <secret>, <town>"}
    ]
    assert (await complete(Replayer(path, secrets=own), request)).message.text == "fine"
    with pytest.raises(MismatchError):
        await complete(Replayer(path), request)
    with pytest.raises(ValueError, match="a secret is an empty text"):
        Scrubber("")


def test_fields_that_are_named_like_a_secret_lose_their_text() -> None:
    scrub = Scrubber(environ={})
    value = {
        "api_key": "a",
        "Authorization": "Basic b",
        "x-auth-token": ["c", 3],
        "max_tokens": "d",
        "password": "",
        "properties": {"token": {"type": "string"}},
    }
    assert scrub(value) == {
        "api_key": "<secret>",
        "Authorization": "<secret>",
        "x-auth-token": ["<secret>", 3],
        "max_tokens": "d",
        "password": "",
        "properties": {"token": {"type": "string"}},
    }


def test_user_and_password_in_an_address_and_bearer_tokens_are_taken_out() -> None:
    scrub = Scrubber(environ={})
    assert scrub.text("postgres://ada:pw@host/db, Bearer abcdefgh12") == "postgres://<secret>@host/db, Bearer <secret>"


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner)))
def test_scrubbing_twice_is_scrubbing_once(value: object) -> None:
    scrub = Scrubber(environ={"A_KEY": "secret-value"})
    once = scrub([value, "secret-value", SECRETS])
    assert scrub(once) == once


def test_pieces_without_a_secret_stay_as_they_were_streamed() -> None:
    deltas: list[dict[str, object]] = [
        {"type": "delta:text", "text": "sk-proj-abcdefgh"},
        {"type": "delta:tool-call", "index": 1, "args": '{"a'},
        {"type": "delta:tool-call", "index": 2, "args": '{"b'},
        {"type": "delta:text", "text": "ij0123456789 it is"},
        {"type": "delta:tool-call", "index": 1, "args": '": 1}'},
    ]
    sealed: list[dict[str, object]] = seal(deltas, Scrubber(environ={}))
    assert [each.get("text") for each in sealed if "text" in each] == ["<secret> it is", ""]
    assert [each for each in sealed if "args" in each] == [each for each in deltas if "args" in each]


# --- the helper ---------------------------------------------------------------------------------


async def test_a_cassette_records_replays_or_does_what_the_file_asks_for(tmp_path: Path) -> None:
    path = tmp_path / "traffic.jsonl"
    made: list[ScriptedModel] = []

    def model() -> ScriptedModel:
        made.append(ScriptedModel("live"))
        return made[-1]

    with pytest.raises(CassetteError, match="nothing is recorded"):
        cassette(path, model)
    for mode, kind in (("auto", Recorder), ("auto", Replayer), ("replay", Replayer), ("record", Recorder)):
        played = cassette(path, model, mode)  # type: ignore[arg-type]
        assert type(played) is kind
        assert (await complete(played, asking(played))).message.text == "live"
    assert len(made) == 2


async def test_the_mode_can_come_from_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AGENT_EXPRESS_CASSETTES", "record")
    assert type(cassette(tmp_path / "a.jsonl", ScriptedModel())) is Recorder
    monkeypatch.setenv("AGENT_EXPRESS_CASSETTES", "yes")
    with pytest.raises(ValueError, match="AGENT_EXPRESS_CASSETTES is 'yes', expected one of replay, record, auto"):
        cassette(tmp_path / "a.jsonl", ScriptedModel())


def test_a_name_is_not_resolved_for_a_replay(tmp_path: Path) -> None:
    path = tmp_path / "traffic.jsonl"
    path.write_text('{"format": "agent-express-cassette", "version": 1, "model": "nobody:x"}\n', encoding="utf-8")
    assert cassette(path, "nobody:x").name == "nobody:x"
