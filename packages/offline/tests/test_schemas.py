from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_express_offline.filling.schemas import problem

JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.floats(-9, 9) | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=6,
)
KEYWORDS = [
    *["type", "enum", "const", "minLength", "maxLength", "minItems", "maxItems", "minimum", "maximum", "multipleOf"],
    *["pattern", "properties", "required", "additionalProperties", "items", "prefixItems", "uniqueItems", "$ref"],
    *["allOf", "anyOf", "oneOf", "not", "if", "$defs", "exclusiveMinimum", "minProperties", "a", "b"],
]
JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(["#", 10**400]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(KEYWORDS), inner, max_size=4),
    max_leaves=12,
)


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"type": "string"}, ["", "a"], [1, None, True]),
        ({"type": "integer"}, [1, 2.0], [1.5, True, "1", float("nan")]),
        ({"type": "number"}, [1, 1.5], [True, float("inf")]),
        ({"type": ["string", "null"]}, ["a", None], [1]),
        ({"enum": ["a", 1]}, ["a", 1, 1.0], ["b", True]),
        ({"const": True}, [True], [1, "true"]),
        ({"minLength": 2, "maxLength": 3}, ["ab", "abc", 5], ["a", "abcd"]),
        ({"minimum": 1, "exclusiveMaximum": 3}, [1, 2.9, "x"], [0, 3]),
        ({"multipleOf": 0.1}, [0.3, 1], [0.35]),
        ({"pattern": "^[A-Z]{3}$"}, ["EUR", 1], ["eur", "EURO"]),
        ({"items": {"type": "integer"}, "minItems": 1, "uniqueItems": True}, [[1, 2]], [[], [1, 1], ["a"]]),
        ({"prefixItems": [{"type": "string"}], "items": False}, [["a"], []], [[1], ["a", "b"]]),
        ({"properties": {"a": {"type": "string"}}, "required": ["a"]}, [{"a": "x", "b": 1}], [{}, {"a": 1}]),
        ({"properties": {"a": True}, "additionalProperties": False}, [{"a": 1}, {}], [{"b": 1}]),
        ({"anyOf": [{"type": "string"}, {"minimum": 5}]}, ["a", 5], [4]),
        ({"oneOf": [{"minimum": 1}, {"minimum": 5}]}, [3], [0, 7]),
        ({"allOf": [{"minimum": 1}, {"maximum": 5}]}, [3], [0, 7]),
        ({"not": {"type": "string"}}, [1], ["a"]),
        ({"$ref": "#/$defs/n", "$defs": {"n": {"type": "integer"}}}, [1], ["a"]),
        (True, [1, None], []),
        (False, [], [1, None]),
    ],
)
def test_each_keyword_says_what_the_standard_says(schema: Any, good: list[Any], bad: list[Any]) -> None:
    assert [value for value in good if problem(value, schema)] == []
    assert [value for value in bad if not problem(value, schema)] == []


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "https://example.org/schema"},
        {"$ref": "#anchor"},
        {"$ref": "#/nowhere"},
        {"$ref": "#"},
        {"if": {"type": "string"}, "then": {"minLength": 1}},
        {"unevaluatedProperties": False},
        {"type": "date"},
        {"enum": "abc"},
        {"minLength": "two"},
        {"pattern": "("},
        {"pattern": "(a+)+$"},
        {"pattern": r"(a)\1"},
        {"not": {"$ref": "#/nowhere"}},
        {"not": {"not": {"$ref": "#/nowhere"}}},
        [],
        None,
        "string",
    ],
)
def test_what_cannot_be_decided_counts_as_not_fitting(schema: Any) -> None:
    assert problem("aaa", schema)


def test_the_problem_says_where_and_what() -> None:
    schema = {"properties": {"lines": {"type": "integer", "minimum": 1}}, "required": ["path"]}
    assert problem({"path": "a", "lines": 0}, schema) == "lines: must be at least 1"
    assert problem({}, schema) == "lacks 'path'"


def test_a_schema_that_branches_for_ever_is_given_up_within_its_steps() -> None:
    schema = {"$defs": {"a": {"anyOf": [{"$ref": "#/$defs/a"}, {"$ref": "#/$defs/a"}]}}, "$ref": "#/$defs/a"}
    assert problem(1, schema) is not None


def test_a_pattern_made_to_run_for_ever_is_not_run() -> None:
    """Were it run, 2 to the power of 199 steps would outlast the time limit of the tests."""
    assert problem("a" * 199 + "!", {"pattern": "^(a|a)*$"})


def test_a_value_that_nests_without_end_is_refused() -> None:
    value: list[Any] = []
    for _ in range(100_000):
        value = [value]
    assert problem(value, {"const": value}) is not None
    assert problem(value, {"$ref": "#/$defs/l", "$defs": {"l": {"items": {"$ref": "#/$defs/l"}}}}) is not None


@given(JSON, JUNK)
def test_no_schema_makes_the_checker_raise(value: Any, schema: Any) -> None:
    found = problem(value, schema)
    assert found is None or isinstance(found, str)


@given(JSON)
def test_every_value_is_equal_to_itself(value: Any) -> None:
    assert problem(value, {"const": value}) is None
    assert problem(value, {"enum": [value]}) is None
