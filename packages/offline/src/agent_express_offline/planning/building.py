"""Building: from a command and its tool to the arguments of each call, earlier results looked up."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

from ..filling.conversion import NOTHING, convert
from ..filling.domains import GENERIC_NOUNS
from ..filling.fitting import fit
from ..filling.parameters import Parameter
from ..filling.schemas import problem
from ..reading.commands import Command
from ..reading.references import Reference
from ..reading.values import values_of
from ..reading.words import clean, stem
from .lookup import MAX_SPREAD, Lost, inherit, look_up
from .matching import Match
from .plans import Known

_NOUNS: Final = frozenset(map(stem, GENERIC_NOUNS))


@dataclass(frozen=True, slots=True)
class Lacking:
    """Required parameters that neither the command nor what came before it says."""

    parameters: tuple[Parameter, ...]


def build(command: Command, match: Match, known: Known) -> list[dict[str, Any]] | Lost | Lacking:
    """The arguments of each call that *command* needs, at least one, or why there is none.

    All of them fit the tool's schema, and JSON can hold them.
    """
    values: dict[str, tuple[Any, ...]] = {}
    for slot in match.assignment.slots:
        found = list(slot.fixed)
        for source in slot.references:
            looked = _look(source.data, slot.parameter, known)
            if isinstance(looked, Lost):
                return looked
            found += looked
        values[slot.parameter.name] = _shaped(tuple(found), slot.parameter)
    missing: list[Parameter] = []
    for parameter in match.assignment.missing:
        inherited = _inherited(command, parameter, known)
        if inherited is NOTHING:
            missing.append(parameter)
        else:
            values[parameter.name] = (inherited,)
    return Lacking(tuple(missing)) if missing else _calls(match, values)


def _shaped(found: tuple[Any, ...], parameter: Parameter) -> tuple[Any, ...]:
    """All values in one list for a parameter that takes a list; else one call for each."""
    if not parameter.is_array:
        return found
    return ([item for each in found for item in (each if isinstance(each, list) else [each])],)


def _calls(match: Match, values: Mapping[str, tuple[Any, ...]]) -> list[dict[str, Any]] | Lost:
    made = _spread(values)
    if made is None:
        return Lost("it names several values for several arguments, and I cannot tell which go together")
    tool = match.offer.tool
    problems = (problem(args, tool.parameters) or _json_problem(args) for args in made)
    found = next((each for each in problems if each), None)
    return Lost(f"the arguments of `{clean(tool.name)}` do not fit: {clean(found)}") if found else made


def _spread(values: Mapping[str, tuple[Any, ...]]) -> list[dict[str, Any]] | None:
    """One set of arguments, or one for each value of a parameter that has several; None where that is ambiguous.

    Two parameters with as many values each go together pair by pair.
    """
    counts = {len(each) for each in values.values()} - {1}
    if len(counts) > 1:
        return None
    made: list[dict[str, Any]] = []
    for number in range(min(max(counts, default=1), MAX_SPREAD)):
        args = {name: each[number if len(each) > 1 else 0] for name, each in values.items()}
        if args not in made:
            made.append(args)
    return made


def _json_problem(args: Mapping[str, Any]) -> str | None:
    try:
        json.dumps(args, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, TypeError, RecursionError):
        return "JSON cannot hold them"
    return None


# --- earlier results ------------------------------------------------------------------------------


def _look(reference: Reference, parameter: Parameter, known: Known) -> tuple[Any, ...] | Lost:
    if reference.how == "one" and known.reports:
        before = known.reports[-1]
        if before.state == "negated":
            said = _said_in(before.command, parameter)
            return said or Lost(f"I cannot tell what “{reference.text}” means after “{before.command.text}”")
        if known.obstacle:
            return Lost(f"“{reference.text}” refers to “{before.command.text}”, which {known.obstacle}")
    return look_up(reference, parameter, known.groups)


def _said_in(command: Command, parameter: Parameter) -> tuple[Any, ...]:
    """The value that a command left alone speaks of: "don't delete a.txt, but read it"."""
    found = [value for value in values_of(command, refers=False) if value.is_literal and fit(value, parameter) >= 3.0]
    made = [convert(value, parameter, None) for value in found]
    return tuple(each for each in made if each is not NOTHING)[:1]


def _inherited(command: Command, parameter: Parameter, known: Known) -> Any:
    """A required argument not said again: that of the command before, of an earlier turn where "the file" says so."""
    if known.obstacle:
        return NOTHING
    return inherit(parameter, known.groups if _points_back(command, parameter) else known.current)


def _points_back(command: Command, parameter: Parameter) -> bool:
    nouns = _NOUNS.union(parameter.stems)
    return any(token.lower == "the" and after.stem in nouns for token, after in pairwise(command.tokens))
