from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_express_cli.words import arguments, count, one_line, printable, shorten

anything = st.text(st.characters(exclude_categories=[]))
rooms = st.integers(40, 200)


@given(anything)
def test_no_text_can_steer_a_terminal(text: str) -> None:
    controls = {each for each in printable(text) if unicodedata.category(each) == "Cc"}
    assert controls <= {"\n", "\t"}


@given(anything, rooms)
def test_a_line_is_one_line_and_fits(text: str, room: int) -> None:
    line = one_line(text, room)
    assert len(line.splitlines()) <= 1
    assert len(line) <= room


@given(st.dictionaries(st.text(min_size=1), st.none() | st.integers() | anything | st.lists(anything)), rooms)
def test_arguments_are_one_line_and_fit(args: dict[str, object], room: int) -> None:
    written = arguments(args, room)
    assert len(written.splitlines()) <= 1
    assert len(written) <= room


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("short", "short"),
        ("", ""),
        ("two\nlines", "two … (2 lines)"),
        ("  a   b\t c ", "a b c"),
        ("x" * 50, "x" * 39 + "…"),
    ],
)
def test_a_result_is_cut_to_its_beginning(text: str, line: str) -> None:
    assert one_line(text, 40) == line


def test_arguments_read_like_a_call_and_long_values_are_cut() -> None:
    assert arguments({"path": "README.md", "limit": 3, "deep": True}, 80) == 'path="README.md", limit=3, deep=true'
    assert arguments({"text": "x" * 100, "path": "a"}, 200) == f'text="{"x" * 57}…", path="a"'


def test_what_fits_is_left_alone() -> None:
    assert (shorten("abc", 3), shorten("abcd", 3), shorten("abc", 0)) == ("abc", "ab…", "…")


def test_numbers_agree_with_their_noun() -> None:
    assert (count(1, "line"), count(0, "line"), count(1200, "token")) == ("1 line", "0 lines", "1,200 tokens")
