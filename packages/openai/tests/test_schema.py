"""Which schemas OpenAI's strict mode takes as they are."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field

from agent_express_openai.wire.schema import is_strict


class Closed(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Leaf(Closed):
    name: str
    kind: Literal["a", "b"]
    size: int | None


class Branch(Closed):
    leaves: list[Leaf]


class Tree(Closed):
    """Its schema is a reference to itself, which strict mode does not take at the root."""

    parts: list[Tree]


class WithDefault(Closed):
    size: int = 3


class WithMap(Closed):
    sizes: dict[str, int]


class Described(Closed):
    leaf: Leaf = Field(description="beside a reference")


class Open(BaseModel):
    name: str


def obj(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


@pytest.mark.parametrize("model", [Leaf, Branch])
def test_closed_models_whose_fields_are_all_required_are_strict(model: type[BaseModel]) -> None:
    assert is_strict(model.model_json_schema())


@pytest.mark.parametrize("model", [Open, WithDefault, WithMap, Described, Tree])
def test_models_that_strict_mode_would_have_to_bend_are_not_strict(model: type[BaseModel]) -> None:
    assert not is_strict(model.model_json_schema())


@pytest.mark.parametrize(
    "schema",
    [
        obj(),
        obj(a={"type": "string", "format": "date"}),
        obj(a={"anyOf": [obj(b={"const": 1}), {"type": "null"}]}),
        obj(a={"type": "array", "items": obj(b={"enum": [1, 2]}), "minItems": 1}),
        {**obj(a={"$ref": "#/$defs/leaf"}), "$defs": {"leaf": obj(b={"type": "number", "minimum": 0})}},
    ],
)
def test_what_the_guide_allows_is_strict(schema: dict[str, Any]) -> None:
    assert is_strict(schema)


@pytest.mark.parametrize(
    "schema",
    [
        {},
        {"type": "string"},
        {"anyOf": [obj(), obj(a={"type": "string"})]},
        {"type": "object", "properties": {}},
        {"type": "object", "properties": {}, "additionalProperties": True},
        {**obj(a={"type": "string"}), "required": []},
        obj(a={"type": "string", "format": "uri"}),
        obj(a={"type": "string", "maxLength": 3}),
        obj(a={"oneOf": [{"type": "string"}]}),
        obj(a={"allOf": [{"type": "string"}]}),
        obj(a={"type": "array", "prefixItems": [{"type": "string"}]}),
        obj(a={"type": "array", "items": {"type": "object"}}),
        obj(a={"anyOf": [{"type": "string"}, {"type": "object"}]}),
        obj(a={}),
        obj(a=True),
        {**obj(a={"$ref": "#/$defs/x"}), "$defs": {"x": {"type": "object"}}},
    ],
)
def test_what_the_guide_does_not_name_is_not_strict(schema: dict[str, Any]) -> None:
    assert not is_strict(schema)
