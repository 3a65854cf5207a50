"""Results: what tools returned, as values, and the single things in them that a later command can point at."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from agent_express.messages import Image, Json, Resource, ResultPart, Text, ToolResult

from ..filling.shapes import is_list, is_object
from ..reading.tokens import single
from ..reading.words import clean, concepts, stem, stems

MAX_ITEMS: Final = 1000
"""The most things that one result is taken apart into."""

_BULLET: Final = re.compile(r"\s*(?:[-*•]\s+|\d{1,4}[.)]\s+)?")
_WHOLE: Final = frozenset(
    map(stem, ["items", "results", "matches", "hits", "entries", "rows", "records", "data", "values", "list", "found"])
)
_FOLDERS: Final = frozenset(map(stem, ["folder", "directory", "dir", "path", "root"]))


@dataclass(frozen=True, slots=True)
class Outcome:
    """One call that was answered.

    Attributes:
        tool: The tool's name.
        args: What it was called with.
        value: What it returned: a JSON value, or text.
        is_error: Whether it failed; the value says how.
    """

    tool: str
    args: Mapping[str, Any]
    value: Any
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Item:
    """One of the things that a group of calls brought up.

    Attributes:
        value: The thing itself.
        args: What the call was made with that brought it up.
        listed: Whether it is one of a list, so that even a bare word may name a file.
    """

    value: Any
    args: Mapping[str, Any]
    listed: bool = False

    @property
    def fields(self) -> Mapping[str, Any]:
        """What is known of it by name: its own fields where it is an object."""
        return self.value if is_object(self.value) else {}


@dataclass(frozen=True, slots=True)
class Group:
    """What one command brought up.

    Attributes:
        outcomes: Its calls, those that failed included.
        items: The single things: of a list its items, of several calls one each.
        is_list: Whether there can be more than one.
    """

    outcomes: tuple[Outcome, ...]
    items: tuple[Item, ...]
    is_list: bool

    @property
    def failed(self) -> bool:
        """Whether every call failed."""
        return all(outcome.is_error for outcome in self.outcomes)


# --- one result -----------------------------------------------------------------------------------


def outcome_of(tool: str, args: Mapping[str, Any], result: ToolResult) -> Outcome:
    """What *result* says, as a value: its JSON, or its text, read as JSON where it is a JSON object or array."""
    values = [part.value for part in result.parts if isinstance(part, Json)]
    texts = [_text_of(part) for part in result.parts if not isinstance(part, Json)]
    if len(values) == 1 and not texts:
        return Outcome(tool, args, values[0], result.is_error)
    return Outcome(tool, args, _parsed("\n".join([*texts, *map(plain, values)])), result.is_error)


def _text_of(part: ResultPart) -> str:
    match part:
        case Text():
            return clean(part.text)
        case Resource():
            return clean(part.uri if part.text is None else part.text)
        case Image():
            return "(a picture, which I cannot see)"
        case _:
            return f"(a part of kind {part.kind!r}, which I cannot read)"


def _parsed(text: str) -> Any:
    if text[:1] not in ("{", "["):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def plain(value: Any) -> str:
    """Any value as text: strings as they are, the rest as compact JSON where JSON can hold it."""
    if isinstance(value, str):
        return clean(value)
    try:
        return clean(json.dumps(value, ensure_ascii=False, default=str))
    except (ValueError, TypeError, RecursionError):
        return "(a value that JSON cannot hold)"


# --- the things in it -----------------------------------------------------------------------------


def group_of(outcomes: Iterable[Outcome]) -> Group:
    """Put the calls of one command together: the items of one listing, or one thing for each call."""
    made = tuple(outcomes)
    good = [outcome for outcome in made if not outcome.is_error]
    listed = _listed(good[0]) if len(made) == len(good) == 1 else None
    if listed is None:
        return Group(made, tuple(Item(outcome.value, outcome.args) for outcome in good), is_list=len(made) > 1)
    located = [_located(value, good[0].args) for value in listed[:MAX_ITEMS]]
    return Group(made, tuple(Item(value, good[0].args, listed=True) for value in located), is_list=True)


def _listed(outcome: Outcome) -> list[Any] | None:
    """The items of a result that is a list: an array, an object around one array, lines of a listing."""
    value = outcome.value
    if is_list(value):
        return value
    if is_object(value):
        arrays = [inner for name, inner in value.items() if is_list(inner) and _holds_all(str(name), outcome.tool)]
        return arrays[0] if len(arrays) == 1 else None
    return _lines(value) if isinstance(value, str) and _is_listing(outcome.tool) else None


def _holds_all(name: str, tool: str) -> bool:
    """Whether a field of that name is what the tool was called for, and not one of many fields of a thing."""
    return any(word in _WHOLE or word in stems(tool) for word in stems(name))


def _is_listing(tool: str) -> bool:
    """Whether a tool of that name returns a list, one thing a line, where it returns text."""
    verb = next(iter(stems(tool)), "")
    meanings = concepts(verb)
    return verb in ("list", "ls") or ("search" in meanings and "read" not in meanings)


def _lines(text: str) -> list[Any]:
    """The lines of a listing without bullets and without a heading."""
    lines = [line for line in text.splitlines()[: MAX_ITEMS + 1] if line.strip()]
    if len(lines) > 1 and lines[0].rstrip().endswith(":"):
        lines = lines[1:]
    return [_BULLET.sub("", line, count=1).strip() for line in lines]


def _located(value: Any, args: Mapping[str, Any]) -> Any:
    """A bare file name out of the listing of a folder, with the folder in front of it."""
    named = (arg for name, arg in args.items() if isinstance(arg, str) and not _FOLDERS.isdisjoint(stems(name)))
    folder = next(named, "").rstrip("/")
    if not isinstance(value, str) or folder in ("", ".") or not looks_like_path(value, bare=True):
        return value
    known = value == folder or value.startswith(("/", "~", f"{folder}/", f"./{folder}/"))
    return value if known else f"{folder}/{value.removeprefix('./')}"


def looks_like_path(text: str, *, bare: bool) -> bool:
    """Whether *text* is one path; *bare*: a name without ending will do."""
    token = single(text)
    return token is not None and (token.kind == "path" or (bare and token.kind == "word" and text.isidentifier()))
