"""Words: cutting text and names into them, bringing them to one form, and knowing which mean the same."""

from __future__ import annotations

import re
from functools import lru_cache

from .meanings import CONCEPTS, SPELLINGS
from .vocabulary import NUMBER_WORDS, STOP_WORDS

_PIECE = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+(?:['\u2019][a-z]+)?|[A-Z]+|\d+|[^\W\d_]+|[+*/\xd7\xf7^]")
_VOWEL = re.compile(r"[aeiouy]")
_SHORT = re.compile(r"[^aeiou][aeiou][^aeiouwxy]")


def split(text: str) -> list[str]:
    """Cut *text* into words, lower case; `read_file`, `readFile` and "read file" give the same two."""
    return [piece.casefold().replace("\u2019", "'") for piece in _PIECE.findall(text)]


def stems(text: str) -> tuple[str, ...]:
    """The stems of the words of *text*, in order, with repetitions."""
    return tuple([stem(word) for word in split(text)])


def content_stems(text: str) -> frozenset[str]:
    """The stems of the words of *text* that mean something by themselves."""
    return frozenset(stem(word) for word in split(text) if word not in STOP_WORDS)


@lru_cache(maxsize=8192)
def stem(word: str) -> str:
    """Bring *word* to the form in which its plural, its -ing, its -ed and its -ion meet: "lists", "listing" -> "list".

    A small set of suffix rules after M. F. Porter, "An algorithm for suffix stripping" (1980), far from all of it.
    Words that are short or not ASCII stay as they are.
    """
    word = SPELLINGS.get(word := word.casefold(), word)
    if len(word) <= 3 or not word.isascii() or word in NUMBER_WORDS:
        return word
    word = _without_ending(_without_ending(_without_plural(word)))
    if len(word) >= 6 and word.endswith("ll"):
        word = word[:-1]
    return word[:-1] if len(word) > 4 and word.endswith("e") else word


def _without_plural(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "xes", "ches", "shes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _without_ending(word: str) -> str:
    for ending in ("ing", "ed", "ion"):
        rest = word.removesuffix(ending)
        if rest == word or len(rest) < 3 or not _VOWEL.search(rest):
            continue
        if ending == "ion":
            return rest if rest.endswith(("s", "t")) else word
        if ending == "ed" and rest.endswith("e"):
            return word
        return _restored(rest)
    return word


def _restored(rest: str) -> str:
    """What -ing and -ed took: one of two letters ("runn" is "run"), or an e ("mak" is "make")."""
    if len(rest) >= 4 and rest[-1] == rest[-2] and rest[-1] not in "lsz":
        return rest[:-1]
    return rest + "e" if _SHORT.fullmatch(rest) else rest


def _concepts_by_stem() -> dict[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for concept, words in CONCEPTS.items():
        for word in words.split():
            found.setdefault(stem(word), set()).add(concept)
    return {word: frozenset(concepts) for word, concepts in found.items()}


_CONCEPTS = _concepts_by_stem()


def concepts(word: str) -> frozenset[str]:
    """What the stem *word* can stand for; empty for a word without known synonyms."""
    return _CONCEPTS.get(word, frozenset())


def related(word: str, other: str) -> bool:
    """Whether two stems are the same or share a meaning."""
    return word == other or not concepts(word).isdisjoint(concepts(other))


def clean(text: str) -> str:
    """Replace what no log and no JSON can hold, NUL and lone surrogates, by U+FFFD."""
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    try:
        text.encode()
    except UnicodeEncodeError:
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def shorten(text: str, limit: int) -> str:
    """Bring *text* to one line of at most *limit* characters."""
    line = " ".join(text[: limit * 4].split())
    return line if len(line) <= limit and len(text) <= limit * 4 else line[: limit - 1].rstrip() + "…"
