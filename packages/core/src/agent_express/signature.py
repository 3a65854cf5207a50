"""From a typed function to a JSON schema, and from JSON to the function's arguments."""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Mapping
from typing import Annotated, Any, cast, get_args, get_origin

from pydantic import ValidationError

from .contexts import AgentContext, ToolContext
from .errors import UseError
from .parameters import Parameter, compile_parameters, describe, hints_of
from .texts import problems
from .threads import CancelToken

_FLAT = (str, int, float, bool, type(None))
_PLAIN = (*_FLAT, dict, list)


class Signature:
    """What is known of a tool's function: compiled once, shared by all instances it is bound to."""

    __slots__ = ("_adapter", "_plain", "_validate", "context", "flat", "kind", "schema", "token")

    def __init__(self, name: str, fn: Callable[..., Any], described: Mapping[str, str], skip_self: bool) -> None:
        hints = hints_of(f"tool {name!r}", fn)
        self.context = self.token = None
        fields: list[Parameter] = []
        parameters = list(inspect.signature(fn).parameters.values())[1 if skip_self else 0 :]
        for parameter in parameters:
            hint = hints.get(parameter.name, Any)
            if ToolContext in get_args(hint):  # ToolContext | None
                self.context = parameter.name
            elif isinstance(hint, type) and issubclass(hint, AgentContext):
                if not issubclass(ToolContext, hint):
                    raise UseError(f"tool {name!r}: a tool is given a ToolContext, {parameter} asks for another")
                self.context = parameter.name
            elif hint is CancelToken:
                self.token = parameter.name
            else:
                fields.append(_field(name, parameter, hint, described.get(parameter.name)))
        self.kind = _kind(fn)
        self._adapter, self.schema = compile_parameters(f"tool {name!r}", name, fields, hints)
        self._validate = self._adapter.validator.validate_json
        self._plain = all(_is_plain(hint) for _, hint, _ in fields)
        self.flat = all(_is_flat(hint) for _, hint, _ in fields)
        """Whether all arguments are strings, numbers and the like: nothing that could be changed in place."""

    def from_text(self, text: str) -> dict[str, Any]:
        """The arguments as JSON values, defaults written out."""
        held = self._validate(text)
        if self._plain:
            given: dict[str, Any] = held.__dict__
            return dict(given)
        return cast(dict[str, Any], self._adapter.dump_python(held, mode="json"))

    def to_call(self, text: bytes) -> dict[str, Any]:
        """The arguments as the function wants them."""
        return dict(self._validate(text).__dict__)


def _field(name: str, parameter: inspect.Parameter, hint: Any, description: str | None) -> Parameter:
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
        raise UseError(
            f"tool {name!r}: parameter {parameter} cannot be described to a model: give each argument a name of its own"
        )
    return describe(parameter, hint, description)


def _kind(fn: Callable[..., Any]) -> str:
    if inspect.isasyncgenfunction(fn):
        return "stream"
    if inspect.iscoroutinefunction(fn):
        return "async"
    return "sync"


def _is_flat(hint: Any) -> bool:
    """Whether a validated value of *hint* is a JSON value that nothing can change in place."""
    if hint in _FLAT:
        return True
    origin = get_origin(hint)
    if origin is Annotated:
        return _is_flat(get_args(hint)[0])
    if origin is typing.Literal:
        return all(type(value) in _FLAT for value in get_args(hint))
    if origin is typing.Union or origin is types.UnionType:
        return all(_is_flat(each) for each in get_args(hint))
    return False


def _is_plain(hint: Any) -> bool:
    """Whether validated values of *hint* are JSON values already."""
    if hint in _PLAIN:
        return True
    origin = get_origin(hint)
    if origin is Annotated:
        return _is_plain(get_args(hint)[0])
    if origin is typing.Literal:
        return all(type(value) in _PLAIN for value in get_args(hint))
    if origin in (list, dict, typing.Union, types.UnionType):
        return all(_is_plain(each) for each in get_args(hint))
    return False


def explain(name: str, error: ValidationError) -> str:
    """What is wrong with the arguments of tool *name*, field by field, in the words the model reads."""
    return f"arguments of {name!r} do not fit: {problems(error, 'arguments')}"
