"""Where each key and each value of a TOML document stands."""

from __future__ import annotations

import re
import tomllib
from bisect import bisect_right
from dataclasses import dataclass, field
from typing import TypeAlias

KeyPath: TypeAlias = tuple[str | int, ...]
"""The way to a value: keys, and indexes into arrays."""

_BLANK = re.compile(r"(?:[ \t\n]++|#[^\n]*+)*+")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]++")
# A long string may end in one or two quotes of its own before the three that close it.
_STRINGS = {
    '"""': re.compile(r'"""(?:[^"\\]++|\\.|"{1,2}+(?!"))*+"{3,5}+', re.DOTALL),
    "'''": re.compile(r"'''(?:[^']++|'{1,2}+(?!'))*+'{3,5}+"),
    '"': re.compile(r'"(?:[^"\\]++|\\.)*+"'),
    "'": re.compile(r"'[^']*+'"),
}
_BARE_VALUE = re.compile(r"[^,\]}#\n]++")


@dataclass(frozen=True, slots=True, order=True)
class Position:
    """A place in a text; line and column count from 1, columns in characters."""

    line: int = 0
    column: int = 0


@dataclass(frozen=True, slots=True)
class Positions:
    """Where the keys and values of one document stand.

    Attributes:
        keys: The key of each path as it was first written; of a table with a header of its own, the one there. An
            item of an array has the position of its value, an item of an array of tables that of the header's key.
        values: The first character of each value; of a table, the bracket of its header.
    """

    keys: dict[KeyPath, Position] = field(default_factory=dict[KeyPath, Position])
    values: dict[KeyPath, Position] = field(default_factory=dict[KeyPath, Position])

    def key(self, path: KeyPath) -> Position:
        """Where the key of *path* stands; where it is not written, what holds it."""
        return self.keys[path] if path in self.keys else self.value(path[:-1])

    def value(self, path: KeyPath) -> Position:
        """Where the value of *path* stands; where it is not written, what holds it. Nothing does: line 0."""
        while path and path not in self.values:
            path = path[:-1]
        return self.values.get(path, Position())


def find_positions(text: str) -> Positions:
    """Find the keys and values of *text*, which `tomllib` has accepted.

    Args:
        text: A TOML document with "\\n" at the end of its lines.
    """
    return _Scanner(text).scan()


class _Scanner:
    """Walks over a valid document; what it need not know it does not check."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._starts = [0, *(found.end() for found in re.finditer("\n", text))]
        self._found = Positions()
        self._tables: dict[KeyPath, int] = {}  # how many tables an array of tables has so far

    def scan(self) -> Positions:
        table: KeyPath = ()
        self._skip(_BLANK)
        while self._at < len(self._text):
            if self._text[self._at] == "[":
                table = self._header()
            else:
                self._pair(table)
            self._skip(_BLANK)
        return self._found

    def _header(self) -> KeyPath:
        start, brackets = self._at, 2 if self._text.startswith("[[", self._at) else 1
        self._at += brackets
        *above, (last, at) = self._key()
        self._at += brackets
        path: KeyPath = ()
        for name, place in above:
            path = (*path, name)
            self._implied(path, place)
            if path in self._tables:
                path = (*path, self._tables[path] - 1)
        path = (*path, last)
        if brackets == 1:
            self._put(path, at, start)
            return path
        number = self._tables.get(path, 0)
        self._tables[path] = number + 1
        if number == 0:
            self._put(path, at, start)
        path = (*path, number)
        self._put(path, at, start)
        return path

    def _pair(self, table: KeyPath) -> None:
        *above, (last, at) = self._key()
        path = table
        for name, place in above:
            path = (*path, name)
            self._implied(path, place)
        self._at += 1  # the equals sign
        self._skip(_BLANK)
        path = (*path, last)
        self._put(path, at, self._at)
        self._value(path)

    def _key(self) -> list[tuple[str, int]]:
        """The parts of a dotted key, each with its place; leaves the scanner at what follows."""
        parts: list[tuple[str, int]] = []
        while True:
            self._skip(_BLANK)
            start = self._at
            if self._text[start] in "\"'":
                self._skip(_STRINGS[self._text[start]])
                parts.append((_unquoted(self._text[start : self._at]), start))
            else:
                self._skip(_BARE_KEY)
                parts.append((self._text[start : self._at], start))
            self._skip(_BLANK)
            if self._text[self._at] != ".":
                return parts
            self._at += 1

    def _value(self, path: KeyPath) -> None:
        match self._text[self._at]:
            case "[":
                self._array(path)
            case "{":
                self._inline_table(path)
            case '"' | "'" as quote:
                long = quote * 3
                self._skip(_STRINGS[long if self._text.startswith(long, self._at) else quote])
            case _:
                self._skip(_BARE_VALUE)

    def _array(self, path: KeyPath) -> None:
        number = 0
        while not self._closes("]"):
            item = (*path, number)
            self._put(item, self._at, self._at)
            self._value(item)
            number += 1

    def _inline_table(self, path: KeyPath) -> None:
        while not self._closes("}"):
            self._pair(path)

    def _closes(self, bracket: str) -> bool:
        """Step over the opening bracket, or the comma after an item; whether the closing one follows, and over it."""
        self._skip(_BLANK)
        if self._text[self._at] in "[{,":
            self._at += 1
            self._skip(_BLANK)
        if self._text[self._at] != bracket:
            return False
        self._at += 1
        return True

    def _skip(self, pattern: re.Pattern[str]) -> None:
        found = pattern.match(self._text, self._at)
        if found is None or (found.end() == self._at and pattern is not _BLANK):
            raise ValueError(f"no TOML at character {self._at}")  # rather than a loop without an end
        self._at = found.end()

    def _implied(self, path: KeyPath, at: int) -> None:
        if path not in self._found.values:
            self._put(path, at, at)

    def _put(self, path: KeyPath, key: int, value: int) -> None:
        self._found.keys[path] = self._position(key)
        self._found.values[path] = self._position(value)

    def _position(self, at: int) -> Position:
        line = bisect_right(self._starts, at)
        return Position(line, at - self._starts[line - 1] + 1)


def _unquoted(key: str) -> str:
    if key[0] == "'" or "\\" not in key:
        return key[1:-1]
    (plain,) = tomllib.loads(f"{key} = 0")  # what escapes mean, the parser knows
    return plain
