"""The floors of `benchmarks/` do the work they stand for, and the count of calls is the same at every run."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest
from benchmarks.floors import LEVELS, Channel, ExpressFloor, Next, PlainFloor, lookup, pull, push
from benchmarks.measure import compare, count_calls, once, ratio, slope

both_floors = pytest.mark.parametrize("floor", [PlainFloor, ExpressFloor])


@both_floors
@pytest.mark.parametrize("calls", [1, 3])
async def test_a_floor_answers_after_its_tool_calls(floor: type[PlainFloor | ExpressFloor], calls: int) -> None:
    assert await floor(layers=2, calls=calls).run("hi") == "done"


@pytest.mark.parametrize(("floor", "per_hook"), [(PlainFloor, 2), (ExpressFloor, 3)])
async def test_a_hook_costs_its_floor_the_same_calls_wherever_it_stands(
    floor: type[PlainFloor | ExpressFloor], per_hook: int
) -> None:
    bare = await count_calls(floor().run)
    assert await count_calls(floor().run) == bare
    hook_calls = {"session": 1, "turn": 1, "model": 2, "tool": 1}  # of one turn
    for level in LEVELS:
        assert await count_calls(floor(10, [level]).run) - bare == 10 * per_hook * hook_calls[level]


async def test_the_express_floor_refuses_a_second_next_and_allows_one_after_a_failure() -> None:
    outcomes: list[object] = [KeyError("first"), "answer"]

    async def core(_ctx: object) -> object:
        outcome = outcomes.pop(0)
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    next = Next((core,), 0, None)
    with pytest.raises(KeyError):
        await next()
    assert await next() == "answer"
    with pytest.raises(RuntimeError, match="called twice"):
        await next()


@pytest.mark.parametrize("read", [pull, push])
@pytest.mark.parametrize("deltas", [0, 1, 500])
async def test_no_delta_is_lost(read: Callable[[int], Awaitable[int]], deltas: int) -> None:
    assert await read(deltas) == deltas


async def test_a_full_channel_makes_its_sender_wait() -> None:
    channel = Channel(room=1)
    await channel.send("a")
    second = asyncio.create_task(channel.send("b"))
    await asyncio.sleep(0)
    assert not second.done()
    assert list(await channel.receive()) == ["a"]
    await second
    assert list(await channel.receive()) == ["b"]


async def test_the_count_is_of_python_functions_entered_anew_or_again() -> None:
    async def suspends() -> None:
        await asyncio.sleep(0)

    assert await count_calls(lambda: lookup("x")) == 2  # the lambda and the tool
    assert await count_calls(once(lookup, "x")) == 2
    assert await count_calls(suspends) > 2  # entered, and again after the loop


async def test_times_are_taken_of_each_work_under_its_name() -> None:
    ran = {"plain": 0, "express": 0}

    def work(name: str) -> Callable[[], Awaitable[None]]:
        async def run() -> None:
            ran[name] += 1

        return run

    taken = await compare({name: work(name) for name in ran}, repeat=4, samples=3)
    assert ran == {"plain": 25, "express": 25}  # once, then in each sample 4 untimed and 4 timed
    assert set(taken) == set(ran)
    assert all(seconds >= 0 for seconds in taken.values())


async def test_a_slope_is_taken_between_none_and_all() -> None:
    built: list[int] = []

    def build(units: int) -> Callable[[], Awaitable[str]]:
        built.append(units)
        return lambda: lookup("x")

    await slope(build, up_to=7, repeat=1, samples=1)
    assert built == [0, 7]


def test_a_ratio_reads_as_times_the_floor() -> None:
    assert ratio(80e-6, 16e-6) == "5.0 x"
