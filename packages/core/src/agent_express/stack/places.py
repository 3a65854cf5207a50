"""From a value of the stack to the place in the file where it is written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from .positions import KeyPath, Position, Positions


@dataclass(frozen=True, slots=True)
class Places:
    """From the path of a value in a stack to where it is written.

    Attributes:
        positions: Of the whole document.
        root: The table of the document that holds the stack.
        moved: Paths whose values come from elsewhere in the file: from a profile.
    """

    positions: Positions = field(default_factory=Positions)
    root: KeyPath = ()
    moved: Mapping[KeyPath, KeyPath] = field(default_factory=dict[KeyPath, KeyPath])

    def value(self, path: KeyPath) -> Position:
        """Where the value of *path*, or what holds it, stands."""
        return self.positions.value((*self.root, *self.source(path)))

    def key(self, path: KeyPath) -> Position:
        """Where the key of *path*, or what holds it, stands."""
        return self.positions.key((*self.root, *self.source(path)))

    def source(self, path: KeyPath) -> KeyPath:
        """The path at which the value of *path* is written."""
        for length in range(len(path), 0, -1):
            found = self.moved.get(path[:length])
            if found is not None:
                return (*found, *path[length:])
        return path
