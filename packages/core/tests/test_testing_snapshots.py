"""Snapshots: the same in every run, readable, and written on request only."""

from __future__ import annotations

import json
from pathlib import Path
from uuid import uuid4

import pytest
from pydantic import BaseModel

from agent_express.contexts import TurnUsage
from agent_express.events import (
    End,
    Event,
    ModelCalled,
    TextDelta,
    ToolCalled,
    ToolReturned,
    TurnEnded,
    TurnStarted,
)
from agent_express.messages import (
    Image,
    Message,
    ModelRequest,
    ModelResponse,
    Section,
    Text,
    ToolCall,
    ToolResult,
    Usage,
)
from agent_express.testing import ScriptedModel, assert_snapshot, snapshot


class Charged(Event, type="snapshot-test:charged"):
    order: str
    amount: float
    duration: float = 0.0
    ended_at: float = 0.0
    at_desk: int = 0


def logged(event: Event, position: int, at: float) -> Event:
    event.id, event.position, event.at = int(at * 1000) << 80 | position, position, at
    return event


def one_run(turn: str, first: str, second: str, at: float) -> list[Event | End[Message]]:
    return [
        logged(TurnStarted(turn, 0, ("retry",)), 0, at),
        logged(ModelCalled(0, "m", {"messages": f"d{at}", "tools": "same"}), 1, at + 0.1),
        logged(ToolCalled("0.0.0", first, "look", {"n": 1}), 2, at + 0.2),
        logged(ToolCalled("0.0.1", second, "look", {"n": 2}), 3, at + 0.3),
        logged(ToolReturned("0.0.1", second, "look", ToolResult("b", call_id=second, name="look")), 4, at + 0.4),
        TextDelta(f"see {turn}"),
        logged(TurnEnded(turn, "completed"), 5, at + 0.5),
        End(Message("assistant", "ok")),
    ]


def test_two_runs_have_the_same_snapshot() -> None:
    first = one_run("turn-0123456789", "call_aaaaaaaa", "call_bbbbbbbb", 100.0)
    second = one_run("turn-9876543210", "call_cccccccc", "call_dddddddd", 200.0)
    assert snapshot(first) == snapshot(second)
    assert snapshot(first) == [
        {"event": "turn:started", "turn_id": "<turn-1>", "index": 0, "stack": ["retry"]},
        {
            "event": "model:called",
            "index": 0,
            "model": "m",
            "digests": {"messages": "<digest-1>", "tools": "<digest-2>"},
        },
        {"event": "tool:called", "key": "0.0.0", "call_id": "<call-1>", "name": "look", "args": {"n": 1}},
        {"event": "tool:called", "key": "0.0.1", "call_id": "<call-2>", "name": "look", "args": {"n": 2}},
        {
            "event": "tool:returned",
            "key": "0.0.1",
            "call_id": "<call-2>",
            "name": "look",
            "result": {
                "parts": [{"text": "b", "kind": "text"}],
                "call_id": "<call-2>",
                "name": "look",
                "kind": "tool_result",
            },
        },
        {"event": "delta:text", "text": "see <turn-1>"},
        {"event": "turn:ended", "turn_id": "<turn-1>", "status": "completed"},
        {"event": "end", "result": {"role": "assistant", "parts": [{"text": "ok", "kind": "text"}]}},
    ]


def test_what_really_differs_stays_visible() -> None:
    one = one_run("turn-0123456789", "call_aaaaaaaa", "call_bbbbbbbb", 1.0)
    same_call_twice = one_run("turn-0123456789", "call_aaaaaaaa", "call_aaaaaaaa", 1.0)
    assert snapshot(one) != snapshot(same_call_twice)


def test_messages_requests_and_responses_can_be_taken() -> None:
    request = ModelRequest(
        ScriptedModel(name="m"),
        (Message("user", [Text("hi"), Image(b"\x00")]), Message("assistant", [ToolCall("c-77", "look", '{"a": 1}')])),
        system=(Section("instructions", "be brief"),),
    )
    response = ModelResponse(Message("assistant", "ok"), Usage(1, None), id="resp_1")
    assert snapshot({"asked": request, "said": response}) == {
        "asked": {
            "model": "m",
            "messages": [
                {"role": "user", "parts": [{"text": "hi", "kind": "text"}, {"data": "AA==", "kind": "image"}]},
                {
                    "role": "assistant",
                    "parts": [{"id": "<call-1>", "name": "look", "args": '{"a": 1}', "kind": "tool_call"}],
                },
            ],
            "system": [{"key": "instructions", "text": "be brief"}],
        },
        "said": {
            "message": {"role": "assistant", "parts": [{"text": "ok", "kind": "text"}]},
            "usage": {"input_tokens": 1},
            "id": "<response-1>",
        },
    }


def test_ids_times_and_durations_of_other_peoples_events_are_left_out_too() -> None:
    one, two = uuid4(), uuid4()
    value = [Charged(f"order {one}", 1.5, 0.3, 99.5, 2), Charged(f"order {two}", 2.5), Charged(two.hex, 2.5)]
    assert snapshot(value) == [
        {"event": "snapshot-test:charged", "order": "order <id-1>", "amount": 1.5, "at_desk": 2},
        {"event": "snapshot-test:charged", "order": "order <id-2>", "amount": 2.5},
        {"event": "snapshot-test:charged", "order": "<id-3>", "amount": 2.5},
    ]


def test_models_and_usage_are_shown_by_their_fields() -> None:
    class Plan(BaseModel):
        steps: list[str]

    usage = TurnUsage()
    usage.add(Usage(3, 4))
    assert snapshot([Plan(steps=["a"]), usage]) == [
        {"steps": ["a"]},
        {"tokens": {"input_tokens": 3, "output_tokens": 4}, "model_calls": 1},
    ]


def test_what_has_no_form_is_refused() -> None:
    with pytest.raises(TypeError, match=r"object at .* \(object\) cannot stand in a snapshot"):
        snapshot([object()])


# --- files --------------------------------------------------------------------------------------


def test_a_snapshot_is_written_on_request_and_compared_from_then_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "new" / "turn.json"
    with pytest.raises(AssertionError, match=r"no snapshot at .*: write it with AGENT_EXPRESS_SNAPSHOTS=write"):
        assert_snapshot([TextDelta("ü")], path)
    assert not path.exists()
    assert_snapshot([TextDelta("ü")], path, write=True)
    assert (
        path.read_bytes().decode("utf-8")
        == json.dumps([{"event": "delta:text", "text": "ü"}], ensure_ascii=False, indent=2) + "\n"
    )
    assert_snapshot([TextDelta("ü")], path)
    with pytest.raises(AssertionError) as caught:
        assert_snapshot([TextDelta("other")], path)
    assert str(caught.value).splitlines() == [
        "not as in the snapshot; where that is wanted: AGENT_EXPRESS_SNAPSHOTS=write",
        f"--- {path}",
        "+++ now",
        "@@ -1,6 +1,6 @@",
        " [",
        "   {",
        '     "event": "delta:text",',
        '-    "text": "ü"',
        '+    "text": "other"',
        "   }",
        " ]",
    ]
    monkeypatch.setenv("AGENT_EXPRESS_SNAPSHOTS", "write")
    assert_snapshot([TextDelta("other")], path)
    monkeypatch.setenv("AGENT_EXPRESS_SNAPSHOTS", "read")
    assert_snapshot([TextDelta("other")], path)
    with pytest.raises(AssertionError):
        assert_snapshot([TextDelta("ü")], path)
