"""Structured output: a type, its JSON schema, and whether an answer fits."""

from __future__ import annotations

import re
from dataclasses import dataclass, make_dataclass
from functools import lru_cache
from typing import Any

from pydantic import PydanticSchemaGenerationError, PydanticUserError, TypeAdapter, ValidationError
from pydantic.errors import PydanticInvalidForJsonSchema

from .errors import OutputError, UseError
from .messages import Message, OutputSchema
from .texts import problems

_FENCE = re.compile(r"^\s*```[a-zA-Z]*\s*\n(.*?)\n?\s*```\s*$", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Output:
    """The form an answer must have."""

    adapter: TypeAdapter[Any]
    schema: OutputSchema
    wrapped: bool

    def check(self, message: Message) -> tuple[Any, str | None]:
        """The value, or what the model is told is wrong with its answer."""
        text = message.text
        fenced = _FENCE.match(text)
        try:
            value = self.adapter.validate_json(fenced.group(1) if fenced else text)
        except ValidationError as error:
            return None, _complaint(error)
        return (value.value if self.wrapped else value), None

    def parse(self, message: Message) -> Any:
        """The value.

        Raises:
            OutputError: The answer does not match.
        """
        value, complaint = self.check(message)
        if complaint is not None:
            shown = message.text if len(message.text) <= 200 else f"{message.text[:200]}…"
            raise OutputError(f"the answer does not match {self.schema.name}: {complaint} The answer was: {shown!r}")
        return value


def _complaint(error: ValidationError) -> str:
    wrong = problems(error, "answer")
    return f"Your answer does not match the schema: {wrong}. Answer again with JSON of that schema only."


def compile_output(kind: Any) -> Output:
    """Compile an output type: a pydantic model, a `TypeAdapter`, or any type pydantic can validate.

    What is not an object is asked for as `{"value": ...}`, since providers take objects only.

    Raises:
        UseError: It has no JSON schema.
    """
    try:
        return _compiled(kind)
    except TypeError:
        return _compile(kind)


@lru_cache(maxsize=256)
def _compiled(kind: Any) -> Output:
    return _compile(kind)


def _compile(kind: Any) -> Output:
    try:
        adapter: TypeAdapter[Any] = kind if isinstance(kind, TypeAdapter) else TypeAdapter(kind)
        schema = adapter.json_schema()
    except (PydanticSchemaGenerationError, PydanticInvalidForJsonSchema, PydanticUserError) as error:
        raise UseError(f"output={kind!r} has no JSON schema: {str(error).splitlines()[0]}") from None
    given: Any = kind
    name = re.sub(r"\W+", "_", schema.get("title") or getattr(given, "__name__", "") or "answer").strip("_") or "answer"
    if schema.get("type") == "object" or "$ref" in schema:
        return Output(adapter, OutputSchema(name, schema), wrapped=False)
    return _wrapped(adapter, name)


def _wrapped(adapter: TypeAdapter[Any], name: str) -> Output:
    inner: Any = adapter._type
    holder: Any = make_dataclass(name, [("value", inner)])
    outer: TypeAdapter[Any] = TypeAdapter(holder)
    return Output(outer, OutputSchema(name, outer.json_schema()), wrapped=True)
