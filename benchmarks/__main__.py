"""Print the floors of this machine: `scripts/bench`."""

from __future__ import annotations

import asyncio
import platform

from benchmarks.floors import ExpressFloor, Level, PlainFloor, pull, push
from benchmarks.measure import MICRO, compare, count_calls, once, slope

INNER: tuple[Level, ...] = ("turn", "model", "tool")
DELTAS = 200


async def main() -> None:
    """Measure and print."""
    print(f"CPython {platform.python_version()}, microseconds of CPU time, best of several samples\n")
    turn = await compare({"plain": PlainFloor().run, "express": ExpressFloor().run})
    for name, floor in (("plain", PlainFloor), ("express", ExpressFloor)):
        layer = await slope(lambda layers: floor(layers, INNER).run)
        calls = await count_calls(floor().run)
        calls_of_layer = (await count_calls(floor(10, INNER).run) - calls) / 10
        print(f"{name:8} turn {turn[name] * MICRO:6.1f}   middleware {layer * MICRO:5.2f}", end="   ")
        print(f"function calls {calls} + {calls_of_layer:.0f}")
    deltas = await compare({"pull": once(pull, DELTAS), "push": once(push, DELTAS)}, repeat=20)
    for name, seconds in deltas.items():
        print(f"{name:8} delta {seconds / DELTAS * MICRO:5.2f}")


asyncio.run(main())
