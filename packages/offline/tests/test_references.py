from __future__ import annotations

from typing import Any

import pytest

from agent_express.messages import Json, Message, Text, ToolCall, ToolResult
from agent_express_offline.reading.commands import parse
from agent_express_offline.reading.references import find_references


def found(sentence: str) -> list[tuple[str, str]]:
    return [(each.how, each.text) for each in find_references(parse(sentence).items[0].tokens)]


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        ("read it", [("one", "it")]),
        ("count its lines", [("one", "its")]),
        ("read that file", [("one", "that file")]),
        ("delete them", [("all", "them")]),
        ("read all of them", [("all", "all of them")]),
        ("read the first", [("index", "the first")]),
        ("read the first of them", [("index", "the first of them")]),
        ("read the last two files", [("index", "the last two files")]),
        ("read the 2nd one", [("index", "the 2nd one")]),
        ("read each", [("each", "each")]),
        ("count the lines of each file", [("each", "each file")]),
        ("read both files", [("each", "both files")]),
        ("read the largest", [("greatest", "the largest")]),
        ("refund the most expensive order", [("greatest", "the most expensive order")]),
        ("multiply the result by 4", [("one", "the result")]),
        ("read the first and the last", [("index", "the first"), ("index", "the last")]),
    ],
)
def test_words_that_point_at_earlier_results_are_found(sentence: str, expected: list[tuple[str, str]]) -> None:
    assert found(sentence) == expected


@pytest.mark.parametrize(
    "sentence",
    [
        "read the first 5 lines of a.txt",
        "read the first line of a.txt",
        "find files that contain x",
        "show the largest city of France",
        "open the result page",
        "list all files",
        "every morning read a.txt",
        "read the second chapter",
    ],
)
def test_words_that_only_sound_like_it_are_not(sentence: str) -> None:
    assert found(sentence) == []


# --- what they mean, once there are results -------------------------------------------------------


def after(tool: str, args: str, *parts: Any, is_error: bool = False) -> list[Message]:
    """A turn before: one call and its result."""
    return [
        Message("user", "earlier"),
        Message("assistant", [ToolCall("c1", tool, args)]),
        Message("tool", [ToolResult(parts, is_error, call_id="c1", name=tool)]),
        Message("assistant", "done"),
    ]


LISTINGS = {
    "an array of texts": [Json(["docs/a.md", "docs/b.md", "docs/c.md"])],
    "an array of objects": [Json([{"path": f"docs/{name}.md", "size": 1} for name in "abc"])],
    "an object around an array": [Json({"files": ["docs/a.md", "docs/b.md", "docs/c.md"], "total": 3})],
    "lines": [Text("docs/a.md\ndocs/b.md\ndocs/c.md\n")],
    "bullets under a heading": [Text("3 files:\n- docs/a.md\n- docs/b.md\n- docs/c.md")],
    "JSON in a text": [Text('["docs/a.md", "docs/b.md", "docs/c.md"]')],
    "names without their folder": [Json(["a.md", "b.md", "c.md"])],
    "places as searches give them": [Text("docs/a.md:3: x\ndocs/b.md:1: y\ndocs/c.md:9: z")],
}


@pytest.mark.parametrize("shape", LISTINGS)
@pytest.mark.parametrize(
    ("sentence", "paths"),
    [
        ("read the first", ["docs/a.md"]),
        ("read the last file", ["docs/c.md"]),
        ("read the second and the third", ["docs/b.md", "docs/c.md"]),
        ("read the first two of them", ["docs/a.md", "docs/b.md"]),
        ("read each", ["docs/a.md", "docs/b.md", "docs/c.md"]),
        ("read them", ["docs/a.md", "docs/b.md", "docs/c.md"]),
    ],
)
async def test_an_item_is_found_in_every_shape_a_listing_may_have(
    shape: str, sentence: str, paths: list[str], files: Any
) -> None:
    messages = [*after("list_files", '{"folder": "docs"}', *LISTINGS[shape]), Message("user", sentence)]
    await files.turn(messages)
    assert [args for _, args in files.steps[0]] == [{"path": path} for path in paths]


@pytest.mark.parametrize(
    ("items", "word", "path"),
    [
        ([{"path": "a.md", "size": 5}, {"path": "b.md", "size": 70}, {"path": "c.md", "size": 6}], "largest", "b.md"),
        ([{"path": "a.md", "size": 5}, {"path": "b.md", "size": 70}], "smallest", "a.md"),
        ([{"path": "a.md", "modified": "2026-01-01"}, {"path": "b.md", "modified": "2025-12-31"}], "newest", "a.md"),
        ([{"path": "a.md", "n": 5}, {"path": "b.md", "n": 70}], "largest", "b.md"),
        ([{"path": "a.md", "size": "1,200"}, {"path": "b.md", "size": "70"}], "largest", "a.md"),
        (["a.md 12", "b.md 3"], "shortest", "b.md"),
    ],
)
async def test_the_greatest_is_decided_by_the_field_that_says_it(
    items: list[Any], word: str, path: str, files: Any
) -> None:
    messages = [*after("list_files", "{}", Json(items)), Message("user", f"read the {word}")]
    await files.turn(messages)
    assert files.steps == [[("read_file", {"path": path})]]


@pytest.mark.parametrize(
    ("sentence", "parts", "why"),
    [
        ("read the largest", [Json(["a.md", "b.md"])], "no earlier result says which is “the largest”"),
        ("read it", [Json(["a.md", "b.md"])], "“it” could mean any of 2"),
        ("read the first", [Json([])], "the earlier result is empty"),
        ("read the fifth", [Json(["a.md"])], "the earlier result has only 1"),
        ("read the first", [Json([1, 2])], "gives nothing that fits `path`"),
    ],
)
async def test_a_reference_that_means_nothing_is_said_to_and_nothing_is_called(
    sentence: str, parts: list[Any], why: str, files: Any
) -> None:
    messages = [*after("list_files", "{}", *parts), Message("user", sentence)]
    response = await files.turn(messages)
    assert files.steps == []
    assert why in response.message.text


async def test_without_earlier_results_it_refers_to_nothing(files: Any) -> None:
    assert "it needs `path`" in await files.ask("read it")
    assert files.steps == []


async def test_a_failed_result_is_never_referred_to(files: Any) -> None:
    messages = [*after("list_files", "{}", Text("no such folder"), is_error=True), Message("user", "read the first")]
    await files.turn(messages)
    assert files.steps == []


async def test_a_command_whose_forerunner_failed_is_not_done(files: Any) -> None:
    answer = await files.ask("Read nope.txt and write it to copy.txt")
    assert files.steps == [[("read_file", {"path": "nope.txt"})]]
    assert "failed: FileNotFoundError: nope.txt" in answer
    assert "“it” refers to “Read nope.txt”, which failed" in answer


async def test_a_command_whose_forerunner_was_not_understood_is_not_done(files: Any) -> None:
    answer = await files.ask("Sing a song and write it to song.txt")
    assert files.steps == []
    assert "“it” refers to “Sing a song”, which was not done" in answer


async def test_it_is_the_thing_last_spoken_of_across_turns(files: Any) -> None:
    messages = [Message("user", "Read notes.txt")]
    await files.turn(messages)
    messages.append(Message("user", "How many lines does it have?"))
    await files.turn(messages)
    assert files.steps[-1] == [("count_lines", {"path": "notes.txt"})]


async def test_a_question_about_an_earlier_result_is_answered_without_a_call(toolbox: Any) -> None:
    shop = toolbox("shop")
    messages = [Message("user", "Search for tea")]
    await shop.turn(messages)
    for question, answer in [("How many are there?", "There are 3."), ("Which is the cheapest?", "Black tea")]:
        messages.append(Message("user", question))
        assert answer in (await shop.turn(messages)).message.text
    assert len(shop.steps) == 1


async def test_a_number_is_taken_out_of_a_text_only_where_it_is_the_only_one(toolbox: Any) -> None:
    for text, steps in [("The sum is 5.", [[("multiply", {"a": 5, "b": 4})]]), ("2 plus 3 is 5", [])]:
        box = toolbox("math")
        await box.turn([*after("compute", "{}", Text(text)), Message("user", "multiply the result by 4")])
        assert box.steps == steps


async def test_each_of_very_many_stops_at_twenty_calls(files: Any) -> None:
    many = Json([f"f{number}.txt" for number in range(500)])
    await files.turn([*after("list_files", "{}", many), Message("user", "count the lines of each")])
    assert [len(step) for step in files.steps] == [16, 4]
