"""Keywords: what each keyword of JSON Schema 2020-12 asks of a value, one function each."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sized
from functools import lru_cache
from operator import ge, gt, le, lt
from typing import Any, Final, Protocol, TypeAlias

from .shapes import is_list, same, target

Schema: TypeAlias = Mapping[str, Any]

_MAX_PATTERN_TEXT: Final = 200
_MAX_REPEATS: Final = 3
_MAX_UNIQUE: Final = 200


class Checker(Protocol):
    """One check in progress.

    Attributes:
        root: The schema that references point into.
        doubts: How often something could not be decided.
    """

    root: Any
    doubts: int

    def problem(self, value: Any, schema: Any) -> str | None:
        """What keeps *value* from fitting *schema*; None for nothing."""
        ...

    def doubt(self, why: str) -> str:
        """Give up on one keyword: it counts as a problem, and so does its opposite."""
        ...


Rule: TypeAlias = Callable[[Checker, Any, Any, Schema], "str | None"]
"""(the check, the value, the keyword's argument, the schema around it) -> what is wrong, or None."""


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


_TYPES: Final[dict[str, Callable[[Any], bool]]] = {
    "string": lambda value: isinstance(value, str),
    "integer": lambda value: _is_number(value) and math.isfinite(value) and value == int(value),
    "number": lambda value: _is_number(value) and math.isfinite(value),
    "boolean": lambda value: isinstance(value, bool),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, dict),
    "null": lambda value: value is None,
}


def _type(check: Checker, value: Any, argument: Any, schema: Schema) -> str | None:
    names = [argument] if isinstance(argument, str) else _listed(argument)
    if any(_TYPES[name](value) for name in names if name in _TYPES):
        return None
    return f"must be of type {' or '.join(names)}"


def _enum(check: Checker, value: Any, argument: Any, schema: Schema) -> str | None:
    if any(same(value, option) for option in _listed(argument)):
        return None
    return "must be one of " + ", ".join(str(option) for option in _listed(argument)[:12])


def _listed(argument: Any) -> list[Any]:
    if not is_list(argument):
        raise TypeError("the argument is not a list")
    return argument


def _const(check: Checker, value: Any, argument: Any, schema: Schema) -> str | None:
    return None if same(value, argument) else f"must be {argument!r}"


def _size(kind: type, holds: Callable[[Any, Any], bool], words: str) -> Rule:
    """A rule on the length of a string, an array or an object; *words* with a place for the limit."""

    def rule(check: Checker, value: Any, argument: Any, schema: Schema) -> str | None:
        if not isinstance(value, kind) or not isinstance(value, Sized) or holds(len(value), argument):
            return None
        return f"must have {words.format(argument)}"

    return rule


def _bound(holds: Callable[[Any, Any], bool], words: str) -> Rule:
    """A rule on a number."""

    def rule(check: Checker, value: Any, argument: Any, schema: Schema) -> str | None:
        return f"must be {words} {argument}" if _is_number(value) and not holds(value, argument) else None

    return rule


def _is_multiple(value: Any, step: Any) -> bool:
    ratio = value / step
    return bool(math.isclose(ratio, round(ratio), rel_tol=1e-12, abs_tol=1e-12))


def _pattern(check: Checker, value: Any, argument: Any, schema: Schema) -> str | None:
    if not isinstance(value, str):
        return None
    expression = _safe_pattern(argument)
    if expression is None or len(value) > _MAX_PATTERN_TEXT or value.endswith("\n"):
        return check.doubt(f"must match {argument!r}, which is not checked here")
    return None if expression.search(value) else f"must match {argument!r}"


@lru_cache(maxsize=256)
def _safe_pattern(pattern: str) -> re.Pattern[str] | None:
    """Compile *pattern* unless it could run for ever: a repeated group, a back-reference, more than three repeats.

    Python warns of what looks like a nested set; such a pattern is not compiled either.
    """
    if len(pattern) > _MAX_PATTERN_TEXT or _RISKY.search(pattern) or len(_REPEAT.findall(pattern)) > _MAX_REPEATS:
        return None
    return re.compile(pattern, re.ASCII)


_RISKY: Final = re.compile(r"\)[*+{]|\\[1-9]|\(\?P?[=(<]|\[\^?\[|--|&&|~~|\|\|")
_REPEAT: Final = re.compile(r"(?<!\\)(?:[*+]|(?<!\()\?|\{\d*,\d*\})")


def _properties(check: Checker, value: Any, argument: Any, schema: Schema) -> str | None:
    if not isinstance(value, dict):
        return None
    return _first((name, check.problem(value[name], argument[name])) for name in argument if name in value)


def _required(check: Checker, value: Any, argument: Any, schema: Schema) -> str | None:
    if not isinstance(value, dict):
        return None
    return next((f"lacks {name!r}" for name in argument if name not in value), None)


def _additional(check: Checker, value: Any, argument: Any, schema: Schema) -> str | None:
    if not isinstance(value, dict):
        return None
    known = schema.get("properties", {})
    return _first((name, check.problem(value[name], argument)) for name in value if name not in known)


def _items(check: Checker, value: Any, argument: Any, schema: Schema) -> str | None:
    if not isinstance(value, list):
        return None
    begin = len(schema.get("prefixItems", ()))
    items = value[begin:]
    return _first((str(begin + index), check.problem(item, argument)) for index, item in enumerate(items))


def _prefix_items(check: Checker, value: Any, argument: Any, schema: Schema) -> str | None:
    if not isinstance(value, list):
        return None
    pairs = zip(value, argument, strict=False)
    return _first((str(index), check.problem(item, inner)) for index, (item, inner) in enumerate(pairs))


def _unique(check: Checker, value: Any, argument: Any, schema: Schema) -> str | None:
    if not isinstance(value, list) or argument is not True:
        return None
    if len(value) > _MAX_UNIQUE:
        return check.doubt("has too many items to be checked")
    repeated = any(same(item, other) for index, item in enumerate(value) for other in value[:index])
    return "must not repeat an item" if repeated else None


def _reference(check: Checker, value: Any, argument: Any, schema: Schema) -> str | None:
    found = target(argument, check.root)
    if found is None:
        return check.doubt(f"has a schema that points to {str(argument)[:60]!r}, which is not there")
    return check.problem(value, found)


def _all_of(check: Checker, value: Any, argument: Any, schema: Schema) -> str | None:
    return next((found for inner in argument if (found := check.problem(value, inner))), None)


def _any_of(check: Checker, value: Any, argument: Any, schema: Schema) -> str | None:
    problems = [check.problem(value, inner) for inner in argument]
    return None if None in problems else problems[0]


def _one_of(check: Checker, value: Any, argument: Any, schema: Schema) -> str | None:
    doubts = check.doubts
    problems = [check.problem(value, inner) for inner in argument]
    if problems.count(None) == 1 and check.doubts == doubts:
        return None
    return "fits several schemas of which it may fit one" if None in problems else problems[0]


def _not(check: Checker, value: Any, argument: Any, schema: Schema) -> str | None:
    doubts = check.doubts
    found = check.problem(value, argument)
    if found is None:
        return "fits a schema that it must not fit"
    return found if check.doubts > doubts else None


def _first(problems: Iterable[tuple[str, str | None]]) -> str | None:
    return next((f"{name}: {found}" for name, found in problems if found), None)


RULES: Final[dict[str, Rule]] = {
    "type": _type,
    "enum": _enum,
    "const": _const,
    "minLength": _size(str, ge, "at least {} characters"),
    "maxLength": _size(str, le, "at most {} characters"),
    "minItems": _size(list, ge, "at least {} items"),
    "maxItems": _size(list, le, "at most {} items"),
    "minProperties": _size(dict, ge, "at least {} fields"),
    "maxProperties": _size(dict, le, "at most {} fields"),
    "minimum": _bound(ge, "at least"),
    "maximum": _bound(le, "at most"),
    "exclusiveMinimum": _bound(gt, "more than"),
    "exclusiveMaximum": _bound(lt, "less than"),
    "multipleOf": _bound(_is_multiple, "a multiple of"),
    "pattern": _pattern,
    "properties": _properties,
    "required": _required,
    "additionalProperties": _additional,
    "items": _items,
    "prefixItems": _prefix_items,
    "uniqueItems": _unique,
    "$ref": _reference,
    "allOf": _all_of,
    "anyOf": _any_of,
    "oneOf": _one_of,
    "not": _not,
}
UNDECIDED: Final = frozenset(
    """
    if contains patternProperties propertyNames dependentRequired dependentSchemas dependencies additionalItems
    unevaluatedProperties unevaluatedItems $dynamicRef $recursiveRef
    """.split()  # noqa: SIM905 (a list would be twelve lines)
)
"""Keywords that forbid something, and that are not checked here."""
