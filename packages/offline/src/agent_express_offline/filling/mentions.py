"""Mentions: arguments that a sentence names by a word of their own: options, switches, kinds of files."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..reading.tokens import Token
from ..reading.words import related, split, stem
from .conversion import file_ending, glob_for
from .parameters import Parameter, type_names
from .schemas import problem
from .shapes import is_list, is_object


@dataclass(frozen=True, slots=True)
class Mention:
    """What a sentence says of one parameter by name.

    Attributes:
        values: JSON values; several of them ("the back door and the garage door") mean a call for each.
        where: The places of the tokens that say it.
    """

    values: tuple[Any, ...]
    where: frozenset[int] = frozenset()


_SWITCH_WORDS: Final = frozenset(
    map(stem, ["is", "are", "include", "with", "show", "use", "only", "enable", "allow", "should", "do", "flag", "as"])
)
_MAX_OPTIONS: Final = 200
_NO: Final = frozenset(["no", "not", "without", "non", "don't", "disable", "off", "excluding", "never"])
_FILE_NOUNS: Final = frozenset(map(stem, ["file", "script", "module", "source", "document", "code", "test"]))


def mentioned(parameter: Parameter, tokens: Sequence[Token]) -> Mention | None:
    """What *tokens* say of *parameter* by naming an option, a switch or a kind of files; None where they do not."""
    for branch in parameter.branches:
        found = _fixed(branch) or _option(branch, tokens, parameter) or _options(branch, tokens)
        if found is None and "boolean" in type_names(branch):
            found = _switch(parameter, tokens)
        if found is None and parameter.sense in ("glob", "extension"):
            found = _file_kind(parameter, tokens)
        if found and (found.where or parameter.required) and _all_fit(found, branch, parameter):
            return found
    return None


def _all_fit(found: Mention, branch: Mapping[str, Any], parameter: Parameter) -> bool:
    return all(problem(value, branch, parameter.root) is None for value in found.values)


def _fixed(branch: Mapping[str, Any]) -> Mention | None:
    """The one value that a constant allows."""
    if "const" in branch:
        return Mention((branch["const"],))
    options = branch.get("enum")
    return Mention((options[0],)) if is_list(options) and len(options) == 1 else None


def _option(branch: Mapping[str, Any], tokens: Sequence[Token], parameter: Parameter) -> Mention | None:
    """The options that the tokens name; where none is named word for word, one that means the same as a word."""
    options = branch.get("enum")
    if not is_list(options):
        return None
    if named := _named(options, tokens):
        return named if len(named.values) == 1 or _listed(named, tokens) else Mention(named.values[:1], named.where)
    if not parameter.required:
        return None
    for at, token in enumerate(tokens):
        word = token.stem or token.text
        for option in options[:_MAX_OPTIONS]:
            if isinstance(option, str) and len(split(option)) == 1 and related(stem(option), word):
                return Mention((option,), frozenset([at]))
    return None


def _options(branch: Mapping[str, Any], tokens: Sequence[Token]) -> Mention | None:
    """All options that the tokens name, for a list of options."""
    items = branch.get("items")
    options = items.get("enum") if is_object(items) else None
    named = _named(options, tokens) if is_list(options) else None
    return Mention((list(named.values),), named.where) if named else None


def _named(options: Sequence[Any], tokens: Sequence[Token]) -> Mention | None:
    """The options whose words stand among *tokens*, the longest first; a shorter one inside of it is not meant."""
    named = [(option, at) for option in options[:_MAX_OPTIONS] if (at := _find(option, tokens))]
    named.sort(key=lambda each: -len(each[1]))
    values: list[Any] = []
    where: frozenset[int] = frozenset()
    for option, at in named:
        if where.isdisjoint(at):
            values.append(option)
            where |= at
    return Mention(tuple(values), where) if values else None


def _listed(named: Mention, tokens: Sequence[Token]) -> bool:
    """Whether "and" or a comma stands between the options, so that all of them are meant."""
    between = tokens[min(named.where) : max(named.where)]
    return any(token.lower == "and" or token.text == "," for token in between)


def _find(option: Any, tokens: Sequence[Token]) -> frozenset[int]:
    """Where the words of *option* stand in a row; a number as a number."""
    if isinstance(option, int | float) and not isinstance(option, bool):
        return frozenset([at for at, token in enumerate(tokens) if token.value == option][:1])
    words = tuple(stem(word) for word in split(option)) if isinstance(option, str) else ()
    if not words:
        return frozenset()
    for at in range(len(tokens) - len(words) + 1):
        if all(_says(tokens[at + index], word) for index, word in enumerate(words)):
            return frozenset(range(at, at + len(words)))
    return frozenset()


def _says(token: Token, word: str) -> bool:
    if token.kind == "word":
        return token.stem == word or token.lower == word
    return token.kind in ("quoted", "id", "path") and stem(token.text) == word


def _switch(parameter: Parameter, tokens: Sequence[Token]) -> Mention | None:
    """True where the words of the switch's name are said, false where "no" or "without" stands before them."""
    core = [word for word in parameter.stems if word not in _SWITCH_WORDS] or list(parameter.stems)
    places = [next((at for at, token in enumerate(tokens) if _begins(token.stem, word)), None) for word in core]
    if None in places or not core:
        return None
    found = [place for place in places if place is not None]
    before = range(max(0, min(found) - 2), min(found))
    denying = [at for at in before if tokens[at].lower in _NO]
    after = [token.lower for token in tokens[max(found) + 1 : max(found) + 3]]
    negated = bool(denying) or any(word in ("off", "false", "no") for word in after)
    turned = any(
        tokens[place].stem.startswith(("in" + word, "un" + word, "non" + word))
        for place, word in zip(found, core, strict=True)
    )
    return Mention((not (negated or turned),), frozenset([*denying, *found]))


def _begins(spoken: str, word: str) -> bool:
    """Whether a spoken word is *word*, a longer form of it ("recursively"), or its opposite ("insensitive")."""
    return bool(word) and (
        spoken == word or (len(word) > 3 and spoken.startswith((word, "in" + word, "un" + word, "non" + word)))
    )


def _file_kind(parameter: Parameter, tokens: Sequence[Token]) -> Mention | None:
    """Read "Python files" as "*.py", as ".py" where an ending is asked for."""
    for at, token in enumerate(tokens[:-1]):
        ending = file_ending(token.lower)
        if ending and tokens[at + 1].stem in _FILE_NOUNS:
            made = glob_for(ending, parameter) if parameter.sense == "glob" else "." + ending
            return Mention((made,), frozenset([at]))
    return None
