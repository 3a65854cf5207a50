"""The type in JSON of an annotation, as `stack show` tells the fields of a state."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Annotated, Any, Literal, Optional

import pytest
from pydantic import BaseModel

from agent_express_cli.stacks.json_types import type_of


class Plan(BaseModel):
    steps: int = 0


@dataclass
class Step:
    done: bool = False


class Colour(Enum):
    RED = "red"


@pytest.mark.parametrize(
    ("annotation", "expected"),
    [
        (bool, "boolean"),
        (int, "integer"),
        (float, "number"),
        (str, "string"),
        (list[int], "array"),
        (tuple[int, ...], "array"),
        (set[str], "array"),
        (dict[str, int], "object"),
        (Mapping[str, Any], "object"),
        (Plan, "object"),
        (Step, "object"),
        (Colour, "string"),
        (str | None, "string | null"),
        (Optional[int], "integer | null"),  # noqa: UP045 - both ways to write it
        (Literal["a", "b", 1], "string | integer"),
        (Annotated[int, "positive"], "integer"),
        (Any, "any"),
        (Callable[[], int], "any"),
        (object, "any"),
    ],
)
def test_an_annotation_has_a_type_in_json(annotation: Any, expected: str) -> None:
    assert type_of(annotation) == expected
