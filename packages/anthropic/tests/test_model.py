"""The model's own life: its client, its key, its event loops, and what leaves with a closed stream."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any

import pytest
from anthropic import AsyncAnthropic, AsyncAnthropicBedrock, AsyncAnthropicVertex

from agent_express.errors import (
    AuthenticationError,
    BadRequestError,
    ContentFilterError,
    ModelTimeoutError,
    UnknownModelError,
    UnsupportedError,
)
from agent_express.events import TextDelta
from agent_express.messages import Message, ModelRequest, ModelResponse, Reasoning, Settings, Text
from agent_express.models import Model, complete, resolve_model
from agent_express.testing.stand_in import Reply, StandIn, json_reply, never_accepting, sse, stand_in
from agent_express_anthropic import AnthropicModel, create


def answer(*words: str, stop: str = "end_turn") -> tuple[bytes, ...]:
    """The events of an answer in one text."""
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {"id": "msg_1", "model": "claude-kit"}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": word}} for word in words),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": stop}},
        {"type": "message_stop"},
    ]
    return tuple(sse(event, event["type"]) for event in events)


HI = Reply(answer("hi"))


@pytest.fixture
async def server() -> AsyncIterator[StandIn]:
    async with stand_in(HI) as server:
        yield server


@pytest.fixture
async def model(server: StandIn) -> AsyncIterator[AnthropicModel]:
    model = AnthropicModel("claude-kit", base_url=server.url, api_key="kit")
    yield model
    await model.dispose()


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    """Nothing of the machine's own, neither key nor profile."""
    for name in [name for name in os.environ if name.startswith("ANTHROPIC_")]:
        monkeypatch.delenv(name)
    for home in ("HOME", "USERPROFILE", "APPDATA", "XDG_CONFIG_HOME"):
        monkeypatch.setenv(home, str(tmp_path))


@pytest.fixture
def clients(monkeypatch: pytest.MonkeyPatch) -> list[AsyncAnthropic]:
    """The SDK's clients that a test makes, or has made for it."""
    made: list[AsyncAnthropic] = []

    class Noted(AsyncAnthropic):
        def __init__(self, **options: Any) -> None:
            super().__init__(**options)
            made.append(self)

    monkeypatch.setattr("anthropic.AsyncAnthropic", Noted)
    return made


def ask(model: Model, *messages: Message, **fields: Any) -> ModelRequest:
    return ModelRequest(model, messages or (Message("user", "hello"),), **fields)


# --- names --------------------------------------------------------------------------------------


def test_the_entry_point_makes_a_model_by_its_name() -> None:
    model = resolve_model("anthropic:claude-opus-4-6")
    assert isinstance(model, AnthropicModel)
    assert isinstance(model, Model)
    assert model.name == "anthropic:claude-opus-4-6"
    assert model.context_window == 1_000_000
    assert model.modalities == {"text", "image", "file"}


def test_an_unknown_model_has_an_unknown_window_unless_the_caller_knows_it() -> None:
    assert create("my-model").context_window is None
    assert AnthropicModel("my-model", context_window=32_000).context_window == 32_000


def test_a_name_without_a_model_says_how_to_write_it() -> None:
    with pytest.raises(UnknownModelError, match="anthropic:claude-sonnet-5-5"):
        create("")


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ({"timeout": 0}, "timeout must be more than 0 seconds, got 0"),
        ({"max_tokens": 0}, "max_tokens must be at least 1, got 0"),
        ({"cache_ttl": "2h"}, 'cache_ttl must be "5m" or "1h", got \'2h\''),
        ({"model": " "}, "model is empty"),
        ({"client": AsyncAnthropic(api_key="kit"), "api_key": "kit"}, "either a client, or"),
    ],
)
def test_options_that_cannot_be_are_refused_at_once(options: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        AnthropicModel(**{"model": "claude-kit", **options})


# --- keys and addresses -------------------------------------------------------------------------


async def test_key_and_address_come_from_the_environment(server: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "from-the-environment")
    monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
    model = create("claude-kit")
    assert (await complete(model, ask(model))).message.text == "hi"
    await model.dispose()
    assert server.requests[0].path == "/v1/messages"
    assert server.requests[0].headers["authorization"] == "Bearer from-the-environment"


async def test_a_missing_key_is_said_at_the_first_use_with_what_to_do() -> None:
    model = create("claude-kit")
    with pytest.raises(AuthenticationError, match=r"set ANTHROPIC_API_KEY, or pass AnthropicModel\(..., api_key=...\)"):
        await complete(model, ask(model))
    with pytest.raises(AuthenticationError):
        await model.init()


@pytest.mark.parametrize("key", ["sk-ant \n", "sk ant", "sk-änt"])
async def test_a_key_that_was_copied_badly_is_told_without_showing_it(key: str) -> None:
    model = AnthropicModel("claude-kit", api_key=key)
    with pytest.raises(AuthenticationError, match="copy it again") as caught:
        await complete(model, ask(model))
    assert key not in str(caught.value)


async def test_credentials_that_cannot_be_loaded_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_PROFILE", "nobody")
    model = create("claude-kit")
    with pytest.raises(AuthenticationError, match=r"the credentials cannot be loaded: .*nobody"):
        await complete(model, ask(model))


async def test_an_address_without_a_scheme_is_told() -> None:
    model = AnthropicModel("claude-kit", api_key="kit", base_url="localhost:8000")
    with pytest.raises(BadRequestError, match="expected it to start with http:// or https://"):
        await complete(model, ask(model))


# --- clients ------------------------------------------------------------------------------------


async def test_a_client_that_was_handed_in_is_used_and_stays_open(server: StandIn) -> None:
    client = AsyncAnthropic(api_key="kit", base_url=server.url)
    model = AnthropicModel("claude-kit", client=client)
    await model.init()
    await complete(model, ask(model))
    await model.dispose()
    assert not client.is_closed()
    await client.close()


async def test_a_client_that_was_handed_in_does_not_retry_either() -> None:
    async with stand_in(Reply(status=500)) as server, AsyncAnthropic(api_key="kit", base_url=server.url) as client:
        model = AnthropicModel("claude-kit", client=client)
        with pytest.raises(Exception, match="500"):
            await complete(model, ask(model))
        assert len(server.requests) == 1


async def test_a_handed_in_client_without_a_key_says_so(server: StandIn) -> None:
    async with AsyncAnthropic(base_url=server.url) as client:
        model = AnthropicModel("claude-kit", client=client)
        with pytest.raises(AuthenticationError, match="no API key found"):
            await complete(model, ask(model))


async def test_the_sdks_clients_for_other_clouds_take_the_same_requests() -> None:
    async with stand_in(json_reply({"message": "no such model"}, 400)) as server:
        bedrock = AsyncAnthropicBedrock(aws_region="eu-north-1", api_key="kit", base_url=server.url)
        vertex = AsyncAnthropicVertex(region="global", project_id="kit", access_token="kit", base_url=server.url)
        for client in (bedrock, vertex):
            model = AnthropicModel("claude-sonnet-5-5", client=client)
            with pytest.raises(BadRequestError, match="no such model"):
                await complete(model, ask(model))
            await client.close()
    assert [request.path.rpartition("/")[2] for request in server.requests] == [
        "invoke-with-response-stream",
        "claude-sonnet-5-5:streamRawPredict",
    ]
    assert all(request.json()["messages"] for request in server.requests)


async def test_two_agents_can_share_a_model_and_the_last_to_close_closes_the_client(
    model: AnthropicModel, clients: list[AsyncAnthropic]
) -> None:
    await model.init()
    await model.init()
    await model.dispose()
    assert (await complete(model, ask(model))).message.text == "hi"
    assert [client.is_closed() for client in clients] == [False]
    await model.dispose()
    assert [client.is_closed() for client in clients] == [True]


async def test_a_disposed_model_can_be_used_again(model: AnthropicModel) -> None:
    await model.init()
    await model.dispose()
    await model.dispose()
    assert (await complete(model, ask(model))).message.text == "hi"


async def test_calls_at_once_share_the_client_of_an_open_model(
    model: AnthropicModel, clients: list[AsyncAnthropic]
) -> None:
    await model.init()
    responses = await asyncio.gather(*(complete(model, ask(model)) for _ in range(5)))
    assert [response.message.text for response in responses] == ["hi"] * 5
    await model.dispose()
    assert [client.is_closed() for client in clients] == [True]


async def test_a_model_that_nobody_opened_closes_its_client_after_each_call(
    model: AnthropicModel, clients: list[AsyncAnthropic]
) -> None:
    await complete(model, ask(model))
    await complete(model, ask(model))
    assert [client.is_closed() for client in clients] == [True, True]


async def test_one_model_works_in_one_event_loop_after_another(monkeypatch: pytest.MonkeyPatch) -> None:
    model = AnthropicModel("claude-kit", api_key="kit")

    async def once() -> str:
        async with stand_in(HI) as server:
            monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
            return (await complete(model, ask(model))).message.text

    assert [await asyncio.to_thread(asyncio.run, once()) for _ in range(2)] == ["hi", "hi"]


# --- streams ------------------------------------------------------------------------------------


async def test_a_stream_closed_early_leaves_neither_connection_nor_task() -> None:
    async with stand_in(Reply(answer("one ", "two ", "three ")[:3], then="hold")) as server:
        model = AnthropicModel("claude-kit", base_url=server.url, api_key="kit")
        await model.init()
        before = asyncio.all_tasks()
        async with aclosing(model.stream(ask(model))) as events:
            assert await anext(events) == TextDelta("one ")
        for _ in range(20):  # steps of the loop, in which a forgotten generator would start a task
            await asyncio.sleep(0)
            assert asyncio.all_tasks() - before - server.tasks == set()
        await (await server.received()).left.wait()
        await model.dispose()


async def test_an_exception_thrown_into_the_stream_comes_out_as_it_is(model: AnthropicModel) -> None:
    events = model.stream(ask(model))
    await anext(events)
    with pytest.raises(TimeoutError, match="mine"):
        await events.athrow(TimeoutError("mine"))


async def test_a_connection_that_drops_after_the_closing_event_does_not_matter() -> None:
    async with stand_in(Reply(answer("whole"), then="drop")) as server:
        model = AnthropicModel("claude-kit", base_url=server.url, api_key="kit")
        assert (await complete(model, ask(model))).message.text == "whole"
        await model.dispose()


async def test_a_refusal_in_mid_stream_is_a_content_filter_error() -> None:
    async with stand_in(Reply(answer("Well", stop="refusal"))) as server:
        model = AnthropicModel("claude-kit", base_url=server.url, api_key="kit")
        with pytest.raises(ContentFilterError, match="anthropic:claude-kit refused to answer"):
            await complete(model, ask(model))
        await model.dispose()


async def test_a_server_that_does_not_answer_in_time_is_a_time_out() -> None:
    async with never_accepting() as url:
        model = AnthropicModel("claude-kit", base_url=url, api_key="kit", timeout=0.2)
        with pytest.raises(ModelTimeoutError, match="did not answer in time"):
            await complete(model, ask(model))
        await model.dispose()


async def test_what_cannot_be_sent_is_refused_before_anything_is_sent(server: StandIn, model: AnthropicModel) -> None:
    with pytest.raises(UnsupportedError, match="anthropic:claude-kit has no setting seed"):
        await complete(model, ask(model, settings=Settings(seed=1)))
    with pytest.raises(BadRequestError, match="cannot be put into JSON"):
        await complete(model, ask(model, Message("user", "\ud800")))
    assert server.requests == []


async def test_options_of_the_model_go_into_each_request(server: StandIn) -> None:
    model = AnthropicModel("claude-kit", base_url=server.url, api_key="kit", max_tokens=77, cache_ttl="1h")
    await complete(model, ask(model, Message("user", "hello", cache_mark=True)))
    await model.dispose()
    sent = server.requests[0].json()
    assert sent["max_tokens"] == 77
    assert sent["messages"][0]["content"][0]["cache_control"] == {"type": "ephemeral", "ttl": "1h"}


async def test_headers_and_unknown_options_reach_the_server(server: StandIn, model: AnthropicModel) -> None:
    options = {"extra_headers": {"anthropic-beta": "new-2027"}, "novelty": {"a": [1]}}
    await complete(model, ask(model, settings=Settings(options=options)))
    assert server.requests[0].headers["anthropic-beta"] == "new-2027"
    assert server.requests[0].json()["novelty"] == {"a": [1]}


async def test_thinking_makes_the_round_trip_over_the_wire() -> None:
    thought = [
        {"type": "content_block_start", "index": 7, "content_block": {"type": "thinking", "thinking": ""}},
        {"type": "content_block_delta", "index": 7, "delta": {"type": "thinking_delta", "thinking": "so"}},
        {"type": "content_block_delta", "index": 7, "delta": {"type": "signature_delta", "signature": "c2ln"}},
    ]
    said = answer("42")
    async with stand_in(Reply((said[0], *(sse(event, event["type"]) for event in thought), *said[1:]))) as server:
        model = AnthropicModel("claude-opus-5-5", base_url=server.url, api_key="kit")
        first: ModelResponse = await complete(model, ask(model))
        assert first.message.parts == (Reasoning("so", signature="c2ln", provider="anthropic"), Text("42"))
        await complete(model, ask(model, Message("user", "?"), first.message, Message("user", "!")))
        await model.dispose()
    sent = server.requests[1]
    assert sent.json()["messages"][1]["content"] == [
        {"type": "thinking", "thinking": "so", "signature": "c2ln"},
        {"type": "text", "text": "42"},
    ]
    assert sent.headers["anthropic-beta"] == "thinking-binding-controls-2026-08-01"
