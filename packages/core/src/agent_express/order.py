"""The rules of order: what a middleware must stand outside or inside of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from .errors import OrderError


@dataclass(frozen=True)
class Order:
    """Where a middleware must stand: `Order(outside=["memory"], inside=["auth"])`.

    A rule matches a name, an entry ("memory.episodic") or an area ("memory"); what is absent is ignored.

    Attributes:
        outside: It stands outside of these.
        inside: It stands inside of these.
        requires: These must be there when the agent opens.
    """

    outside: Sequence[str] = ()
    inside: Sequence[str] = ()
    requires: Sequence[str] = ()


NO_RULES = Order()


class Ordered(Protocol):
    """What the rules look at: a middleware's name, its rules, and which rules speak of it."""

    name: str
    order: Order

    def matches(self, rule: str) -> bool:
        """Whether a rule speaks of it."""
        ...


@dataclass(frozen=True)
class Broken:
    """A rule that a stack breaks: *entry* must stand *side* ("outside" or "inside") of *other*, and does not."""

    entry: Ordered
    side: str
    other: Ordered

    def __str__(self) -> str:
        return f"{self.entry.name} must stand {self.side} of {self.other.name}"


def broken_rules(entries: Sequence[Ordered]) -> Iterator[Broken]:
    """Find the rules of order that *entries*, outermost first, break."""
    for position, entry in enumerate(entries):
        for rule in entry.order.outside:
            yield from (Broken(entry, "outside", other) for other in entries[:position] if other.matches(rule))
        for rule in entry.order.inside:
            yield from (Broken(entry, "inside", other) for other in entries[position + 1 :] if other.matches(rule))


def better_order(entries: Sequence[Ordered]) -> str:
    """Say in which order *entries* would break no rule, moving as few as can be."""
    better = _sorted(entries)
    return f"this order would do: {', '.join(better)}" if better else "their rules contradict each other"


def check_order(entries: Sequence[Ordered], *, opening: bool = False) -> None:
    """Refuse a stack that breaks a rule of one of its members.

    Args:
        entries: Outermost first.
        opening: Whether the stack is complete, so that what is required must be there.

    Raises:
        OrderError: Which rule, and an order that would do.
    """
    broken = next(broken_rules(entries), None)
    if broken is not None:
        raise OrderError(f"{broken}; {better_order(entries)}")
    for entry in entries if opening else ():
        for rule in entry.order.requires:
            if not any(other.matches(rule) for other in entries):
                raise OrderError(f"{entry.name} requires {rule!r}, and no middleware in use is that; add it with use()")


def _sorted(entries: Sequence[Ordered]) -> list[str] | None:
    """The names in an order that keeps all rules and moves as little as possible; None where there is none."""
    waiting = list(entries)
    done: list[str] = []
    while waiting:
        free = next((e for e in waiting if not any(_outer(other, e) for other in waiting if other is not e)), None)
        if free is None:
            return None
        waiting.remove(free)
        done.append(free.name)
    return done


def _outer(a: Ordered, b: Ordered) -> bool:
    """Whether *a* must stand outside of *b*."""
    return any(b.matches(rule) for rule in a.order.outside) or any(a.matches(rule) for rule in b.order.inside)
