"""Assertions on events, and the text a client was left with."""

from __future__ import annotations

import pytest

from agent_express.events import (
    End,
    Event,
    ModelCalled,
    ModelResponded,
    Restarted,
    TextDelta,
    ToolReturned,
    TurnEnded,
    TurnStarted,
)
from agent_express.messages import Message, ModelResponse, ToolResult
from agent_express.testing import assert_events, like, names, text_of

STARTED = TurnStarted("t-1", 0)
ENDED = TurnEnded("t-1", "completed")
RESPONDED = ModelResponded(0, ModelResponse(Message("assistant", "fine")))
END = End(Message("assistant", "fine"))


def returned(name: str, how: str = "ran") -> ToolReturned:
    return ToolReturned("0.0.0", "c-1", name, ToolResult("ok"), how)  # type: ignore[arg-type]


def inside(path: str, event: Event) -> Event:
    event.path = path
    return event


def test_expected_events_are_found_in_order_with_others_between() -> None:
    events: list[Event | End[Message]] = [STARTED, returned("a"), returned("b", "denied"), ENDED, END]
    found = assert_events(
        events,
        TurnStarted,
        like(ToolReturned, how="denied"),
        TurnEnded("t-1", "completed"),
        like(End, result=END.result),
    )
    assert found == [events[0], events[2], events[3], events[4]]


def test_an_event_is_equal_to_one_that_was_logged() -> None:
    logged = TurnStarted("t-1", 0)
    logged.position, logged.at, logged.id = 3, 1.5, 7
    assert assert_events([logged], STARTED) == [logged]


def test_a_class_also_stands_for_those_below_it() -> None:
    assert assert_events([TextDelta("a"), STARTED], Event, Event) == [TextDelta("a"), STARTED]


def test_an_event_in_the_wrong_place_is_missing_and_the_nearest_one_is_named() -> None:
    events = [STARTED, returned("weather"), returned("clock", "failed"), ENDED]
    with pytest.raises(AssertionError) as caught:
        assert_events(events, TurnStarted, like(ToolReturned, name="clock", how="ran"), TurnEnded)
    assert str(caught.value).splitlines() == [
        "event 2 of 3 did not happen after event 0: ToolReturned(name='clock', how='ran')",
        "nearest is event 1: name is 'weather'",
        "what happened:",
        "  0  TurnStarted(turn_id='t-1', index=0, stack=(), metadata=None)  = expected 1",
        f"  1  {returned('weather')}",
        f"  2  {returned('clock', 'failed')}",
        "  3  TurnEnded(turn_id='t-1', status='completed', reason=None, by=None, output=None)",
    ]


def test_order_counts() -> None:
    with pytest.raises(AssertionError, match="event 2 of 2 did not happen after event 1: TurnStarted"):
        assert_events([STARTED, ENDED], TurnEnded, TurnStarted)


def test_one_event_cannot_stand_for_two_expected_ones() -> None:
    with pytest.raises(AssertionError, match="event 2 of 2 did not happen after event 0"):
        assert_events([STARTED], TurnStarted, TurnStarted)


def test_nothing_happened_is_said() -> None:
    with pytest.raises(AssertionError, match="event 1 of 1 did not happen: TurnStarted\nnothing happened"):
        assert_events([], TurnStarted)


def test_long_events_are_cut_in_the_account() -> None:
    with pytest.raises(AssertionError) as caught:
        assert_events([TextDelta("x" * 500)], TurnStarted)
    assert max(len(line) for line in str(caught.value).splitlines()) < 220


def test_a_field_that_does_not_exist_is_refused_where_it_is_written() -> None:
    with pytest.raises(TypeError, match="ToolReturned has no field 'hwo'; it has key, call_id, name, result, how, by"):
        like(ToolReturned, hwo="ran")


def test_names_are_the_shortest_account() -> None:
    assert names([STARTED, TextDelta("a"), END]) == ["TurnStarted", "TextDelta", "End"]


# --- text ---------------------------------------------------------------------------------------


def test_the_text_is_what_was_streamed() -> None:
    assert text_of([STARTED, TextDelta("Hel"), TextDelta("lo"), RESPONDED, ENDED, END]) == "Hello"


def test_a_model_call_that_restarts_discards_its_text_and_not_that_of_earlier_steps() -> None:
    events = [
        STARTED,
        TextDelta("Let me look. "),
        RESPONDED,
        returned("look"),
        TextDelta("Hel"),
        Restarted("retry", 2),
        TextDelta("Hello"),
        RESPONDED,
    ]
    assert text_of(events) == "Let me look. Hello"


def test_an_internal_model_call_ends_nothing() -> None:
    summary = ModelResponded(-1, RESPONDED.response, purpose="summary")
    assert text_of([TextDelta("Hel"), summary, Restarted("retry", 2), TextDelta("Hello")]) == "Hello"


def test_a_turn_that_restarts_discards_the_text_of_this_turn_only() -> None:
    events = [STARTED, TextDelta("one "), RESPONDED, ENDED]
    again = [STARTED, TextDelta("draft"), RESPONDED, Restarted("judge", 2, "turn"), TextDelta("two"), RESPONDED]
    assert text_of([*events, *again]) == "one two"


def test_a_tool_that_restarts_leaves_the_text_alone() -> None:
    assert text_of([TextDelta("a"), Restarted("retry", 2, "tool")]) == "a"


def test_nested_agents_have_a_text_of_their_own() -> None:
    events: list[Event] = [
        TextDelta("outer "),
        inside("reader", TextDelta("lost")),
        inside("reader", Restarted("retry", 2)),
        inside("reader", TextDelta("inner")),
        inside("reader", ModelCalled(0, "m", {})),
        TextDelta("text"),
    ]
    assert text_of(events) == "outer text"
    assert text_of(events, path="reader") == "inner"
