"""References: the words that point at an earlier result: "it", "the first of them", "each file", "the largest"."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias

from .tokens import Token
from .vocabulary import INNER_UNITS, NUMBER_WORDS, ORDINALS, OUTCOMES, PREPOSITIONS, RESULT_NOUNS, SUPERLATIVES
from .words import stem

How: TypeAlias = Literal["one", "all", "each", "index", "greatest"]


@dataclass(frozen=True, slots=True)
class Reference:
    """Some of an earlier result.

    Attributes:
        text: As written.
        how: "one": the thing last spoken of; "all": the things; "each": one call for each of them; "index": those
            from *index* on; "greatest": by *superlative*.
        begin: Its first token's place in the command.
        end: One past its last token's place.
        index: Where to begin counting, from 0; -1 is the last.
        count: How many are meant.
        superlative: "largest", "most expensive" ...
        noun: The stem of the noun it came with; empty for a bare pronoun.
    """

    text: str
    how: How
    begin: int
    end: int
    index: int = 0
    count: int = 1
    superlative: str = ""
    noun: str = ""


_ONE: Final = frozenset(["it", "its", "him", "her", "that", "this"])
_ALL: Final = frozenset(["them", "they", "their", "those", "these"])
_EACH: Final = frozenset(["each", "every", "both"])
_POINTING: Final = frozenset(["that", "this", "those", "these"])
_ENDINGS: Final = frozenset(
    ["and", "or", "again", "too", "as", "is", "are", "has", "have", "was", "be", "please", "by"]
)
_SHORT: Final = 5  # tokens: "show me the file", no more
_INNER: Final = frozenset(map(stem, INNER_UNITS))
_NOUNS: Final = frozenset(map(stem, RESULT_NOUNS))


def find_references(tokens: Sequence[Token], nouns: Collection[str] = ()) -> tuple[Reference, ...]:
    """Find the references of a command, in order, without overlap.

    *nouns* are the stems of words that name results here, beyond those that do so everywhere: "song" where songs are
    searched for.
    """
    return _Finder(tokens, _NOUNS | frozenset(nouns)).all()


class _Finder:
    """One pass over the tokens of a command."""

    def __init__(self, tokens: Sequence[Token], nouns: frozenset[str]) -> None:
        self.tokens, self.nouns = tokens, nouns

    def all(self) -> tuple[Reference, ...]:
        found: list[Reference] = []
        at = 0
        while at < len(self.tokens):
            reference = self._at(at)
            if reference:
                found.append(reference)
            at = reference.end if reference else at + 1
        return tuple(found)

    def _at(self, begin: int) -> Reference | None:
        definite = self._word(begin) == "the" and begin + 1 < len(self.tokens)
        at = begin + definite
        word = self._word(at)
        if word in ORDINALS:
            return self._ordinal(begin, at)
        if superlative := self._superlative(at):
            return self._picked(begin, at + len(superlative.split()), superlative)
        if definite:
            return self._definite(begin)
        if word == "all" and self._word(at + 1) == "of" and self._word(at + 2) in _ALL:
            return self._made(begin, at + 3, "all")
        if word in _EACH:
            return self._each(begin)
        return self._pronoun(begin) if word in _ALL or word in _ONE else None

    def _word(self, at: int) -> str:
        return self.tokens[at].lower if at < len(self.tokens) else ""

    def _noun(self, at: int) -> str:
        """The stem of the noun at *at*, where it is one that names results."""
        stem_there = self.tokens[at].stem if at < len(self.tokens) else ""
        return stem_there if stem_there in self.nouns else ""

    def _ends(self, at: int) -> bool:
        """Whether no plain word follows that would make what came before a part of its name."""
        return not self._word(at) or self._word(at) in PREPOSITIONS | _ENDINGS

    def _made(self, begin: int, end: int, how: How, **more: Any) -> Reference:
        return Reference(" ".join(token.text for token in self.tokens[begin:end]), how, begin, end, **more)

    def _definite(self, begin: int) -> Reference | None:
        """Read "the result"; "the file" where a short command ends with it and names no other."""
        noun = self._noun(begin + 1)
        if self._word(begin + 1) in OUTCOMES and self._ends(begin + 2):
            return self._made(begin, begin + 2, "one", noun=noun)
        short = len(self.tokens) <= _SHORT and begin + 2 == len(self.tokens) and begin > 0
        if short and noun and not self._word(begin + 1).endswith("s"):
            return self._made(begin, begin + 2, "one", noun=noun)
        return None

    def _pronoun(self, at: int) -> Reference | None:
        """Read "it" and "that file"; not the "that" of "files that contain" and not "this" before a noun of its own."""
        word = self._word(at)
        how: How = "one" if word in _ONE else "all"
        if word not in _POINTING or self._ends(at + 1):
            return self._made(at, at + 1, how)
        noun = self._noun(at + 1)
        return self._made(at, at + 2, how, noun=noun) if noun else None

    def _each(self, at: int) -> Reference | None:
        """Read "each", "each of them", "every file" and "both files"."""
        end = self._past_of_them(at + 1)
        if end > at + 1 or self._ends(end):
            return self._made(at, end, "each")
        noun = self._noun(end)
        return self._made(at, end + 1, "each", noun=noun) if noun else None

    def _past_of_them(self, at: int) -> int:
        """One past "of them", "of those files", "of the results"; *at* where none of it stands there."""
        if self._word(at) != "of":
            return at
        if self._word(at + 1) in _ALL:
            return at + 2 + bool(self._noun(at + 2))
        return at + 3 if self._word(at + 1) == "the" and self._noun(at + 2) else at

    def _ordinal(self, begin: int, at: int) -> Reference | None:
        """Read "the first", "the last two of them", "the second file"; not "the first 5 lines", inside of a thing."""
        number = _count(self.tokens[at + 1]) if at + 1 < len(self.tokens) else None
        end = at + 1 + (number is not None)
        noun = self._noun(end)
        inner = end < len(self.tokens) and self.tokens[end].stem in _INNER
        if inner or (not noun and (at == begin or not self._ends(end))):
            return None
        end += bool(noun)
        past = self._past_of_them(end)
        if past == end and self._word(end) == "of":
            return None
        index, count = ORDINALS[self._word(at)], number or 1
        return self._made(begin, past, "index", index=-count if index < 0 else index, count=count, noun=noun)

    def _superlative(self, at: int) -> str:
        pair = f"{self._word(at)} {self._word(at + 1)}"
        return pair if pair in SUPERLATIVES else self._word(at) if self._word(at) in SUPERLATIVES else ""

    def _picked(self, begin: int, end: int, superlative: str) -> Reference | None:
        noun = self._noun(end)
        end += bool(noun)
        past = self._past_of_them(end)
        if past == end and (self._word(end) == "of" or not self._ends(end)):
            return None
        return self._made(begin, past, "greatest", superlative=superlative, noun=noun)


def _count(token: Token) -> int | None:
    """The number that *token* says; none for "one", which after "first" is a pronoun."""
    if token.lower in ("one", "ones"):
        return None
    number = token.value if token.kind == "number" else NUMBER_WORDS.get(token.lower)
    return number if isinstance(number, int) and number > 0 else None
