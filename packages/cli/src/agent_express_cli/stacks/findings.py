"""What `stack check` finds: one thing that is wrong with a stack, or good to know. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from .rules import Severity
from .view import LayerView


@dataclass(frozen=True, slots=True)
class Finding:
    """One finding.

    Attributes:
        rule: The rule that it breaks; `--explain` tells of it.
        severity: How bad it is.
        message: What was found, with the layers by name.
        why: What goes wrong because of it.
        advice: What to do.
        layers: Whom it concerns.
        line: Where in the stack file; 0 where it has no place.
        column: Likewise.
        order: The layers in an order that would do; empty where order is not what is wrong.
        moved: Who stands elsewhere in that order.
        agent: In which agent, where there are several; empty: in the App.
    """

    rule: str
    severity: Severity
    message: str
    why: str = ""
    advice: str = ""
    layers: tuple[str, ...] = ()
    line: int = 0
    column: int = 0
    order: tuple[str, ...] = ()
    moved: tuple[str, ...] = ()
    agent: str = ""


def listed(names: Sequence[str], last: str = "and") -> str:
    """`a`, `a and b`, `a, b and c`."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} {last} {names[-1]}"


def place(layer: LayerView) -> tuple[int, int]:
    """Where *layer* stands in the file."""
    return layer.line, layer.column
