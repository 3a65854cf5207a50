"""Phrases: what is left of plain words once those are gone that say which tool or which parameter is meant."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Final

from ..reading.tokens import Token
from ..reading.values import TAIL_CUES, Value
from ..reading.vocabulary import ARTICLES, INNER_UNITS, QUALIFIERS, STOP_WORDS
from ..reading.words import related, stem
from .domains import GENERIC_NOUNS, ROLES

_NOUNS: Final = frozenset(map(stem, GENERIC_NOUNS))
_UNITS: Final = frozenset(map(stem, [*ROLES, *INNER_UNITS]))
_FILE_NOUNS: Final = frozenset(map(stem, ["file", "document", "folder", "directory"]))


def core(
    value: Value, tokens: Sequence[Token], names: Sequence[str], spoken: Collection[str], used: Collection[int]
) -> Value | None:
    """A phrase without the words at its ends that are no value; None where nothing is left, other values as they are.

    "the docs folder" is "docs", "weather Paris" is "Paris" for `get_weather`, "a task call Ann" is "call Ann" for
    `add_task`.

    Args:
        value: What was found in the command.
        tokens: The command's tokens.
        names: The stems of the tool's name.
        spoken: The stems of its parameters' names.
        used: The places of tokens that say an option or a switch.
    """
    if value.kind != "phrase" or value.cue in TAIL_CUES:
        return value
    begin, end = value.begin, value.end
    while begin < end and (
        begin in used or _is_unit(tokens, begin) or _leads(tokens[begin], names, spoken, at_verb=value.at_verb)
    ):
        begin += 1
    end = next((at for at in range(begin, end) if at in used), end)
    while end > begin and _trails(tokens[end - 1], names, spoken):
        end -= 1
    if begin == end and _is_named(value, tokens, names, spoken):
        begin, end = value.end - 1, value.end
    if begin == end or all(_means_tool(token, names) for token in tokens[begin:end]):
        return None
    return _shortened(value, tokens, begin, end)


def _shortened(value: Value, tokens: Sequence[Token], begin: int, end: int) -> Value:
    """The words from *begin* to *end*; those before them become labels."""
    text = " ".join(token.text for token in tokens[begin:end])
    labels = (*[token.stem for token in reversed(tokens[value.begin : begin])], *value.label)
    described = end < value.end and tokens[end].stem in _FILE_NOUNS and tokens[end].lower.endswith("s")
    article = described or _has_article(value, tokens, begin, end)
    cue = "" if described else value.cue
    return replace(value, text=text, data=text, begin=begin, end=end, label=labels, cue=cue, article=article)


def _has_article(value: Value, tokens: Sequence[Token], begin: int, end: int) -> bool:
    """Whether "the" or the like belongs to the words themselves: not in "the docs folder", where it is the folder's."""
    places = [at for at in range(value.begin, begin) if tokens[at].lower in ARTICLES]
    if not places and not value.article:
        return False
    nouns = (*tokens[places[-1] + 1 if places else value.begin : begin], *tokens[end : value.end])
    return all(token.lower in STOP_WORDS for token in nouns)


def _is_unit(tokens: Sequence[Token], at: int) -> bool:
    """Whether a word only says what a number before it counts: "10 euros"."""
    return at > 0 and tokens[at - 1].kind == "number" and tokens[at].stem in _UNITS


def _is_named(value: Value, tokens: Sequence[Token], names: Sequence[str], spoken: Collection[str]) -> bool:
    """Whether the last word is a value although it is a common noun, for the parameter is named: "table orders"."""
    if value.end - value.begin < 2 or tokens[value.end - 2].stem not in spoken:
        return False
    last = tokens[value.end - 1]
    return last.stem in _NOUNS - _FILE_NOUNS and last.stem not in spoken and last.stem not in names


def _leads(token: Token, names: Sequence[str], spoken: Collection[str], *, at_verb: bool) -> bool:
    if token.lower in QUALIFIERS or _trails(token, names, spoken):
        return True
    return at_verb and _means_tool(token, names)


def _trails(token: Token, names: Sequence[str], spoken: Collection[str]) -> bool:
    return token.lower in STOP_WORDS or token.stem in _NOUNS or token.stem in names or token.stem in spoken


def _means_tool(token: Token, names: Sequence[str]) -> bool:
    """Whether a word means the tool; a capital letter says that it is a name of its own."""
    return token.text.islower() and any(related(token.stem, name) for name in names)
