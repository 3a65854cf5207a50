"""Values: what stands in a command that an argument could be made of, with the words around it that say for which.

read the first 5 lines of notes.txt    number 5 (unit "line"), path notes.txt (cue "of")
weather in Paris and London            phrase Paris (cue "in"), phrase London (cue "in", beside Paris)
save it to out.txt                     reference "it", path out.txt (cue "to")
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias

from .commands import Command
from .literals import LITERALS, Kind
from .references import Reference, find_references
from .tokens import Token
from .vocabulary import ARTICLES, EXCLUSIONS, INNER_UNITS, NUMBER_WORDS, ORDINALS, PREPOSITIONS, VERBS

MAX_VALUES: Final = 48
MAX_PHRASE_WORDS: Final = 40

ValueKind: TypeAlias = Kind | Literal["phrase", "reference", "expression"]


@dataclass(frozen=True, slots=True)
class Value:
    """Something an argument could be made of.

    Attributes:
        kind: As of its token; "phrase" for plain words, "expression" for a sum, "reference" for an earlier result.
        text: As written, without quotes.
        data: What the token holds, a `Reference` for a reference.
        begin: Its first token's place in the command.
        end: One past its last token's place.
        cue: The preposition before it; empty for none, "object" for what stands right after the verb, "alone" for one
            word that is all there is besides the verb, ":" for what a colon announces.
        label: The stems of the words right before it, the nearest first: "priority 3" has "priority".
        unit: The stem of the word after it, for numbers: "5 lines" has "line".
        beside: Whether only "and" or a comma is between it and the value before it.
        article: Whether a phrase began with "the", "a" or the like.
    """

    kind: ValueKind
    text: str
    data: Any
    begin: int
    end: int
    cue: str = ""
    label: tuple[str, ...] = ()
    unit: str = ""
    beside: bool = False
    article: bool = False

    @property
    def where(self) -> frozenset[int]:
        """The places of its tokens."""
        return frozenset(range(self.begin, self.end))

    @property
    def at_verb(self) -> bool:
        """Whether it stands right after the verb."""
        return self.cue in ("object", "alone")

    @property
    def is_literal(self) -> bool:
        """Whether it is written as a value rather than as plain words."""
        return self.kind in LITERALS


def values_of(command: Command, *, refers: bool, nouns: Collection[str] = ()) -> tuple[Value, ...]:
    """Find the values of *command*, in its order, at most 48.

    Args:
        command: What was said.
        refers: Whether there is anything that "it" could mean.
        nouns: The stems of words that name results here, see `find_references`.
    """
    tokens = command.tokens
    tail = _tail(tokens)
    references = [each for each in find_references(tokens, nouns) if each.begin < tail] if refers else []
    taken = {position for reference in references for position in range(reference.begin, reference.end)}
    found = [_reference(tokens, reference) for reference in references]
    found += [_literal(tokens, at) for at in range(len(tokens)) if at not in taken and _is_value(tokens, at)]
    found += [each for at in range(len(tokens) - 1) for each in _ordinal_units(tokens, at)]
    found += _expressions(tokens)
    found += _phrases(tokens, taken, tail)
    found.sort(key=lambda value: (value.begin, -value.end))
    return _mark_neighbours(tokens, found[:MAX_VALUES])


TAIL_CUES: Final = frozenset([":", "because", "saying", "says"])


def _tail(tokens: tuple[Token, ...]) -> int:
    """Where a text begins that goes on to the end of the command, as after a colon; past the end where none does."""
    for at in range(1, len(tokens) - 1):
        colon = tokens[at].kind == "mark" and tokens[at].text == ":"
        if (colon or tokens[at].lower in TAIL_CUES) and tokens[at + 1].kind == "word":
            return at
    return len(tokens)


def _is_value(tokens: tuple[Token, ...], at: int) -> bool:
    if at and tokens[at - 1].lower in EXCLUSIONS:
        return False
    return tokens[at].kind in LITERALS or _spoken_number(tokens, at) is not None


def _spoken_number(tokens: tuple[Token, ...], at: int) -> int | None:
    """The number that a word means; "one" only before a noun, because "this one" is no number."""
    word = tokens[at].lower
    if word == "one" and (at + 1 >= len(tokens) or tokens[at + 1].lower in PREPOSITIONS or at == 0):
        return None
    if word == "one" and tokens[at - 1].lower in (*ARTICLES, "each", "first", "last", "which"):
        return None
    return NUMBER_WORDS.get(word)


def _literal(tokens: tuple[Token, ...], at: int) -> Value:
    token = tokens[at]
    spoken = _spoken_number(tokens, at)
    cue, label = _before(tokens, at)
    unit = tokens[at + 1].stem if at + 1 < len(tokens) and tokens[at + 1].lower not in PREPOSITIONS else ""
    if spoken is not None:
        return Value("number", token.text, spoken, at, at + 1, cue, label, unit)
    if token.kind == "number" and isinstance(token.value, int) and at and tokens[at - 1].lower in INNER_UNITS:
        last = None if cue in ("at", "from", "since") else token.value
        return Value("range", token.text, (token.value, last), at, at + 1, cue, label)
    return Value(token.kind, token.text, token.value, at, at + 1, cue, label, unit)


def _ordinal_units(tokens: tuple[Token, ...], at: int) -> list[Value]:
    """Read "second line" as the lines from the second to the second."""
    index = ORDINALS.get(tokens[at].lower, -1)
    if index < 0 or tokens[at + 1].lower not in INNER_UNITS:
        return []
    text = f"{tokens[at].text} {tokens[at + 1].text}"
    return [Value("range", text, (index + 1, index + 1), at, at + 2)]


def _reference(tokens: tuple[Token, ...], reference: Reference) -> Value:
    cue, label = _before(tokens, reference.begin)
    return Value("reference", reference.text, reference, reference.begin, reference.end, cue, label)


def _before(tokens: tuple[Token, ...], at: int) -> tuple[str, tuple[str, ...]]:
    """The preposition in front of a value, and the words in front of it, nearest first, signs and articles skipped."""
    label: list[str] = []
    for position in range(at - 1, max(-1, at - 5), -1):
        token = tokens[position]
        if token.kind == "mark" and token.text in ":=(":
            continue
        if token.kind != "word" or token.lower in ("and", "or", "then"):
            break
        if token.lower in PREPOSITIONS:
            owner = tokens[position - 1].stem if token.lower == "of" and position else ""
            return token.lower, (*label, token.stem, owner)
        if token.lower not in ARTICLES:
            label.append(token.stem)
    return ("object" if at - len(label) <= 1 else ""), tuple(label)


# --- phrases --------------------------------------------------------------------------------------


def _phrases(tokens: tuple[Token, ...], taken: set[int], tail: int) -> list[Value]:
    """Runs of plain words: after the verb, and after each preposition; cut at joints, values and references."""
    found: list[Value] = []
    begin = 1 if tokens and tokens[0].lower in VERBS else 0
    cue = "alone" if (begin, len(tokens)) == (1, 2) else "object"
    for at in range(begin, tail + (tail == len(tokens))):
        word = tokens[at].lower if at < len(tokens) and at not in taken else ""
        if word and word not in PREPOSITIONS and word not in _CUTS:
            continue
        found += _phrase(tokens, begin, at, cue)
        begin = at + 1
        keeps = word in _JOINTS or _is_comma(tokens, at)
        cue = cue if keeps else word if word in PREPOSITIONS or word in _CUTS else ""
    if tail < len(tokens):
        found += _phrase(tokens, begin, tail, cue)
        text = running_text(tokens[tail + 1 :])
        found.append(Value("phrase", text, text, tail + 1, len(tokens), tokens[tail].lower or ":"))
    return found


def running_text(tokens: Sequence[Token]) -> str:
    """The words of *tokens* as one text, signs close to the word before them."""
    text = ""
    for token in tokens:
        text += token.text if token.kind == "mark" or not text else f" {token.text}"
    return text


_CUTS: Final = frozenset(["and", "or", "but", "not", "except", "that", "which", "who"])

_JOINTS: Final = frozenset(["and", "or", "but", "not", "except"])


def _is_comma(tokens: tuple[Token, ...], at: int) -> bool:
    return at < len(tokens) and tokens[at].text in (",", "&")


def _phrase(tokens: tuple[Token, ...], begin: int, end: int, cue: str) -> list[Value]:
    article = begin < end and tokens[begin].lower in ARTICLES
    while begin < end and tokens[begin].lower in ARTICLES:
        begin += 1
    words = tokens[begin:end]
    if not words or len(words) > MAX_PHRASE_WORDS:
        return []
    text = " ".join(token.text for token in words)
    label = _before(tokens, begin)[1] if cue not in ("object", "alone") else ()
    return [Value("phrase", text, text, begin, end, cue, label, article=article)]


# --- sums -----------------------------------------------------------------------------------------

_OPERATORS: Final = {"+": "+", "-": "-", "*": "*", "/": "/", "\xd7": "*", "\xf7": "/", "^": "**", "x": "*"} | {
    "plus": "+",
    "minus": "-",
    "times": "*",
}


def _expressions(tokens: tuple[Token, ...]) -> list[Value]:
    """Numbers with operators between them, as one value beside the numbers themselves: "2 + 3 * 4"."""
    found: list[Value] = []
    at = 0
    while at < len(tokens):
        end = at
        while end < len(tokens) and _is_term(tokens, at, end):
            end += 1
        if sum(token.kind == "number" for token in tokens[at:end]) > 1:
            text = " ".join(_OPERATORS.get(token.text.casefold(), token.text) for token in tokens[at:end])
            text = text.replace("( ", "(").replace(" )", ")")
            found.append(Value("expression", text, text, at, end, *_before(tokens, at)))
        at = max(end, at + 1)
    return found


def _is_term(tokens: tuple[Token, ...], begin: int, at: int) -> bool:
    token, before = tokens[at], tokens[at - 1] if at > begin else None
    if token.text in ("(", ")") and token.kind == "mark":
        return True
    after_number = before is not None and (before.kind == "number" or before.text == ")")
    if token.kind == "number":
        return not after_number
    return after_number and token.text.casefold() in _OPERATORS


# --- neighbours -----------------------------------------------------------------------------------


def _mark_neighbours(tokens: tuple[Token, ...], found: list[Value]) -> tuple[Value, ...]:
    """Give what stands beside another value ("a.txt and b.txt") the cue of that value."""
    marked: list[Value] = []
    for value in found:
        before = next((each for each in reversed(marked) if each.end < value.begin), None)
        if before and _joined(tokens, before.end, value.begin):
            value = replace(value, cue=before.cue, label=value.label or before.label, beside=True)
        marked.append(value)
    return tuple(marked)


def _joined(tokens: tuple[Token, ...], begin: int, end: int) -> bool:
    between = [token.lower or token.text for token in tokens[begin:end] if token.lower not in ARTICLES]
    return bool(between) and all(text in ("and", ",", "&") for text in between)
