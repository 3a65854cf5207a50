"""The model's own life: names, keys, clients, connections, imports."""

from __future__ import annotations

import asyncio
import gc
import subprocess
import sys
from contextlib import aclosing
from importlib.metadata import entry_points
from typing import Any

import pytest
from openai import AsyncOpenAI

from agent_express.errors import (
    AuthenticationError,
    BadRequestError,
    ModelError,
    ProviderUnavailableError,
    UnknownModelError,
    UseError,
)
from agent_express.events import TextDelta
from agent_express.messages import Message, ModelRequest, Settings
from agent_express.models import Model, complete, resolve_model
from agent_express.testing.stand_in import Reply, StandIn, sse, stand_in
from agent_express_openai import OpenAIModel, create, create_chat


def chunk(text: str, finish: str | None = None) -> bytes:
    return sse({"id": "c", "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": finish}]})


HELLO = Reply((chunk("Hel"), chunk("lo", "stop"), sse("[DONE]")))


def ask(model: Model, text: str = "?") -> ModelRequest:
    return ModelRequest(model, (Message("user", text),))


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key and no address from the machine that runs the tests."""
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "OPENAI_ADMIN_KEY", "OPENAI_ORG_ID", "OPENAI_PROJECT_ID"):
        monkeypatch.delenv(name, raising=False)


# --- names --------------------------------------------------------------------------------------


def test_a_name_becomes_a_model_through_the_entry_point() -> None:
    model = resolve_model("openai:gpt-5")
    assert isinstance(model, OpenAIModel)
    assert isinstance(model, Model)
    assert (model.name, model.endpoint.api, model.context_window) == ("openai:gpt-5", "responses", 400_000)


def test_the_entry_points_are_the_two_factories() -> None:
    found = {entry.name: entry.value for entry in entry_points(group="agent_express.models") if "openai" in entry.name}
    assert found["openai"] == "agent_express_openai:create"
    assert (create("gpt-5").name, create_chat("gpt-5").name) == ("openai:gpt-5", "openai-chat:gpt-5")
    assert create_chat("gpt-5").endpoint.api == "chat"


def test_a_name_may_hold_colons_and_slashes() -> None:
    model = resolve_model("openai:meta/llama-3:8b")
    assert isinstance(model, OpenAIModel)
    assert (model.model, model.name) == ("meta/llama-3:8b", "openai:meta/llama-3:8b")


def test_a_model_without_a_name_says_how_to_name_one() -> None:
    with pytest.raises(UnknownModelError, match="write 'openai:gpt-5'"):
        create("")


def test_the_window_can_be_told_and_is_not_guessed_for_other_servers() -> None:
    assert OpenAIModel("gpt-5", base_url="http://localhost/v1").context_window is None
    assert OpenAIModel("x", base_url="http://localhost/v1", context_window=8192).context_window == 8192


# --- keys ---------------------------------------------------------------------------------------


async def test_a_missing_key_is_said_when_the_model_is_opened_or_used() -> None:
    model = OpenAIModel("gpt-5")
    with pytest.raises(AuthenticationError, match="openai:gpt-5: no API key; set OPENAI_API_KEY"):
        await model.init()
    with pytest.raises(AuthenticationError, match="no API key"):
        await complete(model, ask(model))


async def test_the_key_is_taken_from_the_environment_when_it_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    async with stand_in(HELLO) as server:
        model = OpenAIModel("m", base_url=f"{server.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", "from-env")
        await complete(model, ask(model))
    assert server.requests[0].headers["authorization"] == "Bearer from-env"


async def test_a_key_can_come_from_a_function() -> None:
    async def key() -> str:
        return "fresh"

    async with stand_in(HELLO) as server:
        model = OpenAIModel("m", base_url=f"{server.url}/v1", api_key=key)
        await complete(model, ask(model))
    assert server.requests[0].headers["authorization"] == "Bearer fresh"


async def test_another_server_needs_no_key() -> None:
    async with stand_in(HELLO) as server:
        model = OpenAIModel("m", base_url=f"{server.url}/v1", headers={"x-team": "blue"})
        assert (await complete(model, ask(model))).message.text == "Hello"
    assert server.requests[0].path == "/v1/chat/completions"
    assert server.requests[0].headers["x-team"] == "blue"


def test_no_key_shows_in_the_models_repr() -> None:
    assert "secret" not in repr(OpenAIModel("m", api_key="secret"))


# --- clients ------------------------------------------------------------------------------------


async def test_an_open_model_shares_one_client_until_the_last_user_has_disposed_it() -> None:
    async with stand_in(HELLO) as server:
        model = OpenAIModel("m", base_url=f"{server.url}/v1")
        await model.init()
        await model.init()
        await model.dispose()
        assert (await complete(model, ask(model))).message.text == "Hello"
        await model.dispose()
        await model.dispose()
        assert (await complete(model, ask(model))).message.text == "Hello"


async def test_a_client_that_was_handed_in_is_used_without_retries_and_never_closed() -> None:
    async with stand_in(Reply((b"{}",), status=500)) as server:
        async with AsyncOpenAI(api_key="own", base_url=f"{server.url}/own", max_retries=5) as client:
            model = OpenAIModel("m", client=client, api="responses")
            await model.init()
            with pytest.raises(ProviderUnavailableError):
                await complete(model, ask(model))
            await model.dispose()
            assert not client.is_closed()
        assert [request.path for request in server.requests] == ["/own/responses"]
        assert server.requests[0].headers["authorization"] == "Bearer own"


async def test_calls_run_side_by_side_on_one_model() -> None:
    async with stand_in(HELLO) as server:
        model = OpenAIModel("m", base_url=f"{server.url}/v1")
        await model.init()
        answers = await asyncio.gather(*(complete(model, ask(model, str(n))) for n in range(5)))
        await model.dispose()
    assert [answer.message.text for answer in answers] == ["Hello"] * 5


# --- streams ------------------------------------------------------------------------------------


@pytest.mark.parametrize("opened", [True, False])
async def test_leaving_a_stream_early_leaves_no_task_and_no_connection(opened: bool) -> None:
    async with stand_in(Reply((chunk("a") + chunk("b") + chunk("c"),), then="hold")) as server:
        model = OpenAIModel("m", base_url=f"{server.url}/v1")
        if opened:
            await model.init()
        before = asyncio.all_tasks()
        async with aclosing(model.stream(ask(model))) as events:
            assert await anext(events) == TextDelta("a")
        gc.collect()
        await asyncio.sleep(0)  # a generator that was left to the garbage collector is closed in a task from here on
        assert tasks_of(server) >= asyncio.all_tasks() - before
        await (await server.received()).left.wait()
        await model.dispose()


def tasks_of(server: StandIn) -> set[asyncio.Task[Any]]:
    return set(server.tasks)


async def test_what_a_consumer_throws_into_the_stream_comes_out_unchanged() -> None:
    """A time limit around the stream must not turn into an error of the provider."""
    async with stand_in(Reply((chunk("a"),), then="hold")) as server:
        model = OpenAIModel("m", base_url=f"{server.url}/v1")
        events = model.stream(ask(model))
        await anext(events)
        with pytest.raises(TimeoutError, match="mine"):
            await events.athrow(TimeoutError("mine"))


async def test_what_json_cannot_hold_is_the_requests_fault() -> None:
    async with stand_in(HELLO) as server:
        model = OpenAIModel("m", base_url=f"{server.url}/v1")
        for options in ({"metadata": object()}, {"metadata": "\ud800"}):
            request = ModelRequest(model, (Message("user", "?"),), settings=Settings(options=options))
            with pytest.raises(BadRequestError, match="the request cannot be written") as caught:
                await complete(model, request)
            assert not caught.value.retryable
        assert server.requests == []


async def test_an_answer_that_is_no_stream_is_not_taken_for_one() -> None:
    for body in (b"<html>welcome</html>", b"\xff\xfe", b"data: \xff\n\n", b"data: [1]\n\n"):
        async with stand_in(Reply((body,))) as server:
            model = OpenAIModel("m", base_url=f"{server.url}/v1")
            with pytest.raises(ModelError) as caught:
                await complete(model, ask(model))
        assert caught.value.retryable


async def test_a_key_function_that_fails_fails_as_itself() -> None:
    async def key() -> str:
        raise LookupError("no vault")

    async with stand_in(HELLO) as server:
        model = OpenAIModel("m", base_url=f"{server.url}/v1", api_key=key)
        with pytest.raises(LookupError, match="no vault") as caught:
            await complete(model, ask(model))
    assert caught.value.__cause__ is None


def test_a_client_of_ones_own_leaves_nothing_else_to_say() -> None:
    client = AsyncOpenAI(api_key="own")
    with pytest.raises(UseError, match=r"client= brings its own base_url, api_key; leave them out"):
        OpenAIModel("m", client=client, base_url="http://localhost/v1", api_key="k")


def test_an_address_without_a_scheme_is_refused_at_once() -> None:
    with pytest.raises(UseError, match="base_url must look like"):
        OpenAIModel("m", base_url="localhost:8000")


# --- imports ------------------------------------------------------------------------------------


def python(script: str) -> str:
    run = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, encoding="utf-8")
    return run.stdout.strip()


def test_the_sdk_is_imported_with_the_first_use_only() -> None:
    script = (
        "import sys, agent_express_openai as package\n"
        "model = package.create('gpt-5')\n"
        "print([name for name in ('openai', 'httpx2', 'anyio') if name in sys.modules])"
    )
    assert python(script) == "[]"


def test_a_missing_sdk_names_the_install_command() -> None:
    script = (
        "import asyncio, sys\n"
        "sys.modules['openai'] = None\n"
        "from agent_express_openai import OpenAIModel\n"
        "try: asyncio.run(OpenAIModel('m', api_key='k').init())\n"
        "except Exception as error: print(type(error).__name__, error)"
    )
    said = python(script)
    assert said.startswith("MissingPackageError openai:m needs the package openai")
    assert said.endswith("pip install 'openai>=3.50,<4'")
