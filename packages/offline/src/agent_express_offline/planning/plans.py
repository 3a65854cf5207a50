"""Plans: the next step as data: the calls to be made, and what became of each command."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from ..filling.parameters import Parameter
from ..reading.commands import Command
from .history import Turn
from .matching import Offer
from .results import Group, Item

State: TypeAlias = Literal["called", "recalled", "lost", "lacking", "forbidden", "unclear", "negated", "conditional"]


@dataclass(frozen=True, slots=True)
class PlannedCall:
    """A call to be made: its id, the tool's name, and its arguments."""

    id: str
    name: str
    args: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Report:
    """What became of one command.

    Attributes:
        command: Which.
        state: "called": the group says how it went; "recalled": answered from an earlier result; "lost": it cannot be
            done, *why* says for what reason; "lacking": a required argument was not said; "forbidden": it needs a call
            and none may be made now; "unclear": no tool fits; "negated", "conditional": understood, and left alone.
        group: What its calls brought up.
        why: In words, for "lost".
        offer: The tool that was or would have been called.
        missing: What was not said, for "lacking".
        unused: Values of the command that found no place.
        chosen: The items of an earlier result that it asks for, for "recalled".
    """

    command: Command
    state: State
    group: Group | None = None
    why: str = ""
    offer: Offer | None = None
    missing: tuple[Parameter, ...] = ()
    unused: tuple[str, ...] = ()
    chosen: tuple[Item, ...] = ()


@dataclass(frozen=True, slots=True)
class Plan:
    """The next step.

    Attributes:
        calls: To be made now, in one batch; empty where all is done.
        reports: What became of each command; complete where there are no calls.
        chat: "greeting" or "help" where the message held one, else empty.
        offers: The offered tools.
        turn: The turn as it was read.
        cut: Whether the message went on past what is read.
        unmet: In words, the call that `tool_choice` asks for and that could not be made; else empty.
    """

    calls: tuple[PlannedCall, ...]
    reports: tuple[Report, ...]
    chat: str
    offers: tuple[Offer, ...]
    turn: Turn
    cut: bool = False
    unmet: str = ""


@dataclass(frozen=True, slots=True)
class Known:
    """What is known when a command's turn comes.

    Attributes:
        reports: Of the commands before it in this turn, in order.
        older: What turns before brought up, the newest first.
    """

    reports: Sequence[Report]
    older: Sequence[Group]

    @property
    def current(self) -> list[Group]:
        """What this turn's commands brought up, the newest first."""
        made = [report.group for report in self.reports if report.state == "called" and report.group is not None]
        return [group for group in reversed(made) if not group.failed]

    @property
    def groups(self) -> list[Group]:
        """All that "it" could mean, the nearest first."""
        return [*self.current, *self.older]

    @property
    def obstacle(self) -> str:
        """Why nothing can refer to the command right before; empty where something can."""
        before = self.reports[-1] if self.reports else None
        if before is None or before.state in ("recalled", "negated"):
            return ""
        if before.state == "called":
            return "failed" if before.group is None or before.group.failed else ""
        return "was not done"
