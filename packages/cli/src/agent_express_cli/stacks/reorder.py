"""Orders that keep given rules and move as little as possible. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TypeAlias

Pair: TypeAlias = tuple[int, int]
"""The first stands outside of the second."""


class Before:
    """Who must stand outside of whom, with all that follows from it. It holds no contradiction."""

    def __init__(self, size: int) -> None:
        self._inner: list[set[int]] = [set() for _ in range(size)]
        self._outer: list[set[int]] = [set() for _ in range(size)]

    def add(self, outer: int, inner: int) -> bool:
        """Add that *outer* stands outside of *inner*; False, and nothing changes, where that would contradict."""
        if outer == inner or outer in self._inner[inner]:
            return False
        if inner not in self._inner[outer]:
            above, below = {outer, *self._outer[outer]}, {inner, *self._inner[inner]}
            for each in above:
                self._inner[each] |= below
            for each in below:
                self._outer[each] |= above
        return True

    def inner(self, one: int) -> Collection[int]:
        """Who must stand inside of *one*."""
        return self._inner[one]

    def outer(self, one: int) -> Collection[int]:
        """Who must stand outside of *one*."""
        return self._outer[one]


def reorder(before: Before, size: int) -> list[int]:
    """Put `range(size)` into an order that keeps *before*; as few as possible move, each as little as possible.

    One of each pair that stands the wrong way round has to move. Those that move are taken out, which leaves the
    others in an order that holds, and each is put back at the nearest place that suits it.
    """
    moving = _movers(before, size)
    order = [each for each in range(size) if each not in moving]
    for each in sorted(moving):
        order.insert(_place(before, order, each), each)
    return order


def _movers(before: Before, size: int) -> set[int]:
    """Few that leave no pair the wrong way round: always the one in most of the pairs that remain."""
    wrong = {(outer, inner) for outer in range(size) for inner in before.inner(outer) if inner < outer}
    moving: set[int] = set()
    while wrong:
        worst = max(range(size), key=lambda one: (sum(one in pair for pair in wrong), one))
        moving.add(worst)
        wrong = {pair for pair in wrong if worst not in pair}
    return moving


def _place(before: Before, order: Sequence[int], one: int) -> int:
    """Where *one* can be put into *order*: as near to where it stood as its rules allow."""
    outer, inner = before.outer(one), before.inner(one)
    low = max((place + 1 for place, each in enumerate(order) if each in outer), default=0)
    high = min((place for place, each in enumerate(order) if each in inner), default=len(order))
    stood = sum(each < one for each in order)
    return min(max(stood, low), high)


def moved(order: Iterable[int]) -> list[int]:
    """Those who stand elsewhere than the others, as few as there can be: all but a longest rising sequence."""
    sequence, rising = list(order), list[list[int]]()
    for each in sequence:
        longest = _longest(run for run in rising if run[-1] < each)
        rising.append([*longest, each])
    kept = set(_longest(rising))
    return [each for each in sequence if each not in kept]


def _longest(runs: Iterable[list[int]]) -> list[int]:
    longest: list[int] = []
    for run in runs:
        if len(run) > len(longest):
            longest = run
    return longest
