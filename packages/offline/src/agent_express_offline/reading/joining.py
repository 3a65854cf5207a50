"""Joining: dates, times and ranges that are written in several words, as one token each."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeAlias

from . import dates
from .literals import Kind, to_ordinal
from .tokens import Token
from .vocabulary import INNER_UNITS, MONTHS, WEEKDAYS
from .words import stem

Joined: TypeAlias = "tuple[Token, int] | None"
"""A token, and of how many tokens it was made; None where nothing begins at that place."""

_UNITS: Final = frozenset(map(stem, INNER_UNITS))
_BETWEEN: Final = frozenset(["to", "through", "until", "-", "\N{EN DASH}"])


def join(tokens: Sequence[Token]) -> list[Token]:
    """The same tokens, with "1 March 2026", "next friday", "2 pm" and "lines 10 to 20" put together."""
    joined: list[Token] = []
    place = 0
    while place < len(tokens):
        found = next((made for rule in _RULES if (made := rule(tokens, place))), None)
        joined.append(found[0] if found else tokens[place])
        place += found[1] if found else 1
    return _with_moments(joined)


def _made(kind: Kind, value: Any, tokens: Sequence[Token]) -> Joined:
    text = " ".join(token.text for token in tokens if token.kind != "mark")
    return Token(kind, text, value, tokens[0].start, tokens[-1].end), len(tokens)


def _month_first(tokens: Sequence[Token], at: int) -> Joined:
    """Read "March 1, 2026" and "March 1st"."""
    if tokens[at].lower not in MONTHS or at + 1 >= len(tokens) or (day := _day(tokens[at + 1])) is None:
        return None
    return _with_year(tokens, at, at + 2, day, MONTHS[tokens[at].lower])


def _day_first(tokens: Sequence[Token], at: int) -> Joined:
    """Read "1 March 2026" and "1st of March"."""
    day = _day(tokens[at])
    month = at + 2 if at + 1 < len(tokens) and tokens[at + 1].lower == "of" else at + 1
    if day is None or month >= len(tokens) or tokens[month].lower not in MONTHS:
        return None
    return _with_year(tokens, at, month + 1, day, MONTHS[tokens[month].lower])


def _with_year(tokens: Sequence[Token], at: int, end: int, day: int, month: int) -> Joined:
    """The date with the year that follows it, comma or not; without one the day in words, to be resolved later."""
    year = end + 1 if end < len(tokens) and tokens[end].text == "," else end
    if year < len(tokens) and isinstance(number := tokens[year].value, int) and 1000 <= number <= 9999:
        value = dates.make_date(number, month, day)
        return _made("date", value, tokens[at : year + 1]) if value else None
    return _made("day", None, tokens[at:end])


def _day(token: Token) -> int | None:
    """The day of a month that *token* says, from 1 to 31."""
    said = token.value if token.kind == "number" else to_ordinal(token.text) if token.kind == "word" else None
    return said if isinstance(said, int) and 1 <= said <= 31 else None


def _day_word(tokens: Sequence[Token], at: int) -> Joined:
    """Read "tomorrow", "friday" and "next friday"."""
    word = tokens[at].lower
    if word in dates.RELATIVE or word in WEEKDAYS:
        return _made("day", None, tokens[at : at + 1])
    if word in ("next", "this", "coming") and at + 1 < len(tokens) and tokens[at + 1].lower in WEEKDAYS:
        return _made("day", None, tokens[at : at + 2])
    return None


def _spoken_time(tokens: Sequence[Token], at: int) -> Joined:
    """Read "2 pm"."""
    if at + 1 >= len(tokens) or tokens[at + 1].lower not in ("am", "pm") or tokens[at].kind not in ("number", "time"):
        return None
    value = dates.iso_time(tokens[at].text + tokens[at + 1].lower)
    return _made("time", value, tokens[at : at + 2]) if value else None


def _counted_range(tokens: Sequence[Token], at: int) -> Joined:
    """Read "10 to 20" after "lines"."""
    if at == 0 or at + 2 >= len(tokens) or tokens[at - 1].stem not in _UNITS:
        return None
    first, between, last = tokens[at : at + 3]
    if between.lower not in _BETWEEN or not isinstance(first.value, int) or not isinstance(last.value, int):
        return None
    return _made("range", (first.value, last.value), tokens[at : at + 3])


_RULES: Final[tuple[Callable[[Sequence[Token], int], Joined], ...]] = (
    _month_first,
    _day_first,
    _day_word,
    _spoken_time,
    _counted_range,
)


def _with_moments(tokens: Sequence[Token]) -> list[Token]:
    """Join a day and the time after it, "at" or not, to a moment: (ISO date or None, the day in words, time)."""
    joined: list[Token] = []
    for token in tokens:
        back = 2 if joined and joined[-1].lower == "at" else 1
        day = joined[-back] if len(joined) >= back else None
        if token.kind == "time" and day is not None and day.kind in ("date", "day"):
            del joined[-back:]
            value = (day.value, day.text, token.value)
            token = Token("moment", f"{day.text} {token.text}", value, day.start, token.end)
        joined.append(token)
    return joined
