from __future__ import annotations

from datetime import date
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_express_offline.reading.dates import iso_date, iso_moment, iso_time, resolve_day, today_in
from agent_express_offline.reading.joining import join
from agent_express_offline.reading.tokens import scan, single


def kinds(text: str) -> list[tuple[str, object]]:
    return [(token.kind, token.value) for token in join(scan(text, 100)) if token.kind not in ("word", "mark")]


@pytest.mark.parametrize(
    ("text", "kind", "value"),
    [
        ('"two words"', "quoted", "two words"),
        ("'it is'", "quoted", "it is"),
        ("“curly”", "quoted", "curly"),
        ("`code`", "quoted", "code"),
        ("README.md", "path", "README.md"),
        ("src/a.py", "path", "src/a.py"),
        (".", "path", "."),
        ("../x", "path", "../x"),
        (".gitignore", "path", ".gitignore"),
        (r"C:\temp\a.txt", "path", r"C:\temp\a.txt"),
        ("*.py", "glob", "*.py"),
        ("**/*.md", "glob", "**/*.md"),
        ("https://example.org/a?b=c", "url", "https://example.org/a?b=c"),
        ("example.org", "url", "example.org"),
        ("ann@example.org", "email", "ann@example.org"),
        ("42", "number", 42),
        ("-3.5", "number", -3.5),
        ("1,024", "number", 1024),
        ("$20", "number", 20),
        ("50%", "number", 50),
        ("10km", "number", 10),
        ("10-20", "range", (10, 20)),
        ("2026-03-01", "date", "2026-03-01"),
        ("14:30", "time", "14:30:00"),
        ("2pm", "time", "14:00:00"),
        ("2026-03-01T14:30", "moment", "2026-03-01T14:30:00"),
        ("A-1042", "id", "A-1042"),
        ("#1042", "id", "1042"),
    ],
)
def test_a_value_is_known_by_the_way_it_is_written(text: str, kind: str, value: object) -> None:
    assert kinds(text) == [(kind, value)]


@pytest.mark.parametrize("text", ["and/or", "24/7", "e.g.", "**bold**", "it's", "word", "--flag", "2nd", "a" * 5000])
def test_what_only_looks_like_a_value_is_a_word(text: str) -> None:
    token = single(text.rstrip("."))
    assert token is None or token.kind == "word" or len(text) > 1000


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Read README.md, please.", [("path", "README.md")]),
        ("README.md's lines", [("path", "README.md")]),
        ("(see notes.txt)", [("path", "notes.txt")]),
        ("path=notes.txt", [("path", "notes.txt")]),
        ("2+3", [("number", 2), ("number", 3)]),
        ("a 7-day trip", [("number", 7)]),
        ("on March 1, 2026", [("date", "2026-03-01")]),
        ("1st of March 2026", [("date", "2026-03-01")]),
        ("on 1 March", [("day", None)]),
        ("next friday", [("day", None)]),
        ("at 2 pm", [("time", "14:00:00")]),
        ("2026-03-01 at 14:30", [("moment", ("2026-03-01", "2026-03-01", "14:30:00"))]),
        ("lines 3 to 5", [("range", (3, 5))]),
        ("from 3 to 5", [("number", 3), ("number", 5)]),
        ("```python\nx = 1\n```", [("quoted", "x = 1\n")]),
        ('an "open quote', []),
    ],
)
def test_signs_around_a_value_and_values_of_several_words_are_told_apart(text: str, expected: list[object]) -> None:
    assert kinds(text) == expected


@given(st.text())
def test_tokens_stand_in_order_inside_of_the_text(text: str) -> None:
    tokens = scan(text, 1000)
    assert all(0 <= token.start <= token.end <= len(text) for token in tokens)
    assert all(first.end <= second.start for first, second in pairwise(tokens))


@given(st.text(), st.integers(0, 5))
def test_no_more_tokens_are_read_than_asked_for(text: str, limit: int) -> None:
    assert scan(text, limit) == scan(text, 10_000)[:limit] or len(scan(text, limit)) < limit


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("2026-02-30", None),
        ("31.12.2026", "2026-12-31"),
        ("13/12/2026", "2026-12-13"),
        ("12/13/2026", "2026-12-13"),
        ("03/04/2026", None),
        ("04/04/2026", "2026-04-04"),
    ],
)
def test_a_date_that_does_not_exist_or_has_two_readings_is_no_date(text: str, value: str | None) -> None:
    assert iso_date(text) == value


def test_a_time_needs_its_half_of_the_day_or_two_digits_of_minutes() -> None:
    assert iso_time("12am") == "00:00:00"
    assert iso_time("12:15 pm") == "12:15:00"
    assert iso_time("noon") == "12:00:00"
    assert iso_time("13pm") is None
    assert iso_time("25:00") is None
    assert iso_time("14") is None
    assert iso_moment("2026-03-01T14:30Z") == "2026-03-01T14:30:00Z"
    assert iso_moment("2026-03-32T14:30") is None


@pytest.mark.parametrize(
    ("words", "value"),
    [
        ("today", "2026-03-01"),
        ("tomorrow", "2026-03-02"),
        ("yesterday", "2026-02-28"),
        ("sunday", "2026-03-08"),
        ("next monday", "2026-03-02"),
        ("1 March", "2026-03-01"),
        ("28 february", "2027-02-28"),
        ("30 february", None),
        ("someday", None),
        ("", None),
    ],
)
def test_relative_days_are_counted_from_the_day_that_is_given(words: str, value: str | None) -> None:
    assert resolve_day(words, date(2026, 3, 1)) == value
    assert resolve_day(words, None) is None


def test_a_day_past_the_end_of_the_calendar_is_no_day() -> None:
    assert resolve_day("tomorrow", date.max) is None


def test_the_system_prompt_may_state_what_day_it_is() -> None:
    assert today_in("You are kind. Today is 2026-03-01.") == date(2026, 3, 1)
    assert today_in("Today is Sunday, 2026-03-01.") == date(2026, 3, 1)
    assert today_in("Today is 2026-13-01.") is None
    assert today_in("Be brief.") is None
