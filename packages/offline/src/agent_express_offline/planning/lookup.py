"""Lookup: what a reference means, given what earlier commands brought up."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..filling.conversion import NOTHING
from ..filling.parameters import Parameter
from ..reading.references import Reference
from ..reading.vocabulary import SUPERLATIVES
from .results import Group, Item, plain
from .taking import fits, measure, take, take_argument

MAX_SPREAD: Final = 20
"""The most things that one reference stands for, and so the most calls that one command makes."""


@dataclass(frozen=True, slots=True)
class Lost:
    """Why something cannot be done, in words that go on after a colon."""

    why: str


def choose(reference: Reference, groups: Sequence[Group]) -> tuple[Group, tuple[Item, ...]] | Lost:
    """The items that *reference* points at, and the group they are of; *groups* stand the nearest first."""
    if not groups:
        return Lost(f"there is no earlier result that “{reference.text}” could mean")
    if reference.how == "one":
        return groups[0], groups[0].items
    lists = [group for group in groups if group.is_list] or list(groups[:1])
    if reference.how == "greatest":
        found = (_greatest(reference, group) for group in lists)
        return next((each for each in found if each), Lost(f"no earlier result says which is “{reference.text}”"))
    if not lists[0].items:
        return Lost(f"the earlier result is empty, so “{reference.text}” means nothing in it")
    return _at(reference, lists[0]) if reference.how == "index" else (lists[0], lists[0].items)


def _at(reference: Reference, group: Group) -> tuple[Group, tuple[Item, ...]] | Lost:
    begin = reference.index if reference.index >= 0 else max(0, len(group.items) + reference.index)
    chosen = group.items[begin : begin + reference.count]
    if not chosen:
        return Lost(f"the earlier result has only {len(group.items)}, so there is no “{reference.text}”")
    return group, chosen


def _greatest(reference: Reference, group: Group) -> tuple[Group, tuple[Item, ...]] | None:
    """The item that is the greatest, or the least; None where the items do not say."""
    greatest, fields = SUPERLATIVES[reference.superlative]
    measures = [measure(item, fields) for item in group.items]
    numbers = [each for each in measures if isinstance(each, float)]
    texts = [each for each in measures if isinstance(each, str)]
    pick = max if greatest else min
    if numbers and len(numbers) == len(measures):
        return group, (group.items[numbers.index(pick(numbers))],)
    if texts and len(texts) == len(measures):
        return group, (group.items[texts.index(pick(texts))],)
    return None


def look_up(reference: Reference, parameter: Parameter, groups: Sequence[Group]) -> tuple[Any, ...] | Lost:
    """The JSON values that *reference* gives *parameter*: one, or one for each thing that is meant, at most 20."""
    chosen = choose(reference, groups)
    if isinstance(chosen, Lost):
        return chosen
    group, items = chosen
    if _takes_text(parameter) and (reference.how in ("one", "all") or not group.is_list):
        text = "\n".join(plain(item.value) for item in items)
        return (text,) if fits(text, parameter) else _unfit(reference, parameter)
    if reference.how == "one" and len(items) != 1:
        return _the_one(reference, parameter, group)
    return _distinct(items, parameter) or _unfit(reference, parameter)


def _takes_text(parameter: Parameter) -> bool:
    """Whether a whole result can be what it gets."""
    return parameter.sense in ("content", "title", "") and not parameter.is_array and not parameter.is_numeric


def _the_one(reference: Reference, parameter: Parameter, group: Group) -> tuple[Any, ...] | Lost:
    """What "it" means after a list: what the one call was made with, not one of the many."""
    if len(group.outcomes) == 1:
        made = take_argument(group.outcomes[0].args, parameter)
        if made is not NOTHING:
            return (made,)
    if group.items:
        return Lost(f"“{reference.text}” could mean any of {len(group.items)}; say which: the first, the last, each")
    return Lost(f"the earlier result is empty, so “{reference.text}” means nothing in it")


def _distinct(items: Sequence[Item], parameter: Parameter) -> tuple[Any, ...]:
    values: list[Any] = []
    for item in items:
        made = take(item, parameter)
        if made is not NOTHING and made not in values:
            values.append(made)
        if len(values) == MAX_SPREAD:
            break
    return tuple(values)


def _unfit(reference: Reference, parameter: Parameter) -> Lost:
    return Lost(f"“{reference.text}” gives nothing that fits `{parameter.name}`")


def inherit(parameter: Parameter, groups: Sequence[Group]) -> Any:
    """What the nearest single call was made with that *parameter* asks for too; `NOTHING` where there is none.

    "Read a.txt and count the lines" counts the lines of a.txt.
    """
    for group in groups:
        if len(group.outcomes) == 1:
            args = group.outcomes[0].args
            named = args if parameter.sense == "path" else {name: args[name] for name in args if name == parameter.name}
            made = take_argument(named, parameter)
            if made is not NOTHING:
                return made
    return NOTHING
