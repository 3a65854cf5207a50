"""A row of the table: what something costs here, what the floors pay for the same, and what it may cost at most."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

QUIET_TURN = 16.0
"""Microseconds that a turn of the express floor takes on the quiet machine on which the bounds were written down."""


@dataclass(frozen=True, slots=True)
class Limit:
    """What a row may reach: *factor* times a yardstick that was measured in the same run.

    Attributes:
        factor: 5 for "at most 5 times the yardstick"; the bound itself where there is no yardstick.
        yardstick: In the unit of the row; 1 where there is none.
        of: What the yardstick is, "express turn"; empty where there is none.
    """

    factor: float
    yardstick: float = 1.0
    of: str = ""

    @property
    def most(self) -> float:
        """The bound in the unit of the row."""
        return self.factor * self.yardstick


def times(factor: float, yardstick: float, of: str) -> Limit:
    """Allow *factor* times *yardstick*."""
    return Limit(factor, yardstick, of)


def quiet(microseconds: float, express_turn: float) -> Limit:
    """Allow what is *microseconds* on a quiet machine; this one's speed shows in its *express_turn*."""
    return Limit(microseconds / QUIET_TURN, express_turn, "express turn")


@dataclass(frozen=True, slots=True)
class Row:
    """One thing that was measured.

    Attributes:
        name: What it is called by `--row`.
        what: What it is, in words.
        unit: Of *ours*, *plain* and *express*.
        ours: What the framework takes.
        limit: What it may take.
        plain: What nested closures take for the same; None where they have no such thing.
        express: What the least Express takes for the same; None where it has no such thing.
    """

    name: str
    what: str
    unit: str
    ours: float
    limit: Limit
    plain: float | None = None
    express: float | None = None

    @property
    def ratio(self) -> float:
        """How many yardsticks *ours* is."""
        return self.ours / self.limit.yardstick

    @property
    def used(self) -> float:
        """The share of the bound that is used; above 1 it is broken."""
        return self.ours / self.limit.most

    @property
    def holds(self) -> bool:
        """Whether the row is within its bound."""
        return self.used <= 1.0

    def as_json(self) -> dict[str, Any]:
        """The row as a dict that JSON can hold."""
        return {
            "name": self.name,
            "what": self.what,
            "unit": self.unit,
            "plain": self.plain,
            "express": self.express,
            "ours": self.ours,
            "of": self.limit.of or None,
            "ratio": self.ratio,
            "at_most": self.limit.factor,
            "holds": self.holds,
        }


@dataclass(frozen=True, slots=True)
class Effort:
    """How thoroughly to measure.

    Attributes:
        repeat: Turns per sample.
        samples: Samples of each work, of which the best counts.
        deltas: Deltas of a stream.
        sessions: Sessions that are open at once.
        turns: Turns of one long session, more than 20.
    """

    repeat: int
    samples: int
    deltas: int
    sessions: int
    turns: int


FULL = Effort(repeat=25, samples=40, deltas=400, sessions=1000, turns=300)
QUICK = Effort(repeat=1, samples=1, deltas=4, sessions=2, turns=21)
"""Shows that everything runs; its figures say nothing."""

Measure: TypeAlias = Callable[[Effort], Awaitable[list[Row]]]


@dataclass(frozen=True, slots=True)
class Group:
    """Rows that are measured together, so that their samples alternate with those of the floors."""

    names: tuple[str, ...]
    measure: Measure
