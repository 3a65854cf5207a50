"""The check of a history: what it takes, and what it says of what it does not take."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_express.messages import Json, Message, Text, ToolCall, ToolResult
from agent_express.testing import check_history

ASKED = Message("user", "hi")
ANSWERED = Message("assistant", "hello")


def calling(*ids: str, args: str = "{}") -> Message:
    return Message("assistant", [ToolCall(each, "look", args) for each in ids])


def results(*ids: str) -> Message:
    return Message("tool", [ToolResult("ok", call_id=each, name="look") for each in ids])


@pytest.mark.parametrize(
    "history",
    [
        [],
        [ASKED],
        [ASKED, ANSWERED],
        [ASKED, ASKED, ANSWERED, ASKED],
        [ASKED, calling("a", "b"), results("a", "b"), ANSWERED],
        [ASKED, calling("a"), results("a"), calling("a"), results("a")],
        [ASKED, calling("a"), results("a"), ASKED, ANSWERED],
        [ASKED, Message("assistant", [Text("Let me look."), ToolCall("a", "look")]), results("a")],
        [ASKED, calling("a"), Message("tool", [ToolResult("ok", call_id="a")])],
    ],
)
def test_a_valid_history_passes(history: Sequence[Message]) -> None:
    check_history(history)
    check_history(iter(history))


@pytest.mark.parametrize(
    ("history", "fault"),
    [
        ([ANSWERED], "message 0: the assistant speaks first, expected the user"),
        ([results("a")], "message 0: the tool speaks first, expected the user"),
        ([ASKED, ANSWERED, ANSWERED], "message 2: the assistant speaks twice in a row"),
        ([ASKED, calling("a")], "message 1: look (a) have no results: nothing follows"),
        ([ASKED, calling("a"), ASKED], "message 1: look (a) have no results: user 'hi' follows"),
        ([ASKED, results("a")], "message 1: results of no call: before it stands user 'hi'"),
        (
            [ASKED, calling("a"), results("a"), results("a")],
            "message 3: results of no call: before it stands 1 tool result",
        ),
        (
            [ASKED, calling("a", "b"), results("a")],
            "message 2: results of look (a), expected one each of look (a), look (b), in this order",
        ),
        (
            [ASKED, calling("a", "b"), results("b", "a")],
            "message 2: results of look (b), look (a), expected one each of look (a), look (b), in this order",
        ),
        (
            [ASKED, calling("a"), results("a", "a")],
            "message 2: results of look (a), look (a), expected one each of look (a), in this order",
        ),
        (
            [ASKED, calling("a"), Message("tool", [ToolResult("ok", call_id="a", name="other")])],
            "message 2: results of other (a) to calls of look (a)",
        ),
        ([ASKED, calling(""), results("")], "message 1: the call of 'look' has no id"),
        ([ASKED, calling("a", "a"), results("a", "a")], "message 1: the id 'a' stands for 2 calls"),
        (
            [ASKED, calling("a", args='{"a": "x'), results("a")],
            "message 1: the arguments of 'look' (a) are '{\"a\": \"x': not JSON (",
        ),
        (
            [ASKED, calling("a", args="[1]"), results("a")],
            "message 1: the arguments of 'look' (a) are '[1]': a JSON list, expected an object",
        ),
        (
            [ASKED, calling("a", args='{"n": NaN}'), results("a")],
            "message 1: the arguments of 'look' (a) are '{\"n\": NaN}': not JSON (NaN is not JSON)",
        ),
        ([Message("user", [ToolCall("a", "look")])], "message 0: a tool call said by the user"),
        ([Message("user", [ToolResult("ok", call_id="a")])], "message 0: a tool_result in a message of the role user"),
        (
            [ASKED, calling("a"), Message("tool", [ToolResult("ok", call_id="a"), Text("x")])],
            "message 2: a text in a message of the role tool",
        ),
        ([Message("user", "\ud800")], "message 0: cannot be written as JSON: "),
        ([Message("user", [Json(float("nan"))])], "message 0: cannot be written as JSON: "),
        ([Message("user", [Json({1, 2})])], "message 0: cannot be written as JSON: "),
    ],
)
def test_what_a_provider_would_refuse_is_named(history: Sequence[Message], fault: str) -> None:
    with pytest.raises(AssertionError) as caught:
        check_history(history)
    assert any(line.startswith(fault) for line in str(caught.value).splitlines()), str(caught.value)


def test_all_faults_are_told_and_the_history_is_shown() -> None:
    with pytest.raises(AssertionError) as caught:
        check_history([ANSWERED, calling("a", "b"), results("b", "a"), ANSWERED])
    assert str(caught.value).splitlines() == [
        "no provider would take this history:",
        "message 0: the assistant speaks first, expected the user",
        "message 1: the assistant speaks twice in a row",
        "message 2: results of look (b), look (a), expected one each of look (a), look (b), in this order",
        "the history:",
        "  0  assistant 'hello'",
        "  1  assistant calls look+look",
        "  2  2 tool results",
        "  3  assistant 'hello'",
    ]


IDS = st.lists(st.sampled_from("abcdef"), min_size=1, max_size=3, unique=True)
STEPS = IDS.map(lambda ids: [calling(*ids), results(*ids)])
TURNS = st.lists(STEPS, max_size=3).map(lambda steps: [ASKED, *chain.from_iterable(steps), ANSWERED])
HISTORIES = st.lists(TURNS, min_size=1, max_size=3).map(lambda turns: list(chain.from_iterable(turns)))


@given(HISTORIES, st.data())
def test_a_history_passes_until_a_call_or_a_result_is_taken_out_or_doubled(
    history: list[Message], data: st.DataObject
) -> None:
    check_history(history)
    places = [n for n, message in enumerate(history) if message.role == "tool" or message.tool_calls]
    if not places:
        return
    n = data.draw(st.sampled_from(places))
    for changed in ([*history[:n], *history[n + 1 :]], [*history[: n + 1], *history[n:]]):
        with pytest.raises(AssertionError, match="no provider would take this history"):
            check_history(changed)
