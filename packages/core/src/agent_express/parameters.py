"""The typed parameters of a function as one pydantic adapter and one JSON schema."""

from __future__ import annotations

import dataclasses
import inspect
import json
import typing
from collections.abc import Callable, Iterable, Mapping
from copy import copy
from typing import Annotated, Any, TypeAlias, cast

from pydantic import ConfigDict, Field, PydanticSchemaGenerationError, PydanticUserError, TypeAdapter
from pydantic.errors import PydanticInvalidForJsonSchema, PydanticUndefinedAnnotation
from pydantic.json_schema import GenerateJsonSchema
from pydantic_core import PydanticSerializationError

from .errors import UseError

Parameter: TypeAlias = tuple[str, Any, Any]
"""Name, annotation and dataclass field."""

NO_SCHEMA = (
    PydanticSchemaGenerationError,
    PydanticInvalidForJsonSchema,
    PydanticUserError,
    PydanticUndefinedAnnotation,
)
"""What pydantic raises where an annotation has no JSON schema."""


class PlainSchema(GenerateJsonSchema):
    """JSON schemas without a word on defaults that JSON cannot say, such as a class or infinity: they are left out."""

    ignored_warning_kinds = {"skipped-choice", "non-serializable-default"}  # noqa: RUF012 - as pydantic declares it

    def encode_default(self, dft: Any) -> Any:
        """The default as JSON."""
        found: Any = super().encode_default(dft)
        try:
            json.dumps(found, allow_nan=False)
        except ValueError as error:
            raise PydanticSerializationError(str(error)) from error
        return found


def hints_of(who: str, fn: Callable[..., Any]) -> dict[str, Any]:
    """The resolved annotations of *fn*.

    Raises:
        UseError: One of them names something that its module does not know, or is no type; the message begins with
            *who*.
    """
    try:
        return typing.get_type_hints(fn, include_extras=True)
    except NameError as error:
        raise UseError(f"{who}: an annotation cannot be resolved: {error}; import it at module level") from None
    except (TypeError, AttributeError, SyntaxError) as error:
        raise UseError(f"{who}: an annotation is no type: {error}") from None


def describe(parameter: inspect.Parameter, hint: Any, description: str | None) -> Parameter:
    """A parameter as a field of a dataclass; mutable defaults are copied for each call."""
    if description:
        hint = Annotated[hint, Field(description=description)]
    if parameter.default is parameter.empty:
        return parameter.name, hint, dataclasses.field()
    if type(parameter.default).__hash__ is None:  # it can be changed in place
        default = parameter.default
        return parameter.name, hint, dataclasses.field(default_factory=lambda: copy(default))
    return parameter.name, hint, dataclasses.field(default=parameter.default)


def compile_parameters(
    who: str, name: str, fields: Iterable[Parameter], hints: Mapping[str, Any]
) -> tuple[TypeAdapter[Any], dict[str, Any]]:
    """An adapter that validates all of *fields* at once, and their JSON schema without titles.

    Raises:
        UseError: A parameter has no JSON schema; the message begins with *who* and names it.
    """
    known = list(fields)
    holder = dataclasses.make_dataclass(name, known, kw_only=True)
    cast(Any, holder).__pydantic_config__ = ConfigDict(extra="forbid", allow_inf_nan=False)
    try:
        adapter: TypeAdapter[Any] = TypeAdapter(holder)
        return adapter, tidy(adapter.json_schema(schema_generator=PlainSchema))
    except NO_SCHEMA as error:
        raise UseError(f"{who}: {_blame(hints, known, error)}") from None


def tidy(schema: Any) -> Any:
    """Drop the titles that are only field names again: tokens that tell a model nothing."""
    if isinstance(schema, dict):
        named: dict[str, Any] = schema
        return {
            key: _tidy_map(value) if key in ("properties", "$defs") else tidy(value)
            for key, value in named.items()
            if key != "title"
        }
    if isinstance(schema, list):
        items: list[Any] = schema
        return [tidy(each) for each in items]
    return schema


def _tidy_map(named: dict[str, Any]) -> dict[str, Any]:
    return {name: tidy(schema) for name, schema in named.items()}


def has_schema(hint: Any) -> bool:
    """Whether values of *hint* have a form in JSON."""
    try:
        TypeAdapter(hint).json_schema()
    except NO_SCHEMA:
        return False
    return True


def _blame(hints: Mapping[str, Any], fields: Iterable[Parameter], error: Exception) -> str:
    for parameter, hint, _ in fields:
        if not has_schema(hint):
            shown = getattr(hints.get(parameter), "__name__", hints.get(parameter))
            return (
                f"parameter {parameter!r} is annotated {shown}, which has no JSON schema: "
                "take a str, a number, a list, a dict or a pydantic model"
            )
    return str(error).splitlines()[0]
