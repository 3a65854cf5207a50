"""Events in a few words."""

from __future__ import annotations

from typing import Any

import pytest

from agent_express import (
    Event,
    Message,
    ModelResponse,
    Restarted,
    ToolCall,
    ToolCalled,
    ToolResult,
    ToolReturned,
    Usage,
)
from agent_express import events as core
from agent_express.events import (
    Answered,
    ContextCompacted,
    Failed,
    MessageInterrupted,
    ModelCalled,
    ModelResponded,
    Recovered,
    SessionClosed,
    SessionIdentified,
    SessionOpened,
    StateChanged,
    ToolRan,
    ToolRegistered,
    ToolStarted,
    TurnContinued,
    TurnEnded,
    TurnStarted,
    UserSaid,
)
from agent_express.messages import Image
from agent_express_cli.talking.describe import called, details, restarted, returned, rows

said = Message("user", "Hello?")
wants = Message("assistant", [ToolCall("c1", "add")])


def result(text: str, how: Any = "ran", by: str | None = None, *, is_error: bool = False) -> ToolReturned:
    return ToolReturned("0.0.0", "c1", "add", ToolResult(text, is_error), how, by)


DETAILS: list[tuple[Event, str]] = [
    (SessionOpened("s1", "helper"), "s1, agent helper"),
    (SessionIdentified("ada", ("read",)), "ada, who may read"),
    (SessionIdentified(None), "nobody"),
    (SessionClosed(), ""),
    (TurnStarted("t1", 0, ("retry", "budget")), "through retry, budget"),
    (TurnStarted("t1", 0), "no middleware"),
    (UserSaid(said), "Hello?"),
    (UserSaid(Message("user", "Go on.", origin="todos")), "(todos) Go on."),
    (UserSaid(Message("user", [Image(url="https://example.org/a.png")])), "image"),
    (TurnContinued("output", 1, said), "by output: Hello?"),
    (TurnContinued("retry", 1), "by retry"),
    (TurnEnded("t1", "completed"), "completed"),
    (TurnEnded("t1", "aborted", "too dear", "budget"), "aborted by budget: too dear"),
    (ModelCalled(0, "a:b", {}), "a:b"),
    (ModelCalled(0, "a:b", {}, attempt=2), "a:b, attempt 2"),
    (ModelCalled(-1, "a:b", {}, purpose="summary", by="memory"), "a:b for memory: summary"),
    (ModelResponded(0, ModelResponse(Message("assistant", "Hi."), Usage(3, 1))), "Hi. (4 tokens)"),
    (ModelResponded(0, ModelResponse(wants)), "calls add"),
    (MessageInterrupted(Message("assistant", "As I was s")), "As I was s"),
    (ToolCalled("0.0.0", "c1", "add", {"a": 1}), "add(a=1)"),
    (ToolStarted("0.0.0", "c1", "add"), "add"),
    (ToolRan("0.0.0", "c1", ToolResult("3")), "3"),
    (result("3"), "add: 3"),
    (ToolRegistered("add", "calculator"), "add by calculator"),
    (StateChanged({"budget": {"tokens": {"set": 3}, "calls": {"set": 1}}}), "budget: tokens calls"),
    (ContextCompacted(3, said, "window"), "by window: Hello?"),
    (Answered("model", "cache"), "model by cache"),
    (Recovered("model", "retry", "RateLimitError: slow down"), "retry: RateLimitError: slow down"),
    (Restarted("retry", 2), "model by retry, attempt 2"),
    (Failed("later", "ValueError: no"), "later: ValueError: no"),
]


@pytest.mark.parametrize(("event", "words"), DETAILS, ids=[type(event).__name__ for event, _ in DETAILS])
def test_an_entry_of_the_log_is_told_in_a_few_words(event: Event, words: str) -> None:
    assert details(event) == words


def test_every_entry_that_the_core_writes_has_its_words() -> None:
    kinds = {
        kind
        for kind in vars(core).values()
        if isinstance(kind, type) and issubclass(kind, Event) and kind is not Event and kind.durable
    }
    assert kinds == {type(event) for event, _ in DETAILS}


class Uploaded(Event, type="files:uploaded"):
    path: str
    size: int


def test_an_entry_of_an_unknown_kind_is_told_by_its_fields() -> None:
    assert details(Uploaded("a.txt", 312)) == "path: a.txt, size: 312"


def test_a_log_is_a_table_of_seconds_kinds_and_details() -> None:
    opened, nested = SessionOpened("s1", "helper"), ToolCalled("0.0.0", "c1", "add", {"a": 1})
    opened.at, nested.at, nested.path = 1000.0, 1001.25, "reader"
    assert rows([opened, nested], 60) == [
        "   0.000  session:opened  s1, agent helper",
        "   1.250  tool:called     [reader] add(a=1)",
    ]
    assert rows([], 60) == ["nothing was logged"]


@pytest.mark.parametrize(
    ("event", "line", "style"),
    [
        (result("3"), "add: 3", "result"),
        (result(""), "add: nothing", "result"),
        (result("ValueError: no", "failed", is_error=True), "add: ValueError: no", "failure"),
        (result("a: missing", "invalid", is_error=True), "add (arguments): a: missing", "failure"),
        (result("there is none", "no_tool", is_error=True), "add (unknown): there is none", "failure"),
        (
            result("not on Sundays", "denied", "rules", is_error=True),
            "add (denied by rules): not on Sundays",
            "failure",
        ),
        (result("3", "skipped", "cache"), "add (skipped by cache): 3", "result"),
        (result("not run", "not_run", is_error=True), "add (not run): not run", "failure"),
    ],
)
def test_a_result_is_told_with_what_became_of_the_call(event: ToolReturned, line: str, style: str) -> None:
    assert (returned(event, 80).text, returned(event, 80).style) == (line, style)


def test_calls_are_cut_to_the_room_there_is() -> None:
    line = called(ToolCalled("0.0.0", "c1", "write", {"text": "x" * 500}), 60)
    assert line.text.startswith('write(text="xxx')
    assert len(line.text) <= 60


@pytest.mark.parametrize(
    ("level", "line"),
    [
        ("model", "(starting again: retry, attempt 2)"),
        ("turn", "(starting again: retry, attempt 2)"),
        ("tool", "(starting tool again: retry, attempt 2)"),
    ],
)
def test_a_repeat_says_what_and_by_whom(level: str, line: str) -> None:
    assert restarted(Restarted("retry", 2, level)).text == line
