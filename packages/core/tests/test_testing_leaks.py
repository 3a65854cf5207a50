"""The check that nothing is left running."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import AsyncGenerator

import pytest

from agent_express.messages import Message, ModelRequest
from agent_express.models import complete
from agent_express.testing import FunctionModel, ScriptedModel, no_leaks


async def counting(limit: int = 3) -> AsyncGenerator[int]:
    for n in range(limit):
        yield n


async def test_a_block_that_tidies_up_passes() -> None:
    model = ScriptedModel("a b")
    async with no_leaks():
        task = asyncio.create_task(asyncio.sleep(0))
        assert [n async for n in counting()] == [0, 1, 2]
        stopped = counting()
        await anext(stopped)
        await stopped.aclose()
        await complete(model, ModelRequest(model, (Message("user", "hi"),)))
        await task


async def test_a_task_that_goes_on_is_named_with_the_place_where_it_waits() -> None:
    async def waits_for_ever() -> None:
        await asyncio.Event().wait()

    with pytest.raises(AssertionError, match=r"left behind:\n  task lost running .*waits_for_ever at .*\.py:\d+$"):
        async with no_leaks():
            task = asyncio.create_task(waits_for_ever(), name="lost")
            await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])


async def test_a_task_that_is_cancelled_but_not_awaited_is_left_behind() -> None:
    with pytest.raises(AssertionError, match="task orphan running"):
        async with no_leaks():
            task = asyncio.create_task(asyncio.sleep(3600), name="orphan")
            await asyncio.sleep(0)
            task.cancel()
    await asyncio.wait([task])


async def test_a_generator_that_stays_open_is_named_with_its_line() -> None:
    opened = counting()
    with pytest.raises(
        AssertionError, match=r"left behind:\n  async generator counting at .*test_testing_leaks\.py:\d+"
    ):
        async with no_leaks():
            await anext(opened)
    await opened.aclose()


async def test_a_generator_that_is_dropped_instead_of_closed_is_left_behind() -> None:
    with pytest.raises(AssertionError, match="dropped without being closed: async generator counting"):
        async with no_leaks():
            async for _ in counting():
                break
            gc.collect()
            await asyncio.sleep(0)
    for task in asyncio.all_tasks() - {asyncio.current_task()}:
        await asyncio.wait([task])


async def test_a_stream_of_a_model_that_stays_open_is_named() -> None:
    model = FunctionModel(lambda _: "a b", name="helper")
    stream = model.stream(ModelRequest(model, (Message("user", "hi"),)))
    with pytest.raises(AssertionError, match=r"1 open stream\(s\) of the model 'helper'"):
        async with no_leaks():
            await anext(stream)
    await stream.aclose()


async def test_what_was_there_before_does_not_count() -> None:
    task = asyncio.create_task(asyncio.sleep(3600))
    model, opened = ScriptedModel("a b"), counting()
    stream = model.stream(ModelRequest(model, (Message("user", "hi"),)))
    await anext(opened)
    await anext(stream)
    async with no_leaks():
        assert await anext(opened) == 1
        await anext(stream)
    task.cancel()
    await asyncio.wait([task])
    await opened.aclose()
    await stream.aclose()


async def test_the_error_of_the_block_is_not_hidden() -> None:
    opened = counting()
    with pytest.raises(KeyError):
        async with no_leaks():
            await anext(opened)
            raise KeyError("the real trouble")
    await opened.aclose()


async def test_the_event_loop_keeps_its_own_watch_over_generators() -> None:
    before = sys.get_asyncgen_hooks()
    async with no_leaks():
        inside = sys.get_asyncgen_hooks()
    assert inside != before
    assert sys.get_asyncgen_hooks() == before
