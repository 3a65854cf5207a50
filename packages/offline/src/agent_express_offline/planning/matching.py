"""Matching: which of the offered tools a command means, if any."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from agent_express.messages import ToolDef

from ..filling.arguments import RUNNING_TEXT, Assignment, Slot, assign
from ..filling.parameters import Parameter, parameters
from ..filling.shapes import is_list
from ..reading.commands import Command
from ..reading.meanings import ALSO_NOUNS, CHANGING, GENERIC_VERBS, LOOKING
from ..reading.tokens import Token
from ..reading.values import values_of
from ..reading.vocabulary import QUESTIONS, STOP_WORDS, VERBS
from ..reading.words import clean, content_stems, related, split, stem, stems

ENOUGH: Final = 2.0
"""The evidence from which on a command counts as understood: one word of a tool's own name is 2."""

MAX_CANDIDATES: Final = 12
_LOOKING: Final = frozenset(map(stem, LOOKING))
_CHANGING: Final = frozenset(map(stem, CHANGING))
_ALSO_NOUNS: Final = frozenset(map(stem, ALSO_NOUNS))
_GENERIC: Final = frozenset(map(stem, GENERIC_VERBS))
_WEAK: Final = frozenset(["tell", "give", "show", "get", "see", "have", "find", "look", "check", "want", "let", "go"])
_SEEKING: Final = frozenset(["find", "look"])
_COPULAS: Final = frozenset(["is", "are", "was", "were", "am"])


@dataclass(frozen=True, slots=True)
class Offer:
    """An offered tool, read once per request.

    Attributes:
        tool: The tool.
        names: The stems of its name.
        about: The stems of its description.
        wording: The stems of its parameters' names and of the options they list.
        parameters: Its parameters.
        looks: Whether it only looks, as far as its name tells: such calls may stand side by side.
        verb: The stem of its name that must have been said, or one like it; empty for a tool that only looks.
        changes: Whether that verb is known to change something: then a question does not do.
    """

    tool: ToolDef
    names: tuple[str, ...]
    about: frozenset[str]
    wording: frozenset[str]
    parameters: tuple[Parameter, ...]
    looks: bool
    verb: str
    changes: bool


@dataclass(frozen=True, slots=True)
class Match:
    """How well one offer goes with one command.

    Attributes:
        offer: Which.
        assignment: What it would be called with.
        score: To compare offers with one another.
        evidence: To decide whether the command is understood at all, see `ENOUGH`.
        named: Whether a word of the tool's own name was said.
    """

    offer: Offer
    assignment: Assignment
    score: float
    evidence: float
    named: bool

    @property
    def understood(self) -> bool:
        """Whether this is more than a guess: enough evidence, and nothing lacking unless the tool itself was named."""
        return self.evidence >= ENOUGH and (self.named or not self.assignment.missing)


def read_offers(tools: Sequence[ToolDef]) -> tuple[Offer, ...]:
    """Read the offered tools; of several with one name the first counts."""
    unique = {tool.name: tool for tool in reversed(tools)}
    return tuple(_offer(tool) for tool in tools if unique[tool.name] is tool)


def _offer(tool: ToolDef) -> Offer:
    names = stems(clean(tool.name)[:200])
    wanted = parameters(tool.parameters, names)
    required = [parameter for parameter in wanted if parameter.required]
    sums = len(required) > 1 and all(parameter.is_numeric for parameter in required)
    options = [
        str(option)[:60]
        for parameter in wanted
        for branch in parameter.branches
        if is_list(branch.get("enum"))
        for option in branch["enum"][:50]
    ]
    wording = frozenset(word for text in options for word in stems(text)) | {
        word for parameter in wanted for word in parameter.stems
    }
    looks = sums or any(word in _LOOKING for word in names[:1])
    verb = "" if looks else _verb(names)
    about = content_stems(clean(tool.description)[:2000])
    return Offer(tool, names, about, wording, wanted, looks, verb, verb in _CHANGING)


def _verb(names: Sequence[str]) -> str:
    """The word of a name that says what is done: its first, or its last where only that is a known verb."""
    last = names[-1] if names else ""
    if names and names[0] not in _CHANGING and last in _CHANGING and last not in _ALSO_NOUNS:
        return last
    if len(names) > 1 and names[0] in _ALSO_NOUNS and last in _CHANGING - _ALSO_NOUNS:
        return last
    return names[0] if names else ""


def verbs_of(offers: Sequence[Offer]) -> frozenset[str]:
    """The words that begin a command because a tool's name begins with them."""
    return frozenset(word for offer in offers for word in split(clean(offer.tool.name)[:200])[:1] if len(word) > 2)


def nouns_of(offers: Sequence[Offer]) -> frozenset[str]:
    """The words that name what the tools are about: all of a name but its verb."""
    return frozenset(word for offer in offers for word in offer.names[1:] if word not in STOP_WORDS)


def matches(
    command: Command, offers: Sequence[Offer], *, refers: bool = False, today: date | None = None
) -> list[Match]:
    """How well each of *offers* goes with *command*, the best first; among equals the one offered first.

    Of more than twelve, only the twelve whose words come closest are looked at.

    Args:
        command: What was said.
        offers: The offered tools.
        refers: Whether there are earlier results that "it" could mean.
        today: What "tomorrow" is counted from.
    """
    words = [*_asked_verb(command), *filter(None, map(_content_word, command.tokens))]
    weights = {word: _weight(word, offers) for word in words}
    values = values_of(command, refers=refers, nouns=nouns_of(offers))
    found = [
        _match(command, offer, weights, assign(command, values, offer.parameters, offer.names, today))
        for offer in _nearest(offers, weights)
    ]
    return sorted(found, key=lambda match: (-match.score, -match.evidence))


def _nearest(offers: Sequence[Offer], weights: Mapping[str, float]) -> list[Offer]:
    if len(offers) <= MAX_CANDIDATES:
        return list(offers)
    points = [-sum(_closeness(word, offer)[0] * weight for word, weight in weights.items()) for offer in offers]
    kept = sorted(range(len(offers)), key=points.__getitem__)[:MAX_CANDIDATES]
    return [offers[index] for index in sorted(kept)]


def _content_word(token: Token) -> str:
    return "" if token.lower in STOP_WORDS else token.stem


def _weight(word: str, offers: Sequence[Offer]) -> float:
    """The inverse document frequency of *word* over the offered tools: what few tools say tells them apart."""
    having = sum(1 for offer in offers if word in offer.about or any(related(word, name) for name in offer.names))
    return math.log(1 + len(offers) / max(having, 1))


def _match(command: Command, offer: Offer, weights: Mapping[str, float], assignment: Assignment) -> Match:
    score = evidence = 0.0
    known = frozenset[int]().union(*[slot.where for slot in assignment.slots if not _is_opening_text(slot)])
    unknown = 0
    for word in _asked_verb(command):
        points, proof = _closeness(word, offer)
        score, evidence = score + points * weights[word], evidence + min(proof, 1.0)
    for at, token in enumerate(command.tokens):
        word = _content_word(token)
        points, proof = _closeness(word, offer) if word else (0.0, 0.0)
        score += points * weights.get(word, 0.0)
        evidence += proof
        unknown += bool(word) and not proof and at not in known and word not in _GENERIC
    score += _verb_bonus(weights, offer) - _unspoken(weights, offer) + _arguments_score(assignment)
    evidence += _arguments_evidence(assignment, offer, weights) - min(unknown, 3)
    if _is_statement(command) or not _may_be_called(command, offer) or _wants_change(command, offer):
        score, evidence = score - 5.0, 0.0
    named = any(_content_word(token) in offer.names for token in command.tokens)
    return Match(offer, assignment, score - 0.5 * unknown, evidence, named)


def _is_opening_text(slot: Slot) -> bool:
    """Whether free text begins with the first word: then that word is as likely a verb that is not known."""
    return slot.parameter.sense in RUNNING_TEXT and min(slot.where, default=1) == 0


def _is_statement(command: Command) -> bool:
    """Whether this tells something ("the weather is nice") and asks for nothing."""
    words = command.words
    if not words or words[0] in QUESTIONS or words[0] in VERBS:
        return False
    return command.tokens[0].kind == "word" and any(word in _COPULAS for word in words[1:])


def _may_be_called(command: Command, offer: Offer) -> bool:
    """Whether a tool that does more than look was asked for by its verb, and where it changes things by no question.

    Nothing is refunded because an order is named, and nothing deleted because somebody asks how to.
    """
    if not offer.verb:
        return True
    if offer.changes and command.asks:
        return False
    said = [token for token in command.tokens if _content_word(token) and (_is_plain(token) or not offer.changes)]
    return any(
        token.stem == offer.verb or (token.stem not in _WEAK and related(token.stem, offer.verb)) for token in said
    )


def _is_plain(token: Token) -> bool:
    """Whether a verb stands as in an order: not "deleting" and not "deleted"."""
    return not token.lower.endswith(("ing", "ed"))


def _wants_change(command: Command, offer: Offer) -> bool:
    """Whether the command's verb changes something and the tool only looks: "buy P-3" is no question for P-3."""
    first = command.tokens[0].stem if command.tokens else ""
    if not offer.looks or first not in _CHANGING or first in _ALSO_NOUNS or first in _LOOKING:
        return False
    return first not in offer.about and not any(related(first, name) for name in offer.names[:1])


def _closeness(word: str, offer: Offer) -> tuple[float, float]:
    """What one word says for a tool: (points for the score, points for the evidence)."""
    if word in offer.names:
        return (1.5, 1.0) if word in _GENERIC else (3.0, 2.0)
    if any(related(word, name) for name in offer.names):
        return 2.0, 1.0
    if word in offer.wording:
        return 1.2, 1.0
    return (1.0, 1.0) if word in offer.about else (0.0, 0.0)


def _verb_bonus(words: Mapping[str, float], offer: Offer) -> float:
    """More for a tool whose name begins with what the command begins with."""
    first = next(iter(words), "")
    if not first or not offer.names:
        return 0.0
    return 1.5 if first == offer.names[0] else 0.75 if related(first, offer.names[0]) else 0.0


def _asked_verb(command: Command) -> tuple[str, ...]:
    """The verb that a question stands for: "which files" wants a list, "how many" a count."""
    words = command.words[:3]
    if words[:2] == ["how", "many"]:
        return ("count",)
    if words[:1] and words[0] in ("which", "what", "what's", "whats") and words[1:]:
        if words[1] not in STOP_WORDS and (words[0] == "which" or words[1].endswith("s")):
            return (stem("list"),)
        return (stem("inside"),) if "in" in words[1:] or "inside" in words[1:] else ()
    return ()


def _unspoken(words: Mapping[str, float], offer: Offer) -> float:
    """Less for a tool whose name speaks of what the command does not mention."""
    return sum(0.6 for name in offer.names if not any(related(name, word) for word in words))


def _arguments_score(assignment: Assignment) -> float:
    filled = sum(min(slot.strength, 4.5) for slot in assignment.slots)
    return 0.5 * filled - 2.0 * len(assignment.missing) - 4.0 * len(assignment.unused)


def _arguments_evidence(assignment: Assignment, offer: Offer, words: Mapping[str, float]) -> float:
    """A value that was made for its parameter says something; plain words say so only for what must be given."""
    proof = 0.0
    asked = _verb_bonus(words, offer) > 0 and next(iter(words), "") not in _GENERIC - _SEEKING
    for slot in assignment.slots:
        needed = (1.0 if asked else 2.0) if slot.parameter.required else 2.5
        if slot.where and (slot.strength >= needed or (slot.references and slot.parameter.required)):
            proof += 1.0
    if offer.parameters and not assignment.missing and all(each.takes_numbers for each in offer.parameters):
        proof = max(proof, 1.0)
    return min(proof, 2.0)
