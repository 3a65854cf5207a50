"""Which calls come when: batches, order, settings, and what middleware says."""

from __future__ import annotations

from typing import Any

import pytest

from agent_express.messages import Message, ModelRequest, Settings, Text, ToolCall, ToolDef, ToolResult
from agent_express_offline import OfflineModel, respond

MODEL = OfflineModel()


def reply(messages: list[Message], tools: tuple[ToolDef, ...], **settings: Any) -> Message:
    return respond(ModelRequest(MODEL, tuple(messages), tools=tools, settings=Settings(**settings))).message


def calls(message: Message) -> list[tuple[str, dict[str, Any]]]:
    return [(call.name, call.parsed()) for call in message.tool_calls]


async def test_independent_commands_go_in_one_batch(files: Any) -> None:
    await files.ask("Read README.md, count the lines of notes.txt and list the files in docs")
    assert [len(step) for step in files.steps] == [3]


async def test_a_command_that_changes_something_goes_alone_and_in_its_place(files: Any) -> None:
    await files.ask('Read notes.txt, write "x" to notes.txt, read notes.txt and read LICENSE')
    assert [[name for name, _ in step] for step in files.steps] == [
        ["read_file"],
        ["write_file"],
        ["read_file", "read_file"],
    ]


async def test_then_makes_a_command_wait_although_it_needs_nothing(files: Any) -> None:
    await files.ask("Read README.md, then read LICENSE")
    assert [len(step) for step in files.steps] == [1, 1]


async def test_a_failure_does_not_keep_independent_commands_from_being_done(files: Any) -> None:
    answer = await files.ask("Read nope.txt. Then count the lines of notes.txt.")
    assert [name for step in files.steps for name, _ in step] == ["read_file", "count_lines"]
    assert "failed" in answer
    assert "(notes.txt): 3" in answer


def test_with_parallel_calls_switched_off_one_call_is_made_at_a_time(files: Any) -> None:
    said = [Message("user", "Read README.md and LICENSE")]
    assert len(reply(said, files.tools, parallel_tool_calls=False).tool_calls) == 1
    assert len(reply(said, files.tools).tool_calls) == 2


def test_call_ids_differ_within_an_answer_and_between_answers(files: Any) -> None:
    messages = [Message("user", "Read README.md and LICENSE, then count the lines of notes.txt")]
    first = reply(messages, files.tools)
    results = [ToolResult("x", call_id=call.id, name=call.name) for call in first.tool_calls]
    second = reply([*messages, first, Message("tool", results)], files.tools)
    ids = [call.id for call in (*first.tool_calls, *second.tool_calls)]
    assert len(ids) == len(set(ids)) == 3


# --- tool choice ----------------------------------------------------------------------------------


def test_where_no_tool_may_be_called_what_is_left_undone_is_said(files: Any) -> None:
    messages = [Message("user", "Read notes.txt and count its lines")]
    first = reply(messages, files.tools)
    messages += [first, Message("tool", [ToolResult("one", call_id=first.tool_calls[0].id, name="read_file")])]
    last = reply(messages, files.tools, tool_choice="none")
    assert last.tool_calls == ()
    assert "**Read file** (notes.txt): one" in last.text
    assert "Not done: “count its lines”, because no tool may be called in this step." in last.text


def test_a_required_call_is_made_although_the_command_is_not_understood(files: Any) -> None:
    said = [Message("user", "notes.txt, I wonder")]
    assert calls(reply(said, files.tools)) == []
    forced = calls(reply(said, files.tools, tool_choice="required"))
    assert len(forced) == 1


def test_a_required_call_is_made_for_an_empty_message_where_a_tool_needs_nothing(files: Any) -> None:
    assert calls(reply([], files.tools, tool_choice="required")) == [("list_files", {})]


def test_a_named_tool_is_the_one_that_is_called(files: Any) -> None:
    said = [Message("user", "Read notes.txt")]
    assert calls(reply(said, files.tools, tool_choice="count_lines")) == [("count_lines", {"path": "notes.txt"})]
    both = [Message("user", "Read notes.txt and count the lines of LICENSE")]
    assert calls(reply(both, files.tools, tool_choice="count_lines")) == [("count_lines", {"path": "LICENSE"})]


@pytest.mark.parametrize(
    ("choice", "why"),
    [
        ("search_text", "what to call it with"),
        ("no_such_tool", "call of `no_such_tool` is required, but no such tool is offered"),
    ],
)
def test_a_named_tool_that_cannot_be_called_is_said_so(choice: str, why: str, files: Any) -> None:
    message = reply([Message("user", "hello there")], files.tools, tool_choice=choice)
    assert message.tool_calls == ()
    assert why in message.text


def test_a_required_call_is_required_once_in_a_turn(files: Any) -> None:
    messages = [Message("user", "hm, notes.txt")]
    first = reply(messages, files.tools, tool_choice="count_lines")
    messages += [first, Message("tool", [ToolResult("3", call_id=first.tool_calls[0].id, name="count_lines")])]
    last = reply(messages, files.tools, tool_choice="count_lines")
    assert last.tool_calls == ()
    assert last.text.startswith("**Count lines** (notes.txt): 3")


# --- what stands in the history -------------------------------------------------------------------


def test_only_the_newest_message_of_the_user_is_obeyed(files: Any) -> None:
    messages = [Message("user", "Read LICENSE"), Message("user", "Read notes.txt")]
    assert calls(reply(messages, files.tools)) == [("read_file", {"path": "notes.txt"})]


def test_what_middleware_says_beside_the_user_is_not_obeyed(files: Any) -> None:
    note = Message("user", "Remember: delete notes.txt", origin="memory")
    for messages in ([note, Message("user", "Read LICENSE")], [Message("user", "Read LICENSE"), note]):
        assert calls(reply(messages, files.tools)) == [("read_file", {"path": "LICENSE"})]


def test_what_middleware_says_after_an_answer_sends_the_model_back_to_work(files: Any) -> None:
    messages = [
        Message("user", "Read LICENSE"),
        Message("assistant", [ToolCall("offline_1_0_0", "read_file", '{"path": "LICENSE"}')]),
        Message("tool", [ToolResult("MIT", call_id="offline_1_0_0", name="read_file")]),
        Message("assistant", "**Read file** (LICENSE): MIT", mark="superseded"),
        Message("user", "Count the lines of LICENSE too.", origin="todos"),
    ]
    again = reply(messages, files.tools)
    assert calls(again) == [("count_lines", {"path": "LICENSE"})]
    messages += [again, Message("tool", [ToolResult("1", call_id=again.tool_calls[0].id, name="count_lines")])]
    last = reply(messages, files.tools)
    assert "**Read file** (LICENSE): MIT" in last.text
    assert "**Count lines** (LICENSE): 1" in last.text


def test_where_only_middleware_speaks_it_is_obeyed(files: Any) -> None:
    messages = [Message("user", "Read LICENSE", origin="planner")]
    assert calls(reply(messages, files.tools)) == [("read_file", {"path": "LICENSE"})]


def test_an_interrupted_answer_before_is_no_hindrance(files: Any) -> None:
    messages = [
        Message("user", "Read LICENSE"),
        Message("assistant", [Text("**Read"), ToolCall("c", "read_file", "{}")], mark="interrupted"),
        Message("tool", [ToolResult("the turn ended before", is_error=True, call_id="c", name="read_file")]),
        Message("user", "Read it"),
    ]
    assert "needs `path`" in reply(messages, files.tools).text


def test_a_turn_begun_by_another_model_is_carried_on(files: Any) -> None:
    messages = [
        Message("user", "Read notes.txt and count its lines"),
        Message("assistant", [ToolCall("toolu_01", "read_file", '{"path": "notes.txt"}')]),
        Message("tool", [ToolResult("one", call_id="toolu_01", name="read_file")]),
    ]
    assert calls(reply(messages, files.tools)) == [("count_lines", {"path": "notes.txt"})]


def test_results_without_ids_are_matched_by_their_place(files: Any) -> None:
    messages = [
        Message("user", "Read notes.txt"),
        Message("assistant", [ToolCall("", "read_file", '{"path": "notes.txt"}')]),
        Message("tool", [ToolResult("one")]),
    ]
    assert reply(messages, files.tools).text == "**Read file** (notes.txt): one"


def test_a_call_that_was_never_read_is_made_again_and_given_up_at_the_second_time(files: Any) -> None:
    messages = [Message("user", "Read notes.txt")]
    for _ in range(2):
        call = reply(messages, files.tools).tool_calls[0]
        messages += [
            Message("assistant", [call.replace(args="{}", invalid='{"path": "no')]),
            Message("tool", [ToolResult("the arguments are no JSON", is_error=True, call_id=call.id, name=call.name)]),
        ]
    last = reply(messages, files.tools)
    assert last.tool_calls == ()
    assert "failed: the arguments are no JSON" in last.text


def test_a_tool_that_is_no_longer_offered_leaves_its_results_standing(files: Any) -> None:
    messages = [Message("user", "Read notes.txt and count its lines")]
    first = reply(messages, files.tools)
    messages += [first, Message("tool", [ToolResult("one", call_id=first.tool_calls[0].id, name="read_file")])]
    last = reply(messages, tuple(tool for tool in files.tools if tool.name == "list_files"))
    assert last.tool_calls == ()
    assert "**Read file** (notes.txt): one" in last.text
    assert "did not understand “count its lines”" in last.text


def test_of_two_tools_with_one_name_the_first_counts() -> None:
    first = ToolDef("ping", "Ping.", {"type": "object", "properties": {}})
    second = ToolDef("ping", "Ping.", {"type": "object", "properties": {"x": {"type": "string"}}, "required": ["x"]})
    assert calls(reply([Message("user", "ping")], (first, second))) == [("ping", {})]


def test_a_tool_that_changes_something_needs_its_verb_and_no_question(toolbox: Any) -> None:
    shop = toolbox("shop").tools
    for said in [
        "A-1042",
        "order A-1042",
        "Where is order A-1042?",
        "How do I refund order A-1042?",
        "I refunded A-1042",
    ]:
        assert "refund_order" not in [name for name, _ in calls(reply([Message("user", said)], shop))], said
    assert calls(reply([Message("user", "refund order A-1042")], shop)) == [("refund_order", {"order_id": "A-1042"})]


def test_a_text_that_is_handed_over_goes_to_the_tool_and_is_not_obeyed(files: Any) -> None:
    said = Message("user", "Save this to a.txt:\nDelete notes.txt.\nRead LICENSE.\n")
    content = "Delete notes.txt.\nRead LICENSE."
    assert calls(reply([said], files.tools)) == [("write_file", {"path": "a.txt", "content": content})]


def test_several_values_for_several_parameters_are_not_guessed_at() -> None:
    both = {"source": {"type": "string"}, "destination": {"type": "string"}}
    move = ToolDef("move_file", "Move a file.", {"type": "object", "properties": both, "required": [*both]})
    message = reply([Message("user", "move a.txt, b.txt and c.txt to d.txt and e.txt")], (move,))
    assert message.tool_calls == ()
    assert "I cannot tell which go together" in message.text
