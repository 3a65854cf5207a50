"""Literals: what one run of signs without spaces is: a number, a path, an address, a date, an id, or just a word."""

from __future__ import annotations

import re
from typing import Any, Final, Literal, TypeAlias

from . import dates

Kind: TypeAlias = Literal[
    "word", "mark", "break", "quoted", "url", "email", "path", "glob", "date", "day", "time", "moment", "number",
    "range", "id",
]  # fmt: skip

LITERALS: Final = frozenset(
    ["quoted", "url", "email", "path", "glob", "date", "day", "time", "moment", "number", "range", "id"]
)
"""The kinds that are values by the way they are written."""

LONGEST: Final = 1000
"""A longer run is a word: no value that people type, and nothing to run patterns over."""

_MINUS: Final = "\N{MINUS SIGN}"
_DASH: Final = "\N{EN DASH}"
_URL: Final = re.compile(r"[a-z][a-z0-9+.-]{0,20}://\S+|www\.\S+\.\S+|mailto:\S+", re.IGNORECASE)
_HOST: Final = re.compile(r"[\w-]+(?:\.[\w-]+)*\.(?:com|org|net|io|dev|edu|gov|de|uk|app)(?:/\S*)?", re.IGNORECASE)
_EMAIL: Final = re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+")
_NUMBER: Final = re.compile(
    rf"[$€£]?([-+{_MINUS}]?(?:\d{{1,3}}(?:,\d{{3}}){{1,4}}|\d{{1,15}})(?:\.\d{{1,15}})?)[%€$]?", re.ASCII
)
_MEASURE: Final = re.compile(r"(\d{1,15}(?:\.\d{1,15})?)(?:[a-z]{1,4}|°[cf]?)", re.IGNORECASE | re.ASCII)
_RANGE: Final = re.compile(rf"(\d{{1,9}})(?:-|{_DASH}|\.\.)(\d{{1,9}})", re.ASCII)
_FILE: Final = re.compile(r"[\w@+~-][\w.@+~-]*\.[A-Za-z][A-Za-z0-9]{0,9}|\.[A-Za-z][\w.-]*")
_FOLDERS: Final = re.compile(r"[\w.@+~%#:,=\\/-]+")
_ID: Final = re.compile(r"#?\w[\w-]*")
_ORDINAL: Final = re.compile(r"(\d{1,9})(?:st|nd|rd|th)", re.ASCII)
_NOT_PATHS: Final = frozenset(
    [
        "and/or",
        "he/she",
        "she/he",
        "his/her",
        "w/o",
        "n/a",
        "km/h",
        "i/o",
        "tcp/ip",
        "yes/no",
        "e.g",
        "i.e",
        "a.m",
        "p.m",
    ]
)


def classify(text: str) -> tuple[Kind, str, Any]:
    """The kind of *text*, the text without what does not belong to it, and its value; most special kind first.

    The value is a number, an ISO date or time, a pair of numbers for a range, and the text itself for all else.
    """
    if len(text) > LONGEST:
        return "word", text, text
    if is_url(text):
        return "url", text, text
    if _EMAIL.fullmatch(text):
        return "email", text, text
    if (moment := dates.iso_moment(text)) is not None:
        return "moment", text, moment
    if (day := dates.iso_date(text)) is not None:
        return "date", text, day
    if (time := dates.iso_time(text)) is not None:
        return "time", text, time
    return _classify_plain(text)


def _classify_plain(text: str) -> tuple[Kind, str, Any]:
    if (number := to_number(text)) is not None:
        return "number", text, number
    if found := _RANGE.fullmatch(text):
        return "range", text, (int(found[1]), int(found[2]))
    if _HOST.fullmatch(text):
        return "url", text, text
    if is_glob(text):
        return "glob", text, text
    if is_path(text):
        return "path", text, text
    if _ID.fullmatch(text) and not _ORDINAL.fullmatch(text) and any(sign.isdigit() for sign in text):
        return "id", text, text.lstrip("#")
    word = text.lstrip("-") or text
    return "word", word, word


def is_url(text: str) -> bool:
    """Whether *text* has the form of a web address with its scheme, or with www in front."""
    return bool(_URL.fullmatch(text))


def is_range(text: str) -> bool:
    """Whether *text* is two whole numbers with a dash or two dots between them."""
    return bool(_RANGE.fullmatch(text))


def is_glob(text: str) -> bool:
    """Whether *text* is a pattern for file names; "**bold**" is none."""
    return text.startswith("**/") or ("*" in text and len(text) > 1 and not text.startswith("**"))


def is_path(text: str) -> bool:
    """Whether *text* has the form of a path: slashes, or a name with an ending; "and/or" and "24/7" are none."""
    if text.casefold() in _NOT_PATHS or text.startswith("--"):
        return False
    if "/" in text or "\\" in text:
        return len(text) > 1 and bool(_FOLDERS.fullmatch(text)) and bool(text.strip("0123456789/"))
    return bool(_FILE.fullmatch(text))


def to_number(text: str) -> int | float | None:
    """The number that "1,024", "-3.5", "$20", "50%" or "10km" stand for; None for all else and past 15 digits."""
    if found := _NUMBER.fullmatch(text):
        return _number(found[1].replace(",", "").replace(_MINUS, "-"))
    measure = _MEASURE.fullmatch(text)
    if not measure or to_ordinal(text) is not None or dates.iso_time(text) is not None:
        return None
    return _number(measure[1])


def _number(digits: str) -> int | float:
    return float(digits) if "." in digits else int(digits)


def to_ordinal(text: str) -> int | None:
    """1 for "1st", 22 for "22nd"; None for all else."""
    found = _ORDINAL.fullmatch(text)
    return int(found[1]) if found else None
