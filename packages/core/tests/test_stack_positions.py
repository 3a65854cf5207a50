"""Where keys and values of a TOML document stand: against documents that are written with their places noted."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_express.stack import KeyPath, Position, find_positions

BLANKS = st.sampled_from(["", " ", "\t", "  "])
BREAKS = st.sampled_from(["\n", "\n\n", " # a [comment] = \"no\" 'value'\n", "\n\t# ]]\n", " \n"])
INNER = st.sampled_from(["", " ", "\n", "\n  # ], } = \n  ", "\t"])
WORDS = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), max_size=6)


def basic(text: str) -> str:
    """As a basic string."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


@dataclass
class Writer:
    """Writes a document and notes where everything stands."""

    draw: st.DrawFn
    text: str = ""
    keys: dict[KeyPath, Position] = field(default_factory=dict)
    values: dict[KeyPath, Position] = field(default_factory=dict)
    count: int = 0

    @property
    def here(self) -> Position:
        lines = self.text.split("\n")
        return Position(len(lines), len(lines[-1]) + 1)

    def put(self, text: str) -> None:
        self.text += text

    def blank(self) -> None:
        self.put(self.draw(BLANKS))

    def key(self) -> str:
        """Write a new key and return it; no two are alike, so that no document is refused."""
        self.count += 1
        word = f"{self.draw(WORDS)}{self.count}"
        form = self.draw(st.sampled_from(["bare", "basic", "literal", "escaped"]))
        if form == "bare":
            word = f"k-{self.count}_{self.draw(st.sampled_from(['', 'A', '0']))}"
            self.put(word)
        elif form == "literal" and "'" not in word:
            self.put(f"'{word}'")
        elif form == "escaped":
            word = f'{word}\n"\\é'
            self.put(json.dumps(word).replace("\x7f", "\\u007f") if word.isascii() else basic(word))
        else:
            self.put(basic(word))
        return word

    def dotted(self, table: KeyPath) -> KeyPath:
        """Write a key of one to three parts; those in front are tables that nothing else names."""
        path = table
        for last in [False] * self.draw(st.integers(0, 2)) + [True]:
            at = self.here
            path = (*path, self.key())
            self.keys[path] = at
            if not last:
                self.values[path] = at
                self.blank()
                self.put(".")
                self.blank()
        return path

    def pair(self, table: KeyPath, depth: int) -> None:
        path = self.dotted(table)
        self.blank()
        self.put("=")
        self.blank()
        self.value(path, depth)

    def value(self, path: KeyPath, depth: int) -> None:
        self.values[path] = self.here
        kinds = ["bare", "string", "long"] + (["array", "table"] if depth < 3 else [])
        match self.draw(st.sampled_from(kinds)):
            case "bare":
                self.put(self.draw(st.sampled_from(BARE)))
            case "string":
                self.put(self.draw(st.sampled_from(STRINGS)))
            case "long":
                self.put(self.draw(st.sampled_from(LONG)))
            case "array":
                self.array(path, depth + 1)
            case _:
                self.table(path, depth + 1)

    def array(self, path: KeyPath, depth: int) -> None:
        self.put("[")
        size = self.draw(st.integers(0, 3))
        for number in range(size):
            self.put(self.draw(INNER))
            self.keys[(*path, number)] = self.here
            self.value((*path, number), depth)
            self.put(self.draw(INNER))
            if number < size - 1 or self.draw(st.booleans()):
                self.put(",")
        self.put(self.draw(INNER) + "]")

    def table(self, path: KeyPath, depth: int) -> None:
        self.put("{")
        size = self.draw(st.integers(0, 3))
        for number in range(size):
            self.blank()
            self.pair(path, depth)
            self.blank()
            if number < size - 1:
                self.put(",")
        self.put("}")

    def header(self, arrays: dict[KeyPath, int]) -> KeyPath:
        """Write the header of a new table, or of one more table of an array; inside of a table of an array, sometimes.

        *arrays* are the arrays of tables so far, by path, with the number of their tables.
        """
        open_ones = [path for path in arrays if is_open(path, arrays)]
        start, above = self.here, self.draw(st.sampled_from([(), *open_ones]))
        is_array, again = self.draw(st.booleans()), bool(above) and self.draw(st.booleans())
        self.put("[[" if is_array or again else "[")
        for name in (part for part in above[:-1] if isinstance(part, str)):
            self.put(f"{basic(name)} . ")
        if again:
            path, at = above, self.here
            self.put(basic(str(above[-1])))
        else:
            if above:
                self.put(f"{basic(str(above[-1]))}.")
                above = (*above, arrays[above] - 1)
            at = self.here
            path = (*above, self.key())
            self.keys[path], self.values[path] = at, start
        if is_array or again:
            arrays[path] = arrays.get(path, 0) + 1
            path = (*path, arrays[path] - 1)
            self.keys[path], self.values[path] = at, start
        self.put("]]" if is_array or again else "]")
        return path


def is_open(path: KeyPath, arrays: dict[KeyPath, int]) -> bool:
    """Whether a header can still reach an array: it goes to the last table of each array on the way."""
    return all(arrays[path[:at]] - 1 == part for at, part in enumerate(path) if isinstance(part, int))


BARE = ["1", "-0.5", "true", "0xdead_beef", "inf", "1979-05-27T07:32:00Z", "1979-05-27 07:32:00", "07:32:00"]
STRINGS = [basic('a "quoted" [text] # no comment'), "'C:\\temp ]'", "''", '""', '"\\\\"', '"é 🎈 \\u00e9"']
LONG = [
    '"""\ntwo\nlines # ] """',
    '"""ends in two quotes"""""',
    '"""one " two "" and \\""" escaped"""',
    '"""\\\\"""',
    "'''\nraw \\ 'one' ''two''\n'''",
    "'''ends in two'''''",
    '""""""',
]


@st.composite
def documents(draw: st.DrawFn) -> Writer:
    writer, arrays = Writer(draw), dict[KeyPath, int]()
    table: KeyPath = ()
    for _ in range(draw(st.integers(0, 8))):
        writer.blank()
        if draw(st.booleans()):
            table = writer.header(arrays)
        else:
            writer.pair(table, 0)
        writer.put(draw(BREAKS))
    return writer


def paths(value: Any, path: KeyPath = ()) -> Iterator[KeyPath]:
    """The path of every value in parsed data."""
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in items:
        yield from paths(each, (*path, key))


@given(documents())
def test_every_key_and_value_is_found_where_it_was_written(document: Writer) -> None:
    found = find_positions(document.text)
    assert found.keys == document.keys
    assert found.values == document.values


@given(documents())
def test_what_has_a_place_is_what_the_parser_reads(document: Writer) -> None:
    found = find_positions(document.text)
    assert set(found.values) == set(found.keys) == set(paths(tomllib.loads(document.text)))


@given(st.data())
def test_whatever_else_the_parser_takes_has_its_places_too(data: st.DataObject) -> None:
    text = SAMPLE
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        new = data.draw(
            st.sampled_from(['"', "'", "[", "]", "{", "}", ",", ".", "=", "#", "\n", " ", "\\", "a", "1", '"""'])
        )
        text = text[:at] + new + text[at + data.draw(st.integers(0, 2)) :]
    try:
        parsed = tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return
    found = find_positions(text)
    assert set(found.values) == set(found.keys) == set(paths(parsed))


SAMPLE = """\
title = "x"

[agent]
model = { plugin = "openai", config = { timeout = 3 } }

[[use]]
plugin = "a.b"
config.limit = 5
[use.config.inner]
deep = [1, [2,
  3]]
[[use]]
plugin = "c.d"
[profile.dev.agent]
"""


@pytest.mark.parametrize(
    ("path", "key", "value"),
    [
        (("title",), (1, 1), (1, 9)),
        (("agent",), (3, 2), (3, 1)),
        (("agent", "model", "config", "timeout"), (4, 41), (4, 51)),
        (("use",), (6, 3), (6, 1)),
        (("use", 0, "config"), (8, 1), (8, 1)),
        (("use", 0, "config", "limit"), (8, 8), (8, 16)),
        (("use", 0, "config", "inner", "deep", 1, 1), (11, 3), (11, 3)),
        (("use", 1), (12, 3), (12, 1)),
        (("use", 1, "plugin"), (13, 1), (13, 10)),
        (("profile", "dev"), (14, 10), (14, 10)),
        (("profile", "dev", "agent"), (14, 14), (14, 1)),
    ],
)
def test_a_table_stands_at_its_header_and_a_key_at_its_first_letter(
    path: KeyPath, key: tuple[int, int], value: tuple[int, int]
) -> None:
    found = find_positions(SAMPLE)
    assert (found.key(path), found.value(path)) == (Position(*key), Position(*value))


def test_what_is_not_written_stands_where_it_would() -> None:
    found = find_positions(SAMPLE)
    assert found.value(("use", 1, "config", "limit")) == Position(12, 1)
    assert found.key(("agent", "name")) == Position(3, 1)
    assert found.value(("nothing",)) == Position(0, 0)


def test_a_header_counts_more_than_a_table_that_its_children_imply() -> None:
    found = find_positions("[a.b]\nx = 1\n[a]\ny = 2\n")
    assert found.value(("a",)) == Position(3, 1)
    assert found.key(("a",)) == Position(3, 2)
