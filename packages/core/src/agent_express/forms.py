"""Annotations in forms that JSON has: what has none, a callable or a class say, is written "module:attr"."""

from __future__ import annotations

from collections import abc
from collections.abc import Callable
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BeforeValidator, Field, WithJsonSchema

from .errors import PluginError
from .parameters import has_schema
from .references import import_attr

_CONTAINERS: tuple[Any, ...] = (list, tuple, set, frozenset, dict, abc.Sequence, abc.Mapping, abc.Iterable, abc.Set)


def written(hint: Any, *, thorough: bool = False) -> Any:
    """*hint* with a form in JSON: the same, or one that imports what is written "module:attr", also further in.

    Args:
        hint: An annotation.
        thorough: Whether each part is tried; without it only callables and classes are taken for what JSON lacks.
    """
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        inner = written(args[0], thorough=thorough)
        return hint if inner is args[0] else Annotated[inner, *args[1:]]
    if origin in (Union, UnionType):
        return _choice(hint, args, thorough)
    if _is_code(hint):
        return _imported(hint)
    if origin in _CONTAINERS:
        inside = tuple(each if each is Ellipsis else written(each, thorough=thorough) for each in args)
        return hint if inside == args else origin[inside]
    return hint if not thorough or has_schema(hint) else _imported(hint)


def _choice(hint: Any, choices: tuple[Any, ...], thorough: bool) -> Any:
    """A choice; what is imported is tried first, since a text would fit other choices, too."""
    forms = [written(each, thorough=thorough) for each in choices]
    code = [form for form, each in zip(forms, choices, strict=True) if form is not each and not _is_container(each)]
    rest = [form for form in forms if form not in code]
    if not code:
        return hint if all(form is each for form, each in zip(forms, choices, strict=True)) else Union[tuple(forms)]  # noqa: UP007
    if rest == [type(None)]:
        return _imported(next(each for each in choices if each is not type(None)), or_nothing=True)
    if not rest:
        return code[0]
    return Annotated[code[0] | Annotated[Union[tuple(rest)], Field()], Field(union_mode="left_to_right")]  # noqa: UP007


def _is_container(hint: Any) -> bool:
    return get_origin(hint) in _CONTAINERS


def _is_code(hint: Any) -> bool:
    return get_origin(hint) in (abc.Callable, type) or hint in (Callable, abc.Callable, type)


def _imported(hint: Any, *, or_nothing: bool = False) -> Any:
    """An annotation for what is written "module:attr" in the place of a value."""
    schema: dict[str, Any] = {"type": "string", "format": "module:attr"}
    if or_nothing:
        schema = {"anyOf": [schema, {"type": "null"}]}

    def check(value: Any) -> Any:
        return None if value is None and or_nothing else _fitting(_found(value), hint)

    return Annotated[Any, BeforeValidator(check), WithJsonSchema(schema)]


def _found(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return import_attr(value)
    except PluginError as error:
        raise ValueError(str(error)) from error


def _fitting(found: Any, hint: Any) -> Any:
    """*found*, where it is what *hint* says, as far as that can be told."""
    if get_origin(hint) is type or hint is type:
        base: Any = next(iter(get_args(hint)), object)
        base = base if isinstance(base, type) else object
        if not isinstance(found, type) or not issubclass(found, base):
            raise ValueError(f"expected a class of {base.__name__}, found {_shown(found)}")
    elif _is_code(hint) and not callable(found):
        raise ValueError(f"expected a callable, found {_shown(found)}")
    return found


def _shown(found: Any) -> str:
    return f"the class {found.__name__}" if isinstance(found, type) else type(found).__name__
