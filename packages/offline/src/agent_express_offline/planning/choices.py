"""Choices: what `tool_choice` and `parallel_tool_calls` make of a plan.

"required" and a tool's name hold until this turn has made a call; the answer may follow then.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import date

from agent_express.messages import Settings

from ..reading.commands import Command
from .building import build
from .matching import Match, Offer, matches
from .plans import Known, Plan, PlannedCall, Report


def obey(plan: Plan, settings: Settings, orders: Sequence[Command], stem: str, today: date | None) -> Plan:
    """Bring *plan* to what *settings* allow.

    Args:
        plan: As the commands alone would have it.
        settings: The request's.
        orders: The commands that could be called for.
        stem: What the ids of this step begin with.
        today: What "tomorrow" is counted from.
    """
    choice = settings.tool_choice or "auto"
    if choice == "none":
        plan = replace(plan, calls=(), reports=_with_rest(plan, orders))
    elif choice != "auto" and not plan.turn.answered:
        name = None if choice == "required" else choice
        wanted = tuple(call for call in plan.calls if name in (None, call.name))
        plan = replace(plan, calls=wanted) if wanted else _forced(plan, orders, name, stem, today)
    if settings.parallel_tool_calls is False:
        plan = replace(plan, calls=plan.calls[:1])
    return plan


def _with_rest(plan: Plan, orders: Sequence[Command]) -> tuple[Report, ...]:
    """The reports, and "forbidden" for every command that has none."""
    reported = {id(report.command) for report in plan.reports}
    rest = (Report(command, "forbidden") for command in orders if id(command) not in reported)
    return (*plan.reports, *rest)


def _forced(plan: Plan, orders: Sequence[Command], name: str | None, stem: str, today: date | None) -> Plan:
    """The most likely call that can be made at all, understood or not, to the tool *name* where one is given."""
    offers = [offer for offer in plan.offers if name in (None, offer.tool.name)]
    known = Known((), plan.turn.earlier)
    for place, command, match in _by_likelihood(orders or [Command("", ())], offers, known, today):
        built = build(command, match, known)
        if isinstance(built, list):
            call = PlannedCall(f"{stem}_{place}_0", match.offer.tool.name, built[0])
            return replace(plan, calls=(call,))
    wanted = f"a call of `{name}`" if name else "a tool call"
    unmet = f"{wanted} is required, but " + (
        "your message does not say what to call it with" if offers else "no such tool is offered"
    )
    return replace(plan, calls=(), reports=_with_rest(plan, orders), unmet=unmet)


def _by_likelihood(
    orders: Sequence[Command], offers: Sequence[Offer], known: Known, today: date | None
) -> list[tuple[int, Command, Match]]:
    found = [
        (place, command, match)
        for place, command in enumerate(orders)
        for match in matches(command, offers, refers=bool(known.older), today=today)
    ]
    return sorted(found, key=lambda each: -each[2].score)
