"""Planning: which calls come next, and what is to be said of each command once there are none.

A plan is made anew from the whole conversation at every step. It keeps nothing: the same request gives the same plan.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final, TypeAlias

from agent_express.messages import ModelRequest

from ..reading.commands import Command, Commands, parse
from ..reading.dates import today_in
from ..reading.references import Reference, find_references
from .building import Lacking, build
from .choices import obey
from .history import Answered, Turn, read_turn
from .lookup import Lost, choose
from .matching import Match, Offer, matches, nouns_of, read_offers, verbs_of
from .plans import Known, Plan, PlannedCall, Report
from .results import Group, group_of

MAX_CALLS: Final = 16
"""The most calls of one step; further ones follow in the next."""

_ATTEMPTS: Final = 2
_OWN_ID: Final = re.compile(r"offline_\d{1,9}_(\d{1,4})_(\d{1,4})", re.ASCII)
_ASKING: Final = frozenset(
    ["what", "what's", "whats", "which", "who", "how", "where", "show", "tell", "give", "repeat"]
)
_CHAT: Final = ("greeting", "help")

Tries: TypeAlias = Mapping[int, Sequence[Answered]]
"""The answered calls of one command: by the number of the call, every try of it."""


def make_plan(request: ModelRequest, today: date | None = None) -> Plan:
    """Plan the next step of *request*; *today* counts where the system prompt states no date."""
    turn = read_turn(request.messages)
    offers = read_offers(request.tools)
    commands = _commands(turn, verbs_of(offers))
    orders = [command for command in commands.items if command.manner not in _CHAT]
    chat = next((command.manner for command in commands.items if command.manner in _CHAT), "")
    today = today_in(request.system_text) or today
    stem = f"offline_{len(request.messages)}"
    calls, reports = _Walk(turn, offers, orders, stem, today).run()
    plan = Plan(tuple(calls), tuple(reports), chat, offers, turn, commands.cut)
    return obey(plan, request.settings, orders, stem, today)


def _commands(turn: Turn, verbs: frozenset[str]) -> Commands:
    read = [parse(text, verbs) for text in (turn.text, *turn.orders)]
    return Commands(tuple(item for each in read for item in each.items), any(each.cut for each in read))


@dataclass(slots=True)
class _Standing:
    """Whether commands before are still open, and whether one of them changes something."""

    open: bool = False
    changing: bool = False

    def lets(self, command: Command, match: Match) -> bool:
        """Whether a command may be called beside the open ones: they and it only look, and it needs nothing of them."""
        waits = command.after or not match.offer.looks or _depends(match)
        return not self.open or not (waits or self.changing)

    def add(self, match: Match) -> None:
        """Note a command that is open."""
        self.open = True
        self.changing = self.changing or not match.offer.looks


def _depends(match: Match) -> bool:
    """Whether it needs what earlier commands bring up: a reference, or an argument that was not said again."""
    return bool(match.assignment.missing) or any(slot.references for slot in match.assignment.slots)


class _Walk:
    """One pass through the commands, in order: finished ones are reported, those whose turn has come are called."""

    def __init__(
        self, turn: Turn, offers: tuple[Offer, ...], orders: Sequence[Command], stem: str, today: date | None
    ) -> None:
        self.orders, self.stem, self.nouns = orders, stem, nouns_of(offers)
        self.readings = [_reading(place, orders, offers, turn, today) for place in range(len(orders))]
        self.done, strangers = _attributed(turn.answered, self.readings)
        self.older = [*strangers, *turn.earlier]
        self.reports: list[Report] = []

    def run(self) -> tuple[list[PlannedCall], list[Report]]:
        """The calls to be made now, at most 16, and the reports of the commands that are finished."""
        calls: list[PlannedCall] = []
        standing = _Standing()
        for place, (command, match) in enumerate(zip(self.orders, self.readings, strict=True)):
            if match is None:
                tries = self.done.get(place)
                self.reports.append(_finished(command, None, tries) if tries else self._without_tool(command))
            elif standing.lets(command, match):
                step = self._step(place, command, match)
                if isinstance(step, Report):
                    self.reports.append(step)
                else:
                    calls += step
                    standing.add(match)
            else:
                standing.add(match)
        return calls[:MAX_CALLS], self.reports

    def _step(self, place: int, command: Command, match: Match) -> Report | list[PlannedCall]:
        """The report of a command that is finished, or the calls it still needs."""
        tries = self.done.get(place, {})
        if any(each.outcome.tool != match.offer.tool.name for row in tries.values() for each in row):
            return _finished(command, match, tries)
        built = build(command, match, Known(self.reports, self.older))
        if not isinstance(built, list):
            return _finished(command, match, tries) if tries else _refused(command, match, built)
        calls = [
            PlannedCall(f"{self.stem}_{place}_{number}", match.offer.tool.name, args)
            for number, args in enumerate(built)
            if not _is_settled(tries.get(number, ()))
        ]
        return calls or _finished(command, match, tries)

    def _without_tool(self, command: Command) -> Report:
        """What to say of a command that no tool fits: left alone, answered from what is there, or not understood."""
        if command.manner == "negated" or command.manner == "conditional":
            return Report(command, command.manner)
        if command.manner == "statement":
            return Report(command, "unclear")
        return _recalled(command, Known(self.reports, self.older).groups, self.nouns) or Report(command, "unclear")


def _reading(
    place: int, orders: Sequence[Command], offers: Sequence[Offer], turn: Turn, today: date | None
) -> Match | None:
    """The tool that a command means; None where it means none."""
    command = orders[place]
    if command.manner != "order":
        return None
    found = matches(command, offers, refers=bool(turn.earlier or place), today=today)
    return found[0] if found and found[0].understood else None


def _attributed(
    answered: Iterable[Answered], readings: Sequence[Match | None]
) -> tuple[dict[int, dict[int, list[Answered]]], list[Group]]:
    """Say which command each answered call of this turn belongs to: by our own ids, else by the tool's name.

    Calls that belong to none (another model began this turn) are given back as groups, the newest first.
    """
    done: dict[int, dict[int, list[Answered]]] = {}
    strangers: list[Group] = []
    for each in answered:
        own = _OWN_ID.fullmatch(each.id)
        if own and int(own[1]) < len(readings):
            done.setdefault(int(own[1]), {}).setdefault(int(own[2]), []).append(each)
            continue
        places = (at for at, match in enumerate(readings) if match and match.offer.tool.name == each.outcome.tool)
        place = next((at for at in places if at not in done), None)
        if place is not None:
            done[place] = {0: [each]}
        elif not each.outcome.is_error:
            strangers.insert(0, group_of([each.outcome]))
    return done, strangers


def _is_settled(tries: Sequence[Answered]) -> bool:
    """Whether a call need not be made again: it was answered, or its arguments were unreadable twice."""
    return any(not each.unreadable for each in tries) or len(tries) >= _ATTEMPTS


def _finished(command: Command, match: Match | None, tries: Tries) -> Report:
    last = [tries[number][-1].outcome for number in sorted(tries)]
    unused = match.assignment.unused if match else ()
    return Report(command, "called", group_of(last), offer=match.offer if match else None, unused=unused)


def _refused(command: Command, match: Match, why: Lost | Lacking) -> Report:
    if isinstance(why, Lost):
        return Report(command, "lost", why=why.why, offer=match.offer)
    return Report(command, "lacking", offer=match.offer, missing=why.parameters)


def _recalled(command: Command, groups: Sequence[Group], nouns: frozenset[str]) -> Report | None:
    """An answer out of an earlier result: "how many are there?", "which is the largest?"; None for other commands."""
    references = find_references(command.tokens, nouns)
    counts = command.words[:2] == ["how", "many"]
    asks = command.words[:1] != [] and command.words[0] in _ASKING
    bare = len(references) == 1 and (references[0].begin, references[0].end) == (0, len(command.tokens))
    if not groups or not (bare or (asks and (references or counts))):
        return None
    chosen = choose(references[0] if references else Reference("them", "all", 0, 0), groups)
    if isinstance(chosen, Lost):
        return Report(command, "lost", why=chosen.why)
    return Report(command, "recalled", chosen[0], chosen=chosen[1])
