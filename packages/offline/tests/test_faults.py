from __future__ import annotations

import asyncio
from typing import Any

import pytest

from agent_express.errors import (
    ModelError,
    ModelTimeoutError,
    ProviderUnavailableError,
    RateLimitError,
    UnknownModelError,
)
from agent_express.events import End, TextDelta
from agent_express.messages import Message, ModelRequest
from agent_express.models import complete, resolve_model
from agent_express_offline import FAULTS, OfflineModel, create, variants


def request(model: Any, text: str = "hello", tools: Any = ()) -> ModelRequest:
    return ModelRequest(model, (Message("user", text),), tools=tools)


@pytest.mark.parametrize(
    ("fault", "kind", "status", "retry_after"),
    [
        ("fail", ProviderUnavailableError, 503, None),
        ("rate-limit", RateLimitError, 429, 0.2),
        ("timeout", ModelTimeoutError, None, None),
        ("truncate", ProviderUnavailableError, None, None),
    ],
)
async def test_a_fault_is_raised_once_as_a_retryable_error_and_then_all_is_well(
    fault: str, kind: type[ModelError], status: int | None, retry_after: float | None
) -> None:
    model = create(f"{fault}-once")
    with pytest.raises(kind) as caught:
        await complete(model, request(model))
    assert caught.value.retryable
    assert (caught.value.status, caught.value.retry_after) == (status, retry_after)
    assert (await complete(model, request(model))).message.text


async def test_a_fault_that_is_for_always_never_ends() -> None:
    model = create("fail-always")
    for _ in range(3):
        with pytest.raises(ProviderUnavailableError):
            await complete(model, request(model))


async def test_faults_come_call_by_call_in_the_order_in_which_they_are_given() -> None:
    model = OfflineModel(faults=["none", "timeout", "fail"])
    assert (await complete(model, request(model))).message.text
    with pytest.raises(ModelTimeoutError):
        await complete(model, request(model))
    with pytest.raises(ProviderUnavailableError):
        await complete(model, request(model))
    assert (await complete(model, request(model))).message.text


async def test_a_truncated_stream_has_said_something_before_it_breaks_off() -> None:
    model = create("truncate")
    said: list[Any] = []
    with pytest.raises(ProviderUnavailableError):
        async for event in model.stream(request(model)):
            said.append(event)
    assert said
    assert not any(isinstance(event, End) for event in said)
    whole = (await complete(model, request(model))).message.text
    assert whole.startswith("".join(event.text for event in said))
    assert len(said) > 5


async def test_a_stalled_stream_says_one_piece_and_ends_when_it_is_cancelled() -> None:
    model = create("stall")
    first = asyncio.Event()

    async def listen() -> None:
        async for event in model.stream(request(model)):
            assert isinstance(event, TextDelta)
            assert not first.is_set()
            first.set()

    task = asyncio.create_task(listen())
    await first.wait()
    for _ in range(10):
        await asyncio.sleep(0)
    assert not task.done()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert (await complete(model, request(model))).message.text


async def test_a_malformed_call_waits_for_an_answer_with_calls_and_is_made_well_afterwards(files: Any) -> None:
    model = create("malformed-call")
    assert (await complete(model, request(model, "hello", files.tools))).message.text
    call = (await complete(model, request(model, "read notes.txt", files.tools))).message.tool_calls[0]
    assert call.name == "read_file"
    with pytest.raises(ValueError):
        call.parsed()
    again = (await complete(model, request(model, "read notes.txt", files.tools))).message.tool_calls[0]
    assert again.parsed() == {"path": "notes.txt"}


async def test_the_pieces_of_a_malformed_call_are_malformed_too(files: Any) -> None:
    model = create("malformed-call")
    events = [event async for event in model.stream(request(model, "read notes.txt", files.tools))]
    end = events.pop()
    assert isinstance(end, End)
    assert "".join(event.args for event in events) == end.result.message.tool_calls[0].args


def test_every_variant_can_be_resolved_by_name() -> None:
    for variant in variants():
        assert resolve_model(f"offline:{variant}").name == f"offline:{variant}"
    assert resolve_model("offline").name == "offline:commands"
    assert len(variants()) == 1 + 3 * (len(FAULTS) - 1)


@pytest.mark.parametrize(
    ("variant", "hint"),
    [
        ("stal", "meant 'offline:stall'?"),
        ("rate_limit", "meant 'offline:rate-limit'?"),
        ("xyz", "there are commands, fail"),
    ],
)
def test_an_unknown_variant_is_refused_with_the_nearest_one(variant: str, hint: str) -> None:
    with pytest.raises(UnknownModelError, match="the offline model has no variant") as caught:
        create(variant)
    assert hint in str(caught.value)
    assert "commands, fail, rate-limit, timeout, stall, truncate, malformed-call" in str(caught.value)


def test_an_unknown_fault_is_refused_with_those_there_are() -> None:
    with pytest.raises(ValueError, match="there is no fault 'explode'; faults are none, fail, rate-limit"):
        OfflineModel(faults=["explode"])
