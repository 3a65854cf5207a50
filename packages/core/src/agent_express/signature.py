"""From a typed function to a JSON schema, and from JSON to the function's arguments."""

from __future__ import annotations

import dataclasses
import inspect
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from typing import Annotated, Any, cast, get_args, get_origin

from pydantic import ConfigDict, Field, PydanticSchemaGenerationError, PydanticUserError, TypeAdapter, ValidationError
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticUndefinedAnnotation

from .contexts import AgentContext, ToolContext
from .errors import UseError
from .texts import problems
from .threads import CancelToken

_FLAT = (str, int, float, bool, type(None))
_PLAIN = (*_FLAT, dict, list)


class Signature:
    """What is known of a tool's function: compiled once, shared by all instances it is bound to."""

    __slots__ = ("_adapter", "_plain", "_validate", "context", "flat", "kind", "schema", "token")

    def __init__(self, name: str, fn: Callable[..., Any], described: Mapping[str, str], skip_self: bool) -> None:
        hints = _hints(name, fn)
        self.context = self.token = None
        fields: list[tuple[str, Any, Any]] = []
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
        holder = dataclasses.make_dataclass(name, fields, kw_only=True)
        cast(Any, holder).__pydantic_config__ = ConfigDict(extra="forbid", allow_inf_nan=False)
        try:
            self._adapter: TypeAdapter[Any] = TypeAdapter(holder)
            self.schema = _tidy(self._adapter.json_schema())
        except (
            PydanticSchemaGenerationError,
            PydanticInvalidForJsonSchema,
            PydanticUserError,
            PydanticUndefinedAnnotation,
        ) as error:
            raise UseError(f"tool {name!r}: {_blame(name, hints, fields, error)}") from None
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


def _hints(name: str, fn: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(fn, include_extras=True)
    except NameError as error:
        raise UseError(f"tool {name!r}: an annotation cannot be resolved: {error}; import it at module level") from None


def _field(name: str, parameter: inspect.Parameter, hint: Any, description: str | None) -> tuple[str, Any, Any]:
    if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD, parameter.POSITIONAL_ONLY):
        raise UseError(
            f"tool {name!r}: parameter {parameter} cannot be described to a model: give each argument a name of its own"
        )
    if description:
        hint = Annotated[hint, Field(description=description)]
    if parameter.default is parameter.empty:
        return parameter.name, hint, dataclasses.field()
    if isinstance(parameter.default, list | dict | set):
        default = cast(Any, parameter.default)
        return parameter.name, hint, dataclasses.field(default_factory=lambda: default.copy())
    return parameter.name, hint, dataclasses.field(default=parameter.default)


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


def _tidy(schema: Any) -> Any:
    """Drop the titles that are only field names again: tokens that tell a model nothing."""
    if isinstance(schema, dict):
        named: dict[str, Any] = schema
        return {
            key: _tidy_map(value) if key in ("properties", "$defs") else _tidy(value)
            for key, value in named.items()
            if key != "title"
        }
    if isinstance(schema, list):
        items: list[Any] = schema
        return [_tidy(each) for each in items]
    return schema


def _tidy_map(named: dict[str, Any]) -> dict[str, Any]:
    return {name: _tidy(schema) for name, schema in named.items()}


def _blame(name: str, hints: Mapping[str, Any], fields: Iterable[tuple[str, Any, Any]], error: Exception) -> str:
    for parameter, hint, _ in fields:
        try:
            TypeAdapter(hint).json_schema()
        except (PydanticSchemaGenerationError, PydanticInvalidForJsonSchema, PydanticUserError):
            shown = getattr(hints.get(parameter), "__name__", hints.get(parameter))
            return (
                f"parameter {parameter!r} is annotated {shown}, which has no JSON schema: "
                "take a str, a number, a list, a dict or a pydantic model"
            )
    return str(error).splitlines()[0]


def explain(name: str, error: ValidationError) -> str:
    """What is wrong with the arguments of tool *name*, field by field, in the words the model reads."""
    return f"arguments of {name!r} do not fit: {problems(error, 'arguments')}"
