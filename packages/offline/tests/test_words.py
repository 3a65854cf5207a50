from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_express_offline.reading.words import clean, related, shorten, split, stem, stems


@pytest.mark.parametrize("name", ["read_file", "readFile", "ReadFile", "read-file", "read file", "READ_FILE"])
def test_names_are_cut_into_the_same_words_however_they_are_spelled(name: str) -> None:
    assert split(name) == ["read", "file"]


@pytest.mark.parametrize(
    "forms",
    [
        ("file", "files"),
        ("list", "lists", "listing", "listed"),
        ("write", "writes", "writing", "written", "wrote"),
        ("city", "cities"),
        ("match", "matches"),
        ("create", "created", "creating"),
        ("run", "runs", "running"),
        ("add", "adding", "adds"),
        ("mention", "mentioned", "mentions"),
        ("translate", "translation"),
        ("cancel", "cancelled", "cancelling"),
        ("address", "addresses"),
        ("make", "makes", "making"),
        ("size", "sizes"),
        ("note", "notes", "noted"),
    ],
)
def test_the_forms_of_a_word_have_one_stem(forms: tuple[str, ...]) -> None:
    assert len({stem(form) for form in forms}) == 1


@pytest.mark.parametrize(("one", "other"), [("string", "str"), ("notes", "not"), ("need", "ne"), ("thing", "th")])
def test_different_words_keep_different_stems(one: str, other: str) -> None:
    assert stem(one) != stem(other)


def test_words_of_like_meaning_are_related_and_others_are_not() -> None:
    assert related(stem("open"), stem("read"))
    assert related(stem("plus"), stem("add"))
    assert not related(stem("delete"), stem("read"))
    assert not related(stem("zebra"), stem("giraffe"))


@given(st.text(st.characters(categories=["L", "N", "P", "Cs", "Cc"])))
def test_cleaned_text_can_be_written_down_anywhere(text: str) -> None:
    cleaned = clean(text)
    cleaned.encode()
    assert "\0" not in cleaned
    assert clean(cleaned) == cleaned


@given(st.text(), st.integers(2, 30))
def test_a_shortened_text_is_one_line_within_its_limit(text: str, limit: int) -> None:
    short = shorten(text, limit)
    assert len(short) <= limit
    assert short == " ".join(short.split())


@given(st.text())
def test_stems_are_made_of_any_text(text: str) -> None:
    assert all(stems(text))
