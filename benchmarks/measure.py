"""Take the time of things, side by side, and count the Python functions they call.

Times are CPU seconds of this process, so that other programs on the machine matter little; what is left of them
hits all candidates alike, because their samples alternate.
"""

from __future__ import annotations

import gc
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import FrameType
from typing import Any, TypeAlias

Work: TypeAlias = Callable[[], Awaitable[object]]

MICRO = 1e6
"""Microseconds in a second."""


async def compare(works: Mapping[str, Work], *, repeat: int = 200, samples: int = 9) -> dict[str, float]:
    """Return the CPU seconds that one call of each of *works* takes: the best of its samples.

    Args:
        works: What to call, by name; each is called once before anything is timed.
        repeat: Calls per sample, and as many before it that are not timed; a sample should last some milliseconds.
        samples: Samples of each; they alternate between the works, each round in another order, so that none always
            follows the same one.
    """
    best = dict.fromkeys(works, float("inf"))
    for work in works.values():
        await work()
    order, shuffled = list(works.items()), random.Random(0)
    for _ in range(samples):
        shuffled.shuffle(order)
        for name, work in order:
            best[name] = min(best[name], await _sample(work, repeat))
    return best


async def _sample(work: Work, repeat: int) -> float:
    gc.collect()
    gc.disable()  # a collection in the middle of a sample belongs to whoever made the garbage, not to who is timed
    try:
        for _ in range(repeat):  # not timed: the collection has emptied the processor's caches
            await work()
        start = time.process_time()
        for _ in range(repeat):
            await work()
        return (time.process_time() - start) / repeat
    finally:
        gc.enable()


async def slope(build: Callable[[int], Work], *, up_to: int = 10, repeat: int = 200, samples: int = 9) -> float:
    """Return the CPU seconds that each further unit costs: from `build(0)` to `build(up_to)`, in a straight line."""
    taken = await compare({"none": build(0), "all": build(up_to)}, repeat=repeat, samples=samples)
    return (taken["all"] - taken["none"]) / up_to


async def count_calls(work: Work) -> int:
    """Return how many Python functions one call of *work* enters; a coroutine that goes on counts again.

    The number does not depend on the machine or its load. The first call is not counted: it fills caches.
    """
    await work()
    calls = 0

    def note(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal calls
        if event == "call":
            calls += 1

    before = sys.getprofile()
    gc.disable()  # finalizers of other people's objects are no calls of ours
    sys.setprofile(note)
    try:
        await work()
    finally:
        sys.setprofile(before)
        gc.enable()
    return calls


def cpu_of_imports(statements: Sequence[str], *, samples: int = 5) -> list[float]:
    """Return the CPU seconds of a fresh interpreter that runs each of *statements*: the best of its samples.

    The start of the interpreter is included, compiling is not: a first run, which does not count, leaves the bytecode
    of all modules in a folder of its own.
    """
    best = [float("inf")] * len(statements)
    with tempfile.TemporaryDirectory() as cache:
        for sample in range(-1, samples):
            for index, statement in enumerate(statements):
                taken = _cpu_of(statement, cache)
                if sample >= 0:
                    best[index] = min(best[index], taken)
    return best


def _cpu_of(statement: str, cache: str) -> float:
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    environment["PYTHONPYCACHEPREFIX"] = cache
    command = [sys.executable, "-c", f"{statement}\nimport time; print(time.process_time())"]
    return float(subprocess.run(command, check=True, capture_output=True, encoding="utf-8", env=environment).stdout)


def ratio(ours: float, floor: float) -> str:
    """Return "3.4 x", how many times *floor* fits into *ours*."""
    return f"{ours / floor:.1f} x"


def once(function: Callable[..., Awaitable[Any]], *args: Any) -> Work:
    """Return a work that calls *function* with *args*."""

    async def work() -> object:
        return await function(*args)

    return work
