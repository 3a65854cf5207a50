from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_express_offline.reading.commands import MAX_COMMANDS, parse


def texts(message: str, *verbs: str) -> list[str]:
    return [command.text for command in parse(message, verbs).items]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Read a.txt. Read b.txt!", ["Read a.txt", "Read b.txt"]),
        ("Read a.txt, then count its lines", ["Read a.txt", "count its lines"]),
        ("Read a.txt and count its lines", ["Read a.txt", "count its lines"]),
        ("Read a.txt and b.txt", ["Read a.txt and b.txt"]),
        ("Read a.txt, and how many lines does it have?", ["Read a.txt", "how many lines does it have"]),
        ("- read a.txt\n- read b.txt", ["read a.txt", "read b.txt"]),
        ("1. read a.txt\n2) read b.txt", ["read a.txt", "read b.txt"]),
        ("Read the file\nnotes.txt", ["Read the file notes.txt"]),
        ("Read a.txt\nCount b.txt", ["Read a.txt", "Count b.txt"]),
        ('Write "read a.txt, then stop. Done" to b.txt', ['Write "read a.txt, then stop. Done" to b.txt']),
        ("Could you please first read a.txt and then also count b.txt?", ["read a.txt", "count b.txt"]),
        ("I'd like you to read a.txt", ["read a.txt"]),
        ("Do this: read a.txt", ["Do this", "read a.txt"]),
        ("Write to a.txt: hello there", ["Write to a.txt: hello there"]),
        ("New task: call Ann and read the news", ["New task: call Ann and read the news"]),
        ("New task: call Ann, then read the news", ["New task: call Ann", "read the news"]),
        ("", []),
        (" \n ... !!! \n", []),
    ],
)
def test_a_message_is_cut_where_a_new_command_begins(message: str, expected: list[str]) -> None:
    assert texts(message) == expected


def test_the_first_word_of_an_offered_tool_begins_a_command_too() -> None:
    assert texts("Read a.txt and frobnicate b.txt") == ["Read a.txt and frobnicate b.txt"]
    assert texts("Read a.txt and frobnicate b.txt", "frobnicate") == ["Read a.txt", "frobnicate b.txt"]


@pytest.mark.parametrize(
    ("message", "manner"),
    [
        ("read a.txt", "order"),
        ("hello there", "greeting"),
        ("Thanks!", "greeting"),
        ("What can you do?", "help"),
        ("please help", "help"),
        ("Don't read a.txt", "negated"),
        ("Please do not read a.txt", "negated"),
        ("never read a.txt", "negated"),
        ("If it rains, read a.txt", "conditional"),
        ("Read a.txt unless it rains", "conditional"),
        ("I read a.txt", "statement"),
        ("we deleted a.txt", "statement"),
        ("I want to read a.txt", "order"),
        ("can you check if a.txt is there", "order"),
    ],
)
def test_how_something_is_said_decides_whether_it_may_be_done(message: str, manner: str) -> None:
    assert [command.manner for command in parse(message).items] == [manner]


def test_a_condition_covers_its_whole_sentence_and_no_other() -> None:
    commands = parse("If it rains, read a.txt, then delete b.txt. Read c.txt.").items
    assert [command.manner for command in commands] == ["conditional", "order"]


@pytest.mark.parametrize(
    ("message", "asks"),
    [
        ("delete a.txt", False),
        ("can you delete a.txt?", False),
        ("can I delete a.txt?", True),
        ("how to delete it", True),
    ],
)
def test_a_question_is_known_as_one(message: str, asks: bool) -> None:
    assert [command.asks for command in parse(message).items] == [asks]


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("Save this to a.txt:\nDelete b.txt.\n\nRead c.txt.", ["Save this to a.txt: Delete b.txt. Read c.txt."]),
        (
            "Explain this change:\ndiff --git a b\n- delete b.txt\n",
            ["Explain this change: diff --git a b - delete b.txt"],
        ),
        ("Do this:\nread a.txt\nread b.txt", ["Do this", "read a.txt", "read b.txt"]),
        ("Complete these steps:\nread a.txt\nread b.txt", ["Complete these steps", "read a.txt", "read b.txt"]),
        (
            "I need the following from you:\n- read a.txt\n- read b.txt",
            ["the following from you", "read a.txt", "read b.txt"],
        ),
    ],
)
def test_a_text_that_is_handed_over_below_a_colon_holds_no_commands(message: str, expected: list[str]) -> None:
    assert texts(message) == expected


def test_then_says_that_a_command_comes_after_the_ones_before() -> None:
    assert [command.after for command in parse("read a.txt, then read b.txt and read c.txt").items] == [
        False,
        True,
        False,
    ]


def test_a_message_with_more_commands_than_are_read_says_so() -> None:
    commands = parse("read a.txt. " * (MAX_COMMANDS + 1))
    assert len(commands.items) == MAX_COMMANDS
    assert commands.cut
    assert not parse("read a.txt. " * MAX_COMMANDS).cut


def test_a_message_with_more_words_than_are_read_says_so() -> None:
    assert parse("word " * 4001).cut
    assert not parse("word " * 4000).cut


@given(st.text())
def test_any_text_is_read_and_no_command_is_empty(text: str) -> None:
    for command in parse(text).items:
        assert command.tokens
        assert len(command.text) <= 120
        assert "\n" not in command.text
