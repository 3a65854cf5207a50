"""Parameters: what a JSON schema says that a tool wants, in the terms in which sentences are read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from ..reading.words import clean, split, stem, stems
from .domains import GENERIC_HEADS, SENSES
from .shapes import follow, is_list, is_object

MAX_PARAMETERS: Final = 64
_MAX_BRANCHES: Final = 8
_FORMATS: Final = {
    "date": "date",
    "date-time": "moment",
    "time": "time",
    "email": "email",
    "idn-email": "email",
    "uri": "url",
    "url": "url",
    "uuid": "id",
    "path": "path",
    "file-path": "path",
    "directory-path": "folder",
}
_SENSE_OF: Final = {stem(word): sense for sense, words in reversed(SENSES.items()) for word in words.split()}
_GENERIC: Final = frozenset(stem(word) for word in GENERIC_HEADS)
_SEARCHING: Final = frozenset(map(stem, ["search", "find", "grep", "query", "lookup", "ask"]))
_TEXTS: Final = frozenset(map(stem, ["text", "string", "str", "pattern", "message", "input", "data"]))
_NUMERIC: Final = frozenset(["integer", "number"])


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument of a tool, or one field of a structured answer.

    Attributes:
        name: As the schema spells it.
        stems: The stems of the name's words.
        about: The stems of its description.
        branches: The schemas it may fit, without null and with references followed; the first that can be filled wins.
        schema: The schema as written, for the last check.
        root: What its references point into.
        required: Whether a call without it is refused.
        nullable: Whether null fits.
        sense: What it is about, such as "path" or "query"; empty where neither name nor description tell.
        description: As written.
    """

    name: str
    stems: tuple[str, ...]
    about: frozenset[str]
    branches: tuple[Mapping[str, Any], ...]
    schema: Any
    root: Any
    required: bool
    nullable: bool
    sense: str
    description: str

    @property
    def types(self) -> frozenset[str]:
        """The JSON types that its branches name."""
        return frozenset(name for branch in self.branches for name in type_names(branch))

    @property
    def is_array(self) -> bool:
        """Whether it takes a list and nothing else."""
        return self.types == frozenset(["array"])

    @property
    def is_numeric(self) -> bool:
        """Whether it takes numbers and nothing else."""
        return bool(self.types) and self.types <= _NUMERIC

    @property
    def takes_numbers(self) -> bool:
        """Whether it takes numbers or lists of them."""
        items = [branch.get("items") for branch in self.branches if "array" in type_names(branch)]
        inner = [is_object(each) and _NUMERIC.issuperset(type_names(each)) for each in items]
        return self.is_numeric or (self.is_array and bool(inner) and all(inner))


def type_names(schema: Mapping[str, Any]) -> tuple[str, ...]:
    """The types that *schema* allows, null left out; told from its other keywords where it names none."""
    named = schema.get("type")
    if isinstance(named, str):
        return () if named == "null" else (named,)
    if is_list(named):
        return tuple(name for name in named if isinstance(name, str) and name != "null")
    if "properties" in schema:
        return ("object",)
    if "items" in schema or "prefixItems" in schema:
        return ("array",)
    return ("string",)


def parameters(schema: Any, around: Iterable[str] = ()) -> tuple[Parameter, ...]:
    """The parameters of an object schema, in its order; of more than 64 the required ones first, then the others.

    Args:
        schema: The JSON schema of an object.
        around: The stems of the tool's name, which tell what a parameter called "name" or "text" is about.
    """
    resolved = follow(schema, schema)
    if not is_object(resolved) or not is_object(fields := resolved.get("properties")):
        return ()
    needed = resolved.get("required")
    required = frozenset(name for name in needed if isinstance(name, str)) if is_list(needed) else frozenset[str]()
    context = tuple(around)
    names = [name for name in fields if isinstance(name, str)]
    kept = frozenset(sorted(names, key=lambda name: name not in required)[:MAX_PARAMETERS])
    return tuple(_parameter(name, fields[name], schema, name in required, context) for name in names if name in kept)


def _parameter(name: str, schema: Any, root: Any, required: bool, context: tuple[str, ...]) -> Parameter:
    every = _branches(schema, root, 0)
    branches = tuple(branch for branch in every if branch.get("type") != "null" and branch.get("const", 0) is not None)
    found = follow(schema, root)
    written = [each.get("description") for each in (schema, found) if is_object(each)]
    description = clean(next((text for text in written if isinstance(text, str)), ""))[:1000]
    about = stems(description)
    nullable = len(branches) < len(every) or any(_allows_null(branch) for branch in every)
    sense = _sense(tuple(map(stem, split(name))), about, branches, context)
    return Parameter(
        name, stems(name), frozenset(about), branches, schema, root, required, nullable, sense, description
    )


def _allows_null(schema: Mapping[str, Any]) -> bool:
    named = schema.get("type")
    return is_list(named) and "null" in named


def _branches(schema: Any, root: Any, depth: int) -> list[Mapping[str, Any]]:
    """The alternatives of a schema, flattened: anyOf and oneOf opened, references followed, single allOf unwrapped."""
    schema = follow(schema, root)
    if schema is True:
        return [{}]
    if not is_object(schema) or depth > 4:
        return []
    for keyword in ("anyOf", "oneOf", "allOf"):
        inner = schema.get(keyword)
        if is_list(inner) and inner and (keyword != "allOf" or len(inner) == 1):
            branches = [branch for each in inner[:_MAX_BRANCHES] for branch in _branches(each, root, depth + 1)]
            return branches[:_MAX_BRANCHES]
    return [schema]


def _sense(
    name: tuple[str, ...], about: tuple[str, ...], branches: tuple[Mapping[str, Any], ...], context: tuple[str, ...]
) -> str:
    for branch in branches:
        spelled = branch.get("format")
        if isinstance(spelled, str) and spelled in _FORMATS:
            return _FORMATS[spelled]
    if _looks_like_glob(name, about, branches):
        return "glob"
    sense = _named_sense(name, context)
    if sense in ("content", "query") and name[-1] in _TEXTS:
        return "content" if _SEARCHING.isdisjoint(context) else "query"
    sense = sense or next((_SENSE_OF[word] for word in about if word in _SENSE_OF), "")
    if branches and all(_NUMERIC.issuperset(type_names(branch)) for branch in branches):
        return sense if sense in ("duration", "id") else "amount"
    return sense


def _named_sense(name: tuple[str, ...], context: tuple[str, ...]) -> str:
    """The sense of the last word of a name that has one; a head like "name" asks the word before it, then the tool."""
    own = [word for word in name if word not in _GENERIC]
    for word in reversed(own):
        if word in _SENSE_OF:
            return _SENSE_OF[word]
    if name and name[-1] in _GENERIC and not own:
        told = next((_SENSE_OF[word] for word in reversed(context) if word in _SENSE_OF), "")
        return told if told in ("path", "folder", "place", "person", "item") else _SENSE_OF.get(name[-1], "")
    return ""


def _looks_like_glob(name: tuple[str, ...], about: tuple[str, ...], branches: tuple[Mapping[str, Any], ...]) -> bool:
    if any(word in ("glob", "wildcard", "mask") for word in (*name, *about)):
        return True
    samples = [sample for branch in branches for sample in (branch.get("default"), *_examples(branch))]
    starred = any(isinstance(sample, str) and "*" in sample for sample in samples)
    return starred and not any(word in ("regex", "regular", "query") for word in (*name, *about))


def _examples(schema: Mapping[str, Any]) -> list[Any]:
    examples = schema.get("examples")
    return examples if is_list(examples) else []
