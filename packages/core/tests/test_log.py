"""The log: stamped, append-only, and the history that is read off it."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_express import Agent, Event, Message, ModelResponse, ToolCall, ToolResult
from agent_express.errors import EventError
from agent_express.events import (
    ContextCompacted,
    MessageInterrupted,
    ModelCalled,
    ModelResponded,
    ToolReturned,
    TurnContinued,
    TurnEnded,
    TurnStarted,
    UserSaid,
)
from agent_express.log import Log
from agent_express.testing import ScriptedModel, check_history


class Undeclared(Event, type="log:undeclared"):
    pass


def user(text: str) -> UserSaid:
    return UserSaid(Message("user", text))


def said(text: str) -> ModelResponded:
    return ModelResponded(0, ModelResponse(Message("assistant", text)))


def called(*ids: str) -> ModelResponded:
    return ModelResponded(0, ModelResponse(Message("assistant", [ToolCall(each, "add") for each in ids])))


def returned(id: str, text: str = "ok") -> ToolReturned:
    return ToolReturned(f"key-{id}", id, "add", ToolResult(text, call_id=id, name="add"))


def log_of(*events: Event) -> Log:
    log = Log()
    for event in events:
        log.append(event)
    return log


def texts(log: Log) -> list[str]:
    return [message.text for message in log.messages]


def test_append_stamps_position_time_and_an_id_that_rises() -> None:
    before = time.time()
    log = log_of(*[user(str(number)) for number in range(100)])
    assert [event.position for event in log] == list(range(100))
    assert [event.id for event in log] == sorted({event.id for event in log})
    assert all(before <= event.at <= time.time() for event in log)
    assert {event.uuid.version for event in log} == {7}


def test_ids_of_two_logs_differ() -> None:
    assert log_of(user("a"))[0].id != log_of(user("a"))[0].id


def test_an_event_is_logged_once() -> None:
    event = user("hi")
    log = log_of(event)
    with pytest.raises(EventError, match="UserSaid was logged before: make a new event for each time it happens"):
        log.append(event)
    assert len(log) == 1


def test_an_event_that_nobody_declared_is_refused_and_nothing_is_added() -> None:
    log = Log()
    with pytest.raises(EventError, match=r"Undeclared is declared by no middleware in use: list it in .*`events ="):
        log.append(Undeclared())
    assert len(log) == 0


def test_of_gives_the_entries_of_some_kinds_oldest_first() -> None:
    log = log_of(user("a"), said("b"), user("c"))
    assert [event.message.text for event in log.of(UserSaid)] == ["a", "c"]
    assert log.of(UserSaid, ModelResponded) == list(log)
    assert log.of(TurnEnded) == []


def test_the_history_holds_what_was_said_and_the_tool_traffic() -> None:
    log = log_of(user("add"), called("1", "2"), returned("1", "one"), returned("2", "two"), said("done"))
    check_history(log.messages)
    assert [message.role for message in log.messages] == ["user", "assistant", "tool", "assistant"]


def test_results_stand_in_the_order_of_the_calls_whatever_order_they_came_in() -> None:
    log = log_of(user("add"), called("1", "2"), returned("2", "two"), returned("1", "one"))
    assert [part.text for part in log.messages[-1].parts if isinstance(part, ToolResult)] == ["one", "two"]


def test_open_calls_show_a_placeholder_until_they_have_a_result() -> None:
    log = log_of(user("add"), called("1", "2"), returned("2", "two"))
    assert [each.id for each in log.open_calls] == ["1"]
    assert [part.text for part in log.messages[-1].parts if isinstance(part, ToolResult)] == ["(no result yet)", "two"]
    check_history(log.messages)


def test_the_same_call_id_in_a_later_batch_is_another_call() -> None:
    log = log_of(user("add"), called("call_0"), returned("call_0", "one"), called("call_0"), returned("call_0", "two"))
    results = [part.text for message in log.messages for part in message.parts if isinstance(part, ToolResult)]
    assert results == ["one", "two"]


def test_a_draft_that_was_sent_back_stays_and_is_marked_superseded() -> None:
    log = log_of(user("hi"), said("draft"), TurnContinued("guard", 1, Message("user", "better", origin="guard")))
    log.append(said("final"))
    assert texts(log) == ["hi", "draft", "better", "final"]
    assert [message.mark for message in log.messages] == ["", "superseded", "", ""]


def test_a_draft_that_is_asked_anew_without_a_message_leaves_the_history() -> None:
    log = log_of(user("hi"), said("draft"), TurnContinued("better", 1), said("final"))
    assert texts(log) == ["hi", "final"]


def test_an_output_of_record_takes_the_place_of_the_draft() -> None:
    log = log_of(user("hi"), said("my key is 123"), TurnEnded("t", "completed", output=Message("assistant", "no keys")))
    assert texts(log) == ["hi", "no keys"]


def test_text_of_a_cancelled_call_is_in_the_history_as_interrupted() -> None:
    log = log_of(user("hi"), MessageInterrupted(Message("assistant", "Once upon", mark="interrupted")), user("go on"))
    assert texts(log) == ["hi", "Once upon", "go on"]


def test_an_answer_to_a_middleware_s_own_call_is_no_history() -> None:
    log = log_of(user("hi"), ModelResponded(-1, ModelResponse(Message("assistant", "summary")), purpose="summary"))
    assert texts(log) == ["hi"]


def test_a_compaction_replaces_what_stands_before_it_and_keeps_the_entries() -> None:
    log = log_of(user("a"), said("b"), user("c"))
    place = log.place_after(log.messages[1])
    assert [message.text for message in log.compacted(place)] == ["a", "b"]
    log.append(ContextCompacted(place, Message("user", "a and b"), "window"))
    log.append(said("d"))
    assert texts(log) == ["a and b", "c", "d"]
    assert len(log.of(UserSaid)) == 2


def test_a_second_compaction_may_swallow_the_first() -> None:
    log = log_of(user("a"), said("b"), user("c"), said("d"))
    log.append(ContextCompacted(log.place_after(log.messages[1]), Message("user", "a b"), "window"))
    log.append(ContextCompacted(log.place_after(log.messages[1]), Message("user", "a b c"), "window"))
    assert texts(log) == ["a b c", "d"]


@given(st.lists(st.sampled_from(["user", "said", "batch", "again", "output", "compact"]), max_size=30), st.data())
def test_the_digest_of_a_history_depends_on_its_messages_alone(kinds: list[str], data: st.DataObject) -> None:
    log = Log()
    for number, kind in enumerate(kinds):
        match kind:
            case "user":
                log.append(user(f"u{number}"))
            case "said":
                log.append(said(f"s{number}"))
            case "batch":
                log.append(called("1"))
                log.append(returned("1", f"r{number}"))
            case "again":
                log.append(TurnContinued("guard", 1, data.draw(st.sampled_from([None, Message("user", "again")]))))
            case "output":
                log.append(TurnEnded("t", "completed", output=Message("assistant", f"o{number}")))
            case _ if log.messages:
                upto = data.draw(st.sampled_from(log.messages))
                log.append(ContextCompacted(log.place_after(upto), Message("user", f"c{number}"), "window"))
        if data.draw(st.booleans()):
            log.digest()
    fresh = Log()
    for message in log.messages:
        fresh.append(MessageInterrupted(message.replace(mark="")))
    assert log.digest() == fresh.digest()


async def test_a_turn_is_logged_from_its_start_to_its_end_around_all_its_steps() -> None:
    async with Agent(ScriptedModel("hello")) as agent, agent.session("s1") as session:
        answer = await session.run("hi")
        assert [event.type for event in session.log] == [
            "session:opened",
            "turn:started",
            "user:said",
            "model:called",
            "model:responded",
            "turn:ended",
        ]
        assert answer.events == tuple(session.log)[1:]
        started, ended = session.log.of(TurnStarted)[0], session.log.of(TurnEnded)[0]
    assert started.turn_id == ended.turn_id == answer.turn_id
    assert (started.index, ended.status, ended.output) == (0, "completed", None)


async def test_digests_of_equal_requests_are_equal_and_of_other_messages_differ() -> None:
    digests = []
    for text in ("hi", "hi", "bye"):
        async with Agent(ScriptedModel("ok"), instructions="Be kind.") as agent, agent.session() as session:
            await session.run(text)
            digests.append(session.log.of(ModelCalled)[0].digests)
    assert digests[0] == digests[1]
    assert digests[0]["messages"] != digests[2]["messages"]
    assert digests[0]["system:instructions"] == digests[2]["system:instructions"]
