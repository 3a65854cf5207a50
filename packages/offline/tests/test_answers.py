from __future__ import annotations

from typing import Any

import pytest

from agent_express.messages import (
    Audio,
    File,
    Image,
    Json,
    Message,
    ModelRequest,
    Opaque,
    Resource,
    Section,
    Text,
    ToolCall,
    ToolDef,
    ToolResult,
)
from agent_express_offline import OfflineModel, respond

MODEL = OfflineModel()
SHOW = ToolDef("show_thing", "Show a thing.", {"type": "object", "properties": {}})


def said_of(result: ToolResult) -> str:
    """What the model says once its one call has returned *result*."""
    messages = [
        Message("user", "show the thing"),
        Message("assistant", [ToolCall("offline_1_0_0", "show_thing")]),
        Message("tool", [result.replace(call_id="offline_1_0_0", name="show_thing")]),
    ]
    return respond(ModelRequest(MODEL, tuple(messages), tools=(SHOW,))).message.text


@pytest.mark.parametrize(
    ("result", "text"),
    [
        (ToolResult("12 °C"), "**Show thing**: 12 °C"),
        (ToolResult([Json(42)]), "**Show thing**: 42"),
        (ToolResult([Json(None)]), "**Show thing**: done."),
        (ToolResult(""), "**Show thing**: done."),
        (ToolResult([Json([])]), "**Show thing**: nothing found."),
        (ToolResult([Json(["a", "b"])]), "**Show thing**: 2 found\n- a\n- b"),
        (ToolResult([Json([{"id": 1, "tags": ["x"]}])]), "**Show thing**: 1 found\n- id 1"),
        (ToolResult([Json({"id": 1, "name": "x"})]), "**Show thing**:\n- id: 1\n- name: x"),
        (ToolResult("boom", is_error=True), "**Show thing** failed: boom"),
        (ToolResult((), is_error=True), "**Show thing** failed: no reason was given"),
        (ToolResult([Image(b"x")]), "**Show thing**: (a picture, which I cannot see)"),
        (ToolResult([Resource("file:///a", text="A")]), "**Show thing**: A"),
        (ToolResult([Resource("file:///a", data=b"A")]), "**Show thing**: file:///a"),
        (ToolResult([Opaque("x", 1)]), "**Show thing**: (a part of kind 'opaque', which I cannot read)"),
        (ToolResult([Json(float("nan"))]), "**Show thing**: NaN"),
        (ToolResult([Json({1, 2})]), '**Show thing**: "{1, 2}"'),
    ],
)
def test_a_result_becomes_a_short_sentence_or_list(result: ToolResult, text: str) -> None:
    assert said_of(result) == text


def test_a_long_list_is_cut_and_says_how_much_is_left() -> None:
    answer = said_of(ToolResult([Json([f"f{number}" for number in range(25)])]))
    assert answer.startswith("**Show thing**: 25 found\n- f0\n")
    assert answer.endswith("- f9\n- and 15 more")


def test_a_long_text_is_shown_by_its_beginning_in_a_fence_that_nothing_in_it_closes() -> None:
    answer = said_of(ToolResult("```\n" + "line\n" * 30))
    assert answer.startswith("**Show thing**: 31 lines, of which the first 12\n\n````\n```\nline\n")
    assert answer.endswith("line\n````")


def test_a_long_line_is_cut() -> None:
    answer = said_of(ToolResult("x" * 5_000_000))
    assert answer.startswith("**Show thing**: 5,000,000 characters")
    assert len(answer) < 500


async def test_several_calls_of_one_command_are_told_in_a_line_each(files: Any) -> None:
    answer = await files.ask("Count the lines of notes.txt, LICENSE and nope.txt")
    assert answer == (
        "**Count lines**, 3 times:\n- notes.txt: 3\n- LICENSE: 1\n- nope.txt: failed: FileNotFoundError: nope.txt"
    )


async def test_the_answer_to_a_request_of_several_steps_reads_from_top_to_bottom(files: Any) -> None:
    answer = await files.ask("List the Python files in packages/core, then read the first of them and count its lines")
    assert answer == (
        "**List files** (packages/core, *.py): 2 found\n"
        "- packages/core/onion.py\n"
        "- packages/core/tools.py\n"
        "\n"
        "**Read file** (packages/core/onion.py): 2 lines\n"
        "\n"
        "```\n"
        "def compose():\n"
        "    return None\n"
        "```\n"
        "\n"
        "**Count lines** (packages/core/onion.py): 2"
    )


@pytest.mark.parametrize("greeting", ["Hi", "hello!", "What can you do?", "help", "Who are you?", ""])
async def test_a_greeting_is_answered_with_what_this_is_and_what_it_can_call(greeting: str, files: Any) -> None:
    answer = await files.ask(greeting)
    assert "not a language model" in answer
    assert "`read_file(path, [start], [lines])`: Read a text file, all of it or some lines" in answer
    assert answer.count("\n- `") == len(files.tools)


async def test_it_introduces_itself_once(files: Any) -> None:
    messages = [Message("user", "hi")]
    await files.turn(messages)
    messages.append(Message("user", "thanks"))
    answer = (await files.turn(messages)).message.text
    assert "not a language model" not in answer
    assert "fixed program" in answer


async def test_a_greeting_before_a_command_is_passed_over(files: Any) -> None:
    assert await files.ask("Hi! Count the lines of notes.txt, please.") == "**Count lines** (notes.txt): 3"


async def test_what_is_not_understood_is_said_with_the_tools_there_are(toolbox: Any) -> None:
    answer = await toolbox("home").ask("Tell me a joke and lock the front door. Dance!")
    assert answer == (
        "**Lock door** (front): done\n\n"
        "I did not understand “Tell me a joke” and “Dance”: it fits none of the tools I can call, "
        "which are `set_light`, `set_temperature` and `lock_door`."
    )


def test_without_tools_it_says_that_it_can_do_nothing() -> None:
    for text in ["hello", "read a.txt"]:
        answer = respond(ModelRequest(MODEL, (Message("user", text),))).message.text
        assert "o tools are offered to me" in answer


async def test_a_missing_argument_is_asked_for_by_name_and_meaning(files: Any, toolbox: Any) -> None:
    assert await files.ask("Read the file") == (
        "For “Read the file” I would call `read_file`, but it needs `path` (Path of the file, relative to the root)."
    )
    answer = await toolbox("calendar").ask("Create an event Lunch tomorrow")
    assert "needs `date` (a date such as 2026-03-01)" in answer
    assert "I cannot tell what day “tomorrow” is" in answer


async def test_tomorrow_is_counted_from_the_day_that_the_system_prompt_or_the_maker_states(toolbox: Any) -> None:
    from datetime import date

    calendar = toolbox("calendar")
    await calendar.ask("List the events of tomorrow", system=(Section("day", "Today is 2026-03-01."),))
    await calendar.ask("List the events of tomorrow", OfflineModel(today=date(2026, 4, 1)))
    assert [args["date"] for step in calendar.steps for _, args in step] == ["2026-03-02", "2026-04-02"]


async def test_what_is_forbidden_or_conditional_is_left_alone_and_said(files: Any) -> None:
    answer = await files.ask("Don't delete notes.txt. If it rains, delete LICENSE.")
    assert files.steps == []
    assert "As you said, I left this alone: “Don't delete notes.txt”." in answer
    assert "I do not follow conditions, so I left this alone: “If it rains, delete LICENSE”." in answer


async def test_a_value_without_a_place_is_mentioned(files: Any) -> None:
    assert (await files.ask("Count the lines of notes.txt with 17")).endswith("I found no place for “17”.")


def test_parts_that_are_no_text_are_named_and_not_guessed_at() -> None:
    parts = [Text("hello"), Image(b"x"), Image(url="https://example.org/a.png"), Audio(b"x"), File(b"x"), Opaque("y")]
    answer = respond(ModelRequest(MODEL, (Message("user", parts),))).message.text
    assert (
        "I read text only, so I did not look at a picture (2 times), a sound, a file and a part of kind 'opaque'."
        in answer
    )


def test_a_message_that_is_too_long_to_be_read_is_said_to_be(files: Any) -> None:
    request = ModelRequest(MODEL, (Message("user", "dance! " * 40),), tools=files.tools)
    answer = respond(request).message.text
    assert "its first 32 commands" in answer
    assert "and 27 more" in answer
