from __future__ import annotations

from io import BytesIO

import pytest

from agent_express_cli.exits import CommandError, Exit
from agent_express_cli.talking.said import LONGEST, said


@pytest.mark.parametrize(
    ("words", "piped", "text"),
    [
        (["hello"], b"", "hello"),
        (["good", "morning"], b"not read", "good morning"),
        ([], b"piped\n", "piped\n"),
        (["-"], b"piped", "piped"),
        (["Explain", "this:", "-"], b"x = 1\n", "Explain this:\n\nx = 1\n"),
        (["-", "is this right?"], b"x = 1", "x = 1\n\nis this right?"),
        (["-"], b"\xef\xbb\xbfwith a mark", "with a mark"),
    ],
)
def test_words_and_what_comes_through_the_pipe_are_joined(words: list[str], piped: bytes, text: str) -> None:
    assert said(words, BytesIO(piped), is_terminal=False) == text


@pytest.mark.parametrize(("words", "piped"), [([], b""), ([""], b""), (["-"], b" \n"), ([" "], b"not read")])
def test_nothing_said_is_refused(words: list[str], piped: bytes) -> None:
    with pytest.raises(CommandError, match="nothing was said") as refused:
        said(words, BytesIO(piped), is_terminal=False)
    assert refused.value.code is Exit.USAGE


def test_a_keyboard_is_not_waited_for() -> None:
    with pytest.raises(CommandError, match="nothing was said"):
        said([], BytesIO(b"typed later"), is_terminal=True)


def test_no_more_is_read_than_a_model_can_take() -> None:
    assert len(said(["-"], BytesIO(b"x" * LONGEST), is_terminal=False)) == LONGEST
    endless = BytesIO(b"x" * (LONGEST * 2))
    with pytest.raises(CommandError, match="longer than 4,000,000 bytes"):
        said(["-"], endless, is_terminal=False)
    assert endless.tell() == LONGEST + 1


def test_what_is_not_utf_8_is_named_by_its_byte() -> None:
    with pytest.raises(CommandError, match="byte 2 is 0xff"):
        said(["-"], BytesIO(b"ab\xff"), is_terminal=False)
