"""Fitting: how well a value of a sentence goes with a parameter."""

from __future__ import annotations

import re
from typing import Final

from ..reading.references import Reference
from ..reading.values import Value
from ..reading.words import stem
from .conversion import inner_kind, is_numeral
from .domains import ANNOUNCES, FROM_WORDS, ROLES, TO_WORDS
from .parameters import Parameter

# Kind of a literal -> the senses it was made for.
_MADE_FOR: Final[dict[str, frozenset[str]]] = {
    "path": frozenset(["path", "folder", "extension", "repo"]),
    "glob": frozenset(["glob"]),
    "url": frozenset(["url"]),
    "email": frozenset(["email", "person"]),
    "date": frozenset(["date"]),
    "day": frozenset(["date"]),
    "time": frozenset(["time"]),
    "moment": frozenset(["moment", "date", "time"]),
    "id": frozenset(["id"]),
    "expression": frozenset(["expression"]),
}
_TEXT_SENSES: Final = frozenset(["query", "content", "title", "name", "item", "reason", "expression", ""])
_NAME_SENSES: Final = frozenset(["place", "person", "item", "name", "title", "query", "content", "language", ""])
_MAX_WORDS: Final = {
    "path": 1,
    "folder": 1,
    "repo": 1,
    "extension": 1,
    "currency": 1,
    "id": 2,
    "language": 2,
    "unit": 2,
}
_LITERAL_SENSES: Final = frozenset(["date", "time", "moment", "url", "email", "glob", "expression", "duration"])
_RESULT_SENSES: Final = frozenset(["path", "folder", "id", "content", "url", "email", "amount"])
_QUANTITY: Final = frozenset(map(stem, ["quantity", "qty", "count", "copies", "pieces"]))
_FROM: Final = frozenset(map(stem, FROM_WORDS))
_TO: Final = frozenset(map(stem, TO_WORDS))
_ROLES: Final = {stem(word): frozenset(map(stem, names.split())) for word, names in ROLES.items()}
_ENDING: Final = re.compile(r"[^/\\]\.\w{1,10}$")

NAMED: Final = 4.0
"""What is added where the words around a value say the parameter's name."""


def fit(value: Value, parameter: Parameter, *, shared: bool = False) -> float:
    """How well *value* goes with *parameter*: 0 not at all, 1 possibly, 3 made for it, 4 and more named for it.

    *shared* says that another parameter is about the same: then prepositions do not count, and the order of the text
    decides.
    """
    score = _kind_score(value, parameter)
    if value.kind == "phrase" and parameter.sense == "id":
        return score
    named = _is_named(value, parameter)
    if not score and not (named and value.kind in ("phrase", "quoted") and not parameter.is_numeric):
        return 0.0
    if value.kind == "phrase" and not named and value.end - value.begin > _MAX_WORDS.get(parameter.sense, 99):
        return 0.0
    announced = not shared and _announces(value, parameter)
    return max(0.1, score + NAMED * named + 0.5 * announced - 2.0 * _goes_the_other_way(value, parameter))


def _kind_score(value: Value, parameter: Parameter) -> float:
    if value.kind == "reference":
        return _reference_score(value, parameter)
    if parameter.is_numeric:
        return _number_score(value, parameter)
    return _phrase_score(value, parameter) if value.kind == "phrase" else _literal_score(value, parameter)


def _announces(value: Value, parameter: Parameter) -> bool:
    return parameter.sense in ANNOUNCES.get(value.cue, "").split()


def _is_named(value: Value, parameter: Parameter) -> bool:
    """Whether the words around the value say the parameter's name: "priority 3", "10 lines", "to EUR"."""
    around = {value.unit} if value.kind == "number" else set[str]()
    around |= {*value.label[:3], stem(value.cue)} - {""}
    meant = around.union(*[_ROLES.get(word, frozenset()) for word in around])
    return not meant.isdisjoint(parameter.stems)


def _goes_the_other_way(value: Value, parameter: Parameter) -> bool:
    """Whether "to" stands before what would be a source, or "from" before what would be a target."""
    if value.cue in ("to", "into", "onto"):
        return not _FROM.isdisjoint(parameter.stems)
    return value.cue == "from" and not _TO.isdisjoint(parameter.stems)


def _reference_score(value: Value, parameter: Parameter) -> float:
    reference = value.data
    if isinstance(reference, Reference) and reference.noun and reference.noun in parameter.stems:
        return 3.0
    if parameter.sense in _RESULT_SENSES:
        return 1.5 if value.at_verb and not parameter.is_numeric else 1.0
    return 0.6 if parameter.required else 0.0


def _number_score(value: Value, parameter: Parameter) -> float:
    if value.kind != "number" and not is_numeral(value):
        return 0.0
    return 2.0 if value.at_verb and not _QUANTITY.isdisjoint(parameter.stems) else 1.0


def _phrase_score(value: Value, parameter: Parameter) -> float:
    sense = parameter.sense
    if sense in _LITERAL_SENSES or not _takes_text(parameter):
        return 0.0
    if value.article and sense in ("language", "currency", "unit"):
        return 0.0
    if sense in ("path", "folder"):
        if value.article and (value.at_verb or not value.cue):
            return 0.0
        plain = 0.9 * (not value.article)
        return 1.5 + _ending_score(value.text, parameter) if _announces(value, parameter) else plain
    if _announces(value, parameter):
        return 2.0
    if (value.at_verb or not value.cue) and sense in _NAME_SENSES:
        return 1.0
    return 0.5 if sense in _TEXT_SENSES else 0.3 * (sense in ("id", "currency", "unit"))


def _literal_score(value: Value, parameter: Parameter) -> float:
    if parameter.sense in _MADE_FOR.get(value.kind, ()):
        return 3.0 + (_ending_score(value.text, parameter) if value.kind == "path" else 0.0)
    if value.kind == "quoted":
        if parameter.sense in _MADE_FOR.get(inner_kind(value.text), ()):
            return 2.5
        return 2.6 if parameter.sense in _TEXT_SENSES else 1.0
    if not _takes_text(parameter):
        return 0.0
    if value.kind == "number":
        return 0.8 if parameter.sense == "id" else 0.4
    return 1.0 if parameter.sense in _TEXT_SENSES else 0.3


def _ending_score(path: str, parameter: Parameter) -> float:
    """A file is known by its ending, or by capitals as in LICENSE, a folder by neither."""
    file = bool(_ENDING.search(path)) or path.isupper()
    return 0.5 if file == (parameter.sense == "path") else -0.05


def _takes_text(parameter: Parameter) -> bool:
    return "string" in parameter.types or "array" in parameter.types
