"""What is wrong with a stack file: sentences with their places, all of them at once."""

from __future__ import annotations

from dataclasses import dataclass, field

from .places import Places
from .positions import KeyPath
from .words import spelled


@dataclass(frozen=True, slots=True)
class StackProblem:
    """One thing that is wrong in a stack file.

    Attributes:
        message: What was found and what was expected.
        line: From 1; 0 where the file has no lines, or the problem no place.
        column: From 1, in characters.
        path: Where, as keys: "use[2].config.limit".
        advice: What to do; may be empty.
    """

    message: str
    line: int = 0
    column: int = 0
    path: str = ""
    advice: str = ""

    def __str__(self) -> str:
        return f"{self.message}; {self.advice}" if self.advice else self.message


@dataclass(slots=True)
class Report:
    """The problems found so far."""

    places: Places = field(default_factory=Places)
    _found: dict[StackProblem, None] = field(default_factory=dict[StackProblem, None])

    @property
    def problems(self) -> list[StackProblem]:
        """All of them, as they were found."""
        return list(self._found)

    def add(self, message: str, path: KeyPath = (), *, advice: str = "", at_key: bool = False) -> None:
        """Note a problem with the value at *path*, or with its key; one sentence is noted once a place."""
        place = self.places.key(path) if at_key else self.places.value(path)
        self._found[StackProblem(message, place.line, place.column, spelled(self.places.source(path)), advice)] = None

    def sorted(self) -> list[StackProblem]:
        """The problems as they stand in the file, those without a place first."""
        return sorted(self.problems, key=lambda problem: (problem.line, problem.column))
