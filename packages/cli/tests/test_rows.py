from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_express_cli.talking.rows import rows_of

texts = st.text(st.sampled_from(["a", "b", " ", "\n", "\t", "日", "é"]))


@given(text=texts, width=st.integers(2, 12))
def test_a_text_fills_as_many_rows_as_a_terminal_gives_it(small_terminal: Any, text: str, width: int) -> None:
    terminal = small_terminal(width)
    terminal.write(text)
    assert rows_of(text, width) == terminal.row + 1


@pytest.mark.parametrize(
    ("text", "rows"),
    [("", 1), ("abcd", 1), ("abcde", 2), ("日本", 1), ("日本語", 2), ("abc日", 2), ("\n", 2), ("abcd\n", 2)],
)
def test_the_cursor_stays_on_a_full_row_until_something_follows(text: str, rows: int) -> None:
    assert rows_of(text, 4) == rows
