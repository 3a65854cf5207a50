from __future__ import annotations

import io
import json
from typing import Any

from agent_express import Agent, TextDelta, ToolCalled
from agent_express.events import ToolProgressed
from agent_express.testing import ScriptedModel
from agent_express_cli.errors import Problem
from agent_express_cli.exits import Exit
from agent_express_cli.talking.json_lines import JsonScreen, event_object


def read(file: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.getvalue().splitlines()]


def test_a_delta_is_its_kind_its_path_and_what_it_holds() -> None:
    delta = TextDelta("Hi\nthere")
    assert event_object(delta) == {"type": "delta:text", "text": "Hi\nthere"}
    delta.path = "reader"
    assert event_object(delta) == {"type": "delta:text", "path": "reader", "text": "Hi\nthere"}


def test_an_entry_of_the_log_is_written_as_a_store_has_it() -> None:
    called = ToolCalled("0.0.0", "c1", "add", {"a": 1})
    assert event_object(called) == {
        "type": "tool:called",
        "version": 1,
        "key": "0.0.0",
        "call_id": "c1",
        "name": "add",
        "args": {"a": 1},
    }


def test_progress_that_json_cannot_hold_is_described() -> None:
    told = event_object(ToolProgressed("c1", "add", object()))
    assert told["type"] == "delta:tool-progress"
    assert "ToolProgressed(" in told["text"]


def test_every_line_is_one_object() -> None:
    out, err = io.StringIO(), io.StringIO()
    screen = JsonScreen(out, err)
    screen.note("no key")
    screen.event(TextDelta("two\nlines\u2028more"))
    screen.answer(Agent(ScriptedModel("Hi.")).run_sync("hi"))
    screen.problem(Problem("ValueError", "it broke", Exit.FAILED))
    screen.interrupted()
    assert [each["type"] for each in read(out)] == ["delta:text", "answer"]
    assert read(err) == [
        {"type": "note", "message": "no key"},
        {"type": "error", "error": "ValueError", "message": "it broke", "exit_code": 1},
        {"type": "interrupted"},
    ]


def test_tokens_that_were_not_reported_are_null() -> None:
    out = io.StringIO()
    JsonScreen(out, io.StringIO()).answer(Agent(ScriptedModel("Hi there.")).run_sync("hi"))
    (answer,) = read(out)
    assert answer["usage"] == {"input_tokens": 1, "output_tokens": 2, "model_calls": 1, "tool_calls": 0}
    assert (answer["text"], answer["status"], answer["limit"]) == ("Hi there.", "completed", None)
