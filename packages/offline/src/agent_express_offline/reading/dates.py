"""Dates and times as people write them, brought to ISO 8601. There is no clock here: today comes from outside."""

from __future__ import annotations

import re
from datetime import date, timedelta
from typing import Final

from .vocabulary import MONTHS, WEEKDAYS

_ISO: Final = re.compile(r"(\d{4})-(\d{2})-(\d{2})", re.ASCII)
_ISO_MOMENT: Final = re.compile(
    r"(\d{4}-\d{2}-\d{2})[Tt ](\d{2}:\d{2}(?::\d{2})?)(?:\.\d{1,9})?([Zz]|[+-]\d{2}:\d{2})?", re.ASCII
)
_DOTTED: Final = re.compile(r"(\d{1,2})\.(\d{1,2})\.(\d{4})", re.ASCII)
_SLASHED: Final = re.compile(r"(\d{1,2})/(\d{1,2})/(\d{4})", re.ASCII)
_CLOCK: Final = re.compile(r"(\d{1,2}):(\d{2})(?::(\d{2}))?\s*([ap]m)?", re.IGNORECASE | re.ASCII)
_HOUR: Final = re.compile(r"(\d{1,2})\s*([ap]m)", re.IGNORECASE | re.ASCII)
_TODAY: Final = re.compile(r"\btoday(?:'s date)?(?: is|:)?\s+(?:\w+,? )?(\d{4}-\d{2}-\d{2})", re.IGNORECASE | re.ASCII)
_NAMED_TIMES: Final = {"noon": "12:00:00", "midday": "12:00:00", "midnight": "00:00:00"}
RELATIVE: Final = {"today": 0, "tonight": 0, "tomorrow": 1, "yesterday": -1}


def iso_date(text: str) -> str | None:
    """*text* as "2026-03-01", or None where it is no date or could be read in two ways (3/4/2026)."""
    if found := _ISO.fullmatch(text):
        return make_date(*[int(part) for part in found.groups()])
    if found := _DOTTED.fullmatch(text):
        day, month, year = [int(part) for part in found.groups()]
        return make_date(year, month, day)
    if found := _SLASHED.fullmatch(text):
        first, second, year = [int(part) for part in found.groups()]
        if first > 12 or first == second:
            return make_date(year, second, first)
        return make_date(year, first, second) if second > 12 else None
    return None


def make_date(year: int, month: int, day: int) -> str | None:
    """The day as ISO text; None where the calendar has no such day."""
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return None


def iso_moment(text: str) -> str | None:
    """A date with a time, "2026-03-01T14:30:00" with the zone as written; None for anything else."""
    found = _ISO_MOMENT.fullmatch(text)
    if not found or iso_date(found[1]) is None or (clock := iso_time(found[2])) is None:
        return None
    return f"{found[1]}T{clock}{(found[3] or '').upper()}"


def iso_time(text: str) -> str | None:
    """*text* ("2pm", "14:30", "noon") as "14:30:00", or None where it is no time of day."""
    if text.casefold() in _NAMED_TIMES:
        return _NAMED_TIMES[text.casefold()]
    if found := _CLOCK.fullmatch(text):
        return _clock(int(found[1]), int(found[2]), int(found[3] or 0), found[4])
    if found := _HOUR.fullmatch(text):
        return _clock(int(found[1]), 0, 0, found[2])
    return None


def _clock(hour: int, minute: int, second: int, half: str | None) -> str | None:
    if half:
        if not 1 <= hour <= 12:
            return None
        hour = hour % 12 + (12 if half.casefold() == "pm" else 0)
    if hour > 23 or minute > 59 or second > 59:
        return None
    return f"{hour:02}:{minute:02}:{second:02}"


def today_in(text: str) -> date | None:
    """The date that a system prompt states as "Today is 2026-03-01"; None where it states none."""
    found = _TODAY.search(text)
    stated = iso_date(found[1]) if found else None
    return date.fromisoformat(stated) if stated else None


def resolve_day(words: str, today: date | None) -> str | None:
    """The ISO date that "tomorrow", "friday" or "1 march" mean, counted from *today*; None without a today.

    A weekday is the next one after today, a day without year the next one from today on.
    """
    if today is None:
        return None
    parts = words.casefold().split()
    try:
        if parts[-1] in RELATIVE:
            return (today + timedelta(days=RELATIVE[parts[-1]])).isoformat()
        if parts[-1] in WEEKDAYS:
            return (today + timedelta(days=(WEEKDAYS[parts[-1]] - today.weekday() - 1) % 7 + 1)).isoformat()
        this_year = _day_and_month(parts, today.year)
        if this_year is not None and this_year < today.isoformat():
            return _day_and_month(parts, today.year + 1)
    except (IndexError, OverflowError):
        return None
    return this_year


def _day_and_month(parts: list[str], year: int) -> str | None:
    months = [MONTHS[part] for part in parts if part in MONTHS]
    days = [int(digits) for part in parts if (digits := part.rstrip("stndrh")).isdecimal()]
    return make_date(year, months[0], days[0]) if months and days else None
