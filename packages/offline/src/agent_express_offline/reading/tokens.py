"""Tokens: the words of a text and what stands in it as a value.

The scanner is lazy and looks at each character a bounded number of times, so a text is read in linear time and only
as far as somebody asks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, Final

from . import dates
from .literals import LONGEST, Kind, classify, is_path, is_range, is_url
from .vocabulary import INNER_UNITS
from .words import stem

_PART: Final = re.compile(
    r"""
      (?P<fence>```[^`\n]*\n(?P<code>.*?)```)
    | (?P<quoted>"(?P<q1>[^"]*)"|“(?P<q2>[^“”]*)”|„(?P<q3>[^„“”]*)[“”]|«(?P<q4>[^«»]*)»|`(?P<q5>[^`\n]+)`
                |(?<!\w)'(?P<q6>[^'\n]+)'(?!\w))
    | (?P<break>\n\s*)
    | (?P<chunk>[^\s"“„«`]+)
    | (?P<stray>["“„«`])
    """,
    re.VERBOSE | re.DOTALL,
)
_QUOTES: Final = ("q1", "q2", "q3", "q4", "q5", "q6")
_SUM: Final = re.compile(r"\d{1,15}(?:\.\d{1,15})?(?:[-+*/\xd7\xf7^]\d{1,15}(?:\.\d{1,15})?)+", re.ASCII)
_TERM: Final = re.compile(r"[\d.]+|[-+*/\xd7\xf7^]", re.ASCII)
_MEASURED: Final = re.compile(r"(\d{1,9})-([A-Za-z]+)", re.ASCII)
_PLACE: Final = re.compile(r"([^:]+\.\w+)(:)(\d{1,9})(?::\d{1,9})?", re.ASCII)
_SETTING: Final = re.compile(r"([^\W\d][\w-]*)([:=])(?!/)(.+)", re.DOTALL)
_UNITS: Final = frozenset(map(stem, INNER_UNITS))
_PRONOUNS: Final = frozenset(["it", "that", "this", "there", "here", "let", "he", "she"])
_LEADING: Final = "([{<"
_TRAILING: Final = ".,;:!?)]}>…"
_MAX_TRAILING: Final = 8
_MAX_WORD: Final = 64


@dataclass(frozen=True, slots=True)
class Token:
    """One word, sign or value of a text.

    Attributes:
        kind: What it is.
        text: As written, without the quotes.
        value: A number, an ISO date or time, a pair of numbers for a range; the text for everything else.
        start: Where it begins in the text, in characters.
        end: Where it ends.
    """

    kind: Kind
    text: str
    value: Any
    start: int
    end: int

    @property
    def lower(self) -> str:
        """The text of a word, folded for comparison; empty for what is no word, or too long to be one."""
        if self.kind != "word" or len(self.text) > _MAX_WORD:
            return ""
        return self.text.casefold().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")

    @property
    def stem(self) -> str:
        """The stem of a word; empty for what is no word, or too long to be one."""
        return stem(self.lower)


def scan(text: str, limit: int) -> list[Token]:
    """The first tokens of *text*, at most *limit*."""
    return list(islice(_parts(islice(_PART.finditer(text), limit)), limit))


def single(text: str) -> Token | None:
    """The one token that *text* consists of; None where it is empty, more than one, or longer than 1,000 characters."""
    tokens = scan(text, 2) if len(text) <= LONGEST else []
    return tokens[0] if len(tokens) == 1 else None


def _parts(parts: Iterable[re.Match[str]]) -> Iterator[Token]:
    for found in parts:
        start, end = found.span()
        if found["break"] is not None:
            yield Token("break", "\n\n" if found["break"].count("\n") > 1 else "\n", None, start, end)
        elif found["chunk"] is not None:
            yield from _chunk(found["chunk"], start)
        elif found["stray"] is not None:
            yield Token("mark", found["stray"], None, start, end)
        else:
            inner = next(part for part in found.group("code", *_QUOTES) if part is not None)
            yield Token("quoted", inner, inner, start, end)


def _chunk(text: str, start: int) -> Iterator[Token]:
    """One run without spaces: signs at its rim, and between them values and words."""
    if text in (".", "..", "~"):
        yield Token("path", text, text, start, start + len(text))
        return
    inner = text.lstrip(_LEADING)
    for position in range(len(text) - len(inner)):
        yield Token("mark", text[position], None, start + position, start + position + 1)
    start += len(text) - len(inner)
    bare = _without_possessive(inner.rstrip(_TRAILING))
    for piece, offset in _pieces(bare):
        yield _token(piece, start + offset)
    for position in range(len(bare), min(len(inner), len(bare) + _MAX_TRAILING)):
        if inner[position] in _TRAILING:
            yield Token("mark", inner[position], None, start + position, start + position + 1)


def _token(text: str, start: int) -> Token:
    end = start + len(text)
    if text in (":", "="):
        return Token("mark", text, None, start, end)
    kind, text, value = classify(text)
    return Token(kind, text, value, start, end)


def _without_possessive(text: str) -> str:
    """Turn "README.md's" into "README.md" and "Ann's" into "Ann", but leave "it's" and "let's"."""
    if len(text) > LONGEST or not text.endswith(("'s", "\N{RIGHT SINGLE QUOTATION MARK}s")):
        return text
    rest = text[:-2]
    return rest if is_path(rest) or (rest[:1].isupper() and rest.casefold() not in _PRONOUNS) else text


def _pieces(text: str) -> list[tuple[str, int]]:
    """The pieces of a run and where they begin: "2+3", "7-day", "a.py:3" and "name=value" fall apart."""
    if not text:
        return []
    if len(text) > LONGEST:
        return [(text, 0)]
    if _SUM.fullmatch(text) and not is_range(text) and dates.iso_date(text) is None:
        return [(term[0], term.start()) for term in _TERM.finditer(text)]
    measured = _MEASURED.fullmatch(text)
    if measured and stem(measured[2]) in _UNITS:
        return [(measured[1], 0), (measured[2], measured.start(2))]
    place = _PLACE.fullmatch(text)
    if place and is_path(place[1]):
        return [(place[part], place.start(part)) for part in (1, 2, 3)]
    setting = None if _is_whole(text) else _SETTING.fullmatch(text)
    if setting:
        return [(setting[part], setting.start(part)) for part in (1, 2, 3)]
    return [(text, 0)]


def _is_whole(text: str) -> bool:
    """Whether the colon in *text* belongs to it: an address, a time, a drive."""
    return is_url(text) or dates.iso_moment(text) is not None or text[1:3] in (":\\", ":/")
