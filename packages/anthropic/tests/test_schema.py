"""Schemas for structured output: what the API takes, and what it cannot be told."""

from __future__ import annotations

import json
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from agent_express_anthropic.schema import closed


class Pet(BaseModel):
    kind: Literal["cat", "dog"]
    age: Annotated[int, Field(ge=0, le=40)] | None = None


class Owner(BaseModel):
    """Somebody with pets."""

    model_config = ConfigDict(extra="allow")
    name: Annotated[str, Field(description="Full name", min_length=1, pattern="^[A-Z]")]
    pets: Annotated[list[Pet], Field(min_length=1)]
    best: Pet


class Node(BaseModel):
    children: list[Node] = []


class Wrapped(BaseModel):
    node: Node


class Free(BaseModel):
    counts: dict[str, int]


class Untyped(BaseModel):
    anything: Any


class Pair(BaseModel):
    both: tuple[int, str]


def test_ranges_lengths_and_patterns_move_into_the_description() -> None:
    made = closed(Owner.model_json_schema())
    assert made is not None
    assert made["properties"]["name"] == {
        "title": "Name",
        "description": 'Full name (minLength: 1, pattern: "^[A-Z]")',
        "type": "string",
    }
    age = made["$defs"]["Pet"]["properties"]["age"]["anyOf"][0]
    assert age == {"type": "integer", "description": "(maximum: 40, minimum: 0)"}


def test_objects_are_closed_at_every_depth() -> None:
    made = closed(Owner.model_json_schema())
    assert made is not None
    assert made["additionalProperties"] is False
    assert made["$defs"]["Pet"]["additionalProperties"] is False
    assert made["required"] == ["name", "pets", "best"]


def test_references_enumerations_and_short_lists_stay() -> None:
    made = closed(Owner.model_json_schema())
    assert made is not None
    assert made["properties"]["best"] == {"$ref": "#/$defs/Pet"}
    assert made["$defs"]["Pet"]["properties"]["kind"]["enum"] == ["cat", "dog"]
    assert made["properties"]["pets"]["minItems"] == 1


@pytest.mark.parametrize("kind", [Free, Untyped, Pair, Node, Wrapped])
def test_what_the_api_cannot_be_told_has_no_closed_form(kind: type[BaseModel]) -> None:
    assert closed(kind.model_json_schema()) is None


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "object"} | {"additionalProperties": True},
        {"type": "object", "properties": {"a": True}},
        {"type": "object", "properties": {"a": {"$ref": "https://example.org/a.json"}}},
        {"type": "object", "properties": {"a": {"$ref": "#/$defs/none"}}},
        {"type": "object", "properties": {"a": {"enum": [[1]]}}},
        {"type": "object", "properties": {}, "if": {}, "then": {}},
        {"type": "array"},
        {"type": []},
        {"type": "colour"},
    ],
)
def test_odd_schemas_have_no_closed_form(schema: dict[str, Any]) -> None:
    assert closed(schema) is None


def test_several_types_become_a_union() -> None:
    made = closed({"type": ["string", "null"], "title": "T", "format": "date"})
    assert made == {
        "title": "T",
        "anyOf": [
            {"type": "string", "format": "date"},
            {"type": "null", "description": '(format: "date")'},
        ],
    }


def test_one_of_becomes_any_of_and_its_discriminator_goes() -> None:
    schema = {"oneOf": [{"type": "string"}, {"type": "null"}], "discriminator": {"propertyName": "kind"}}
    assert closed(schema) == {"anyOf": [{"type": "string"}, {"type": "null"}]}


def test_constants_and_intersections_stay() -> None:
    schema = {"allOf": [{"const": "a"}, {"type": "string"}]}
    assert closed(schema) == schema


def test_the_schema_handed_in_is_not_changed() -> None:
    schema = Owner.model_json_schema()
    before = json.dumps(schema)
    closed(schema)
    assert json.dumps(schema) == before


@pytest.mark.parametrize("kind", [Owner, Pet, list[Pet], Pet | Owner])
def test_the_closed_form_is_the_sdks_own_descriptions_aside(kind: Any) -> None:
    from anthropic import transform_schema

    schema = TypeAdapter(kind).json_schema()
    assert plain(closed(schema)) == plain(transform_schema(schema))


def plain(schema: Any) -> Any:
    """The schema without words; an enumeration with its type, which the SDK leaves out."""
    if isinstance(schema, list):
        return [plain(each) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: plain(value) for key, value in schema.items() if key not in ("description", "default")}
