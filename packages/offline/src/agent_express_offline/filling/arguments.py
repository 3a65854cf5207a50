"""Arguments: which value of a command goes to which parameter of a tool.

The assignment is made without looking at earlier results: a reference ("it") takes a place and is looked up later.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import date
from typing import Any, Final

from ..reading.commands import Command
from ..reading.tokens import Token
from ..reading.values import Value, running_text
from ..reading.vocabulary import ARTICLES, PREPOSITIONS, STOP_WORDS
from ..reading.words import related, stem
from .conversion import NOTHING, convert
from .fitting import fit
from .mentions import mentioned
from .parameters import Parameter, parameters, type_names
from .phrases import core
from .schemas import problem
from .shapes import is_object

MAX_SPREAD: Final = 20
"""The most values that one parameter takes out of one command."""

_WANTED: Final = 0.3  # the fit from which on a required parameter takes a value
_OFFERED: Final = 1.9  # the same for an optional one
_BESIDE: Final = 0.8  # the same for a value beside one that was taken
_URGENCY: Final = 1.5  # what required parameters are ahead of optional ones when values are given away
RUNNING_TEXT: Final = frozenset(["content", "title", "query", "reason"])
"""The senses whose values are texts that may go on over several words."""

_TAKING_AWAY: Final = frozenset(map(stem, ["subtract", "deduct", "take"]))
_FIRST: Final = frozenset(map(stem, ["start", "begin", "first", "from", "offset", "min", "low", "lower"]))
_LAST: Final = frozenset(map(stem, ["end", "stop", "last", "to", "until", "max", "high", "upper"]))
_COUNT: Final = frozenset(map(stem, ["count", "limit", "length", "line", "number", "num", "size"]))


@dataclass(frozen=True, slots=True)
class Slot:
    """What one parameter gets.

    Attributes:
        parameter: Which one.
        fixed: JSON values; several for a parameter that takes one mean a call for each.
        references: Values to be taken out of earlier results, in addition.
        where: The places of the tokens it was made of.
        strength: How well they fit, see `fitting.fit`.
    """

    parameter: Parameter
    fixed: tuple[Any, ...] = ()
    references: tuple[Value, ...] = ()
    where: frozenset[int] = frozenset()
    strength: float = 0.0

    def json(self) -> Any:
        """The one JSON value of a slot without references: all of them in a list for a parameter that takes one."""
        listed = self.parameter.is_array and not (len(self.fixed) == 1 and isinstance(self.fixed[0], list))
        return list(self.fixed) if listed else self.fixed[0]


@dataclass(frozen=True, slots=True)
class Assignment:
    """What a tool would be called with.

    Attributes:
        slots: The parameters that get something, in the schema's order.
        missing: The required ones that get nothing.
        where: The places of all tokens that were used.
        unused: The values that found no place, as written.
    """

    slots: tuple[Slot, ...]
    missing: tuple[Parameter, ...]
    where: frozenset[int]
    unused: tuple[str, ...]


def assign(
    command: Command,
    values: Sequence[Value],
    wanted: Sequence[Parameter],
    names: Sequence[str] = (),
    today: date | None = None,
) -> Assignment:
    """Give the values of a command to the parameters of a tool.

    Args:
        command: What was said.
        values: What was found in it, in its order.
        wanted: The parameters.
        names: The stems of the tool's name: words that say which tool, not with what.
        today: What "tomorrow" is counted from; without it such words fill only free text.
    """
    return _Filling(command, values, wanted, names, today).assignment()


class _Filling:
    """One assignment while it is made."""

    def __init__(
        self,
        command: Command,
        values: Sequence[Value],
        wanted: Sequence[Parameter],
        names: Sequence[str],
        today: date | None,
    ) -> None:
        self.command, self.wanted, self.names, self.today = command, wanted, names, today
        self.values = _in_order_of_operands(command, _without_moments(values, wanted))
        self.slots: dict[str, Slot] = {}
        self.used: set[int] = set()

    def assignment(self) -> Assignment:
        """Go from what is named outright to what merely could be meant."""
        self._take_mentions()
        spoken = {word for parameter in self.wanted for word in parameter.stems}
        cores = [core(value, self.command.tokens, self.names, spoken, self.used) for value in self.values]
        pool = [value for value in cores if value is not None]
        self._take_ranges(pool)
        self._take_values(pool)
        self._extend_texts(pool)
        self._take_titles()
        self._take_objects()
        unused = [value.text for value in self.values if value.is_literal and self._is_free(value)]
        return Assignment(
            tuple(self.slots[each.name] for each in self.wanted if each.name in self.slots),
            tuple(each for each in self.wanted if each.required and each.name not in self.slots),
            frozenset(self.used),
            tuple(unused),
        )

    def _take(self, slot: Slot) -> None:
        self.slots[slot.parameter.name] = slot
        self.used |= slot.where

    def _open(self) -> list[Parameter]:
        return [parameter for parameter in self.wanted if parameter.name not in self.slots]

    def _is_free(self, value: Value) -> bool:
        return self.used.isdisjoint(value.where)

    def _take_mentions(self) -> None:
        for parameter in self.wanted:
            if found := mentioned(parameter, self.command.tokens):
                self._take(Slot(parameter, found.values[:MAX_SPREAD], where=found.where, strength=2.0))

    def _take_ranges(self, pool: Iterable[Value]) -> None:
        """Give "lines 10 to 20" to a first and a last number, or to a first number and how many; both or none."""
        for value in pool:
            if value.kind != "range":
                continue
            low, high = value.data
            pairs = [(self._numeric(_FIRST), low)]
            if high is not None:
                last = self._numeric(_LAST)
                pairs.append((last, high) if last else (self._numeric(_COUNT), high - low + 1))
            if all(each and problem(number, each.schema, each.root) is None for each, number in pairs):
                for parameter, number in pairs:
                    if parameter:
                        self._take(Slot(parameter, (number,), where=value.where, strength=3.0))

    def _numeric(self, words: frozenset[str]) -> Parameter | None:
        fitting = (each for each in self._open() if each.is_numeric and not words.isdisjoint(each.stems))
        return next(fitting, None)

    def _take_values(self, pool: Sequence[Value]) -> None:
        """Give each value to the parameter it goes best with: the best pair first, in the text's order among equals."""
        for score, column, row in sorted(self._pairs(pool), key=lambda pair: (-pair[0], pair[1:])):
            parameter, value = self.wanted[column], pool[row]
            if parameter.name not in self.slots and self._is_left(value):
                slot = self._slot(parameter, pool, row, score - _URGENCY * parameter.required)
                if slot:
                    self._take(slot)

    def _pairs(self, pool: Sequence[Value]) -> Iterable[tuple[float, int, int]]:
        senses = [parameter.sense for parameter in self.wanted]
        for column, parameter in enumerate(self.wanted):
            if parameter.name in self.slots:
                continue
            for row, value in enumerate(pool):
                score = fit(value, parameter, shared=senses.count(parameter.sense) > 1)
                if score >= (_WANTED if parameter.required else _OFFERED):
                    yield score + _URGENCY * parameter.required, column, row

    def _is_left(self, value: Value) -> bool:
        """Whether no one has taken the value; a date and its time share their place in the text."""
        if value.kind not in ("time", "date", "day"):
            return self._is_free(value)
        timed = value.kind == "time"
        return not any(
            slot.where & value.where and (slot.where != value.where or (slot.parameter.sense == "time") == timed)
            for slot in self.slots.values()
        )

    def _slot(self, parameter: Parameter, pool: Sequence[Value], row: int, strength: float) -> Slot | None:
        """The value at *row* and those that stand beside it ("a.txt and b.txt"), as what *parameter* takes."""
        if pool[row].kind != "reference" and convert(pool[row], parameter, self.today) is NOTHING:
            return None
        sources = self._row_of(parameter, pool, row)
        references = tuple(source for source in sources if source.kind == "reference")
        made = [(each, convert(each, parameter, self.today)) for each in sources if each.kind != "reference"]
        kept = [(source, json) for source, json in made if json is not NOTHING]
        where = frozenset[int]().union(*[each.where for each in (*references, *(source for source, _ in kept))])
        return Slot(parameter, tuple(json for _, json in kept), references, where, strength)

    def _row_of(self, parameter: Parameter, pool: Sequence[Value], row: int) -> list[Value]:
        """The neighbours of the value at *row* on both sides, in the order of the text, and the value itself."""
        row_of = [pool[row]]
        for value in reversed(pool[:row]):
            if value.end > row_of[0].begin or not self._is_free(value):
                continue
            opening = value.kind == "phrase" and value.begin == 0  # "well, a.txt": no verb stands before it
            if opening or not row_of[0].beside or not self._alike(pool[row], value, parameter):
                break
            row_of.insert(0, value)
        for value in pool[row + 1 :]:
            if value.begin < row_of[-1].end or not self._is_free(value):
                continue
            if not value.beside or not self._alike(pool[row], value, parameter):
                break
            row_of.append(value)
        return row_of[:MAX_SPREAD]

    def _alike(self, first: Value, other: Value, parameter: Parameter) -> bool:
        """Whether two neighbours can be two values of one parameter.

        Words of one running text cannot, and nothing can where a second parameter of the same sense still waits.
        """
        if parameter.is_array:
            return True
        if "phrase" in (first.kind, other.kind) and parameter.sense in RUNNING_TEXT:
            return False
        if first.kind == "number" and sum(each.takes_numbers for each in self.wanted) > 1:
            return False
        if other.kind == "phrase" and first.kind not in ("phrase", "path", "quoted", "reference"):
            return False
        if any(each.required and each.sense == parameter.sense for each in self._open() if each is not parameter):
            return False
        return first.kind == other.kind or fit(other, parameter) >= _BESIDE

    def _extend_texts(self, pool: Iterable[Value]) -> None:
        """Let plain words that fill a text run on to the next value that went elsewhere."""
        phrases = {value.begin: value for value in pool if value.kind == "phrase"}
        for slot in list(self.slots.values()):
            phrase = phrases.get(min(slot.where, default=-1))
            single = len(slot.fixed) == 1 and not slot.references and not slot.parameter.is_array
            if slot.parameter.sense in RUNNING_TEXT and single and phrase and slot.where == phrase.where:
                self._extend(slot, phrase)

    def _extend(self, slot: Slot, phrase: Value) -> None:
        tokens, begin, end = self.command.tokens, phrase.begin, phrase.end
        others = {word for each in self.slots.values() if each is not slot for word in each.parameter.stems}
        while end < len(tokens) and end not in self.used and not _speaks_of(tokens[end], others):
            end += 1
        while end > phrase.end and self._is_rim(tokens[end - 1]):
            end -= 1
        if slot.parameter.sense == "content" and begin and tokens[begin - 1].lower in ARTICLES:
            begin -= 1
        text = running_text(tokens[begin:end])
        made = convert(replace(phrase, text=text, data=text), slot.parameter, self.today)
        if made is not NOTHING:
            self._take(replace(slot, fixed=(made,), where=frozenset(range(begin, end))))

    def _is_rim(self, token: Token) -> bool:
        """Whether a text cannot end with *token*: a sign, a preposition, a word that only names the tool."""
        return token.kind == "mark" or token.lower in STOP_WORDS | PREPOSITIONS or token.stem in self.names

    def _take_titles(self) -> None:
        """Let the tool's own noun be the title where there is no other: "schedule a meeting at noon"."""
        for parameter in self._open():
            if not parameter.required or parameter.sense != "title":
                continue
            objects = (each for each in self.values if each.kind == "phrase" and each.at_verb and self._is_free(each))
            made = ((each, convert(each, parameter, self.today)) for each in objects)
            found = next(((each, json) for each, json in made if json is not NOTHING), None)
            if found:
                self._take(Slot(parameter, (found[1],), where=found[0].where, strength=1.0))

    def _take_objects(self) -> None:
        """Fill a parameter that is an object from what is left, field by field; an object inside of it stays out."""
        for parameter in self._open():
            branch = next((each for each in parameter.branches if "object" in type_names(each)), None)
            if branch is None:
                continue
            root = parameter.root if is_object(parameter.root) else {}
            fields = [each for each in parameters({**root, **branch}, self.names) if "object" not in each.types]
            left = [value for value in self.values if self._is_free(value)]
            inner = assign(self.command, left, fields, self.names, self.today)
            made = {
                slot.parameter.name: slot.json()
                for slot in inner.slots
                if slot.fixed and (slot.where - self.used or parameter.required)
            }
            if (made or parameter.required) and problem(made, parameter.schema, parameter.root) is None:
                self._take(Slot(parameter, (made,), where=inner.where, strength=1.0))


def _speaks_of(token: Token, names: Iterable[str]) -> bool:
    return any(related(token.stem, name) for name in names)


def _without_moments(values: Sequence[Value], wanted: Iterable[Parameter]) -> list[Value]:
    """Cut "on 1 March 2026 at 2 pm" in two where a tool wants the date and the time apart."""
    if not any(parameter.sense == "time" for parameter in wanted):
        return list(values)
    return [part for value in values for part in _parts_of_moment(value)]


def _parts_of_moment(value: Value) -> tuple[Value, ...]:
    if value.kind != "moment" or isinstance(value.data, str):
        return (value,)
    day, words, time = value.data
    first = replace(value, kind="date" if day else "day", text=words, data=day)
    return first, replace(value, kind="time", text=time, data=time, cue="at", label=(), beside=False)


def _in_order_of_operands(command: Command, values: list[Value]) -> list[Value]:
    """Turn "subtract 3 from 10" around: what is taken from comes first."""
    if command.words and stem(command.words[0]) in _TAKING_AWAY:
        return sorted(values, key=lambda value: value.cue != "from")
    return values
