from __future__ import annotations

from datetime import date
from typing import Any

import pytest

from agent_express_offline.filling.arguments import Assignment, assign
from agent_express_offline.filling.parameters import parameters
from agent_express_offline.reading.commands import parse
from agent_express_offline.reading.values import values_of
from agent_express_offline.reading.words import stems


def assigned(sentence: str, required: list[str], /, name: str = "do_it", **properties: Any) -> Assignment:
    command = parse(sentence, ["do"]).items[0]
    wanted = parameters({"type": "object", "properties": properties, "required": required}, stems(name))
    return assign(command, values_of(command, refers=False), wanted, stems(name), date(2026, 3, 1))


def args(sentence: str, required: list[str], /, name: str = "do_it", **properties: Any) -> dict[str, Any]:
    return {slot.parameter.name: slot.json() for slot in assigned(sentence, required, name, **properties).slots}


STRING = {"type": "string"}
WHOLE = {"type": "integer"}


@pytest.mark.parametrize(
    ("sentence", "parameter", "schema", "value"),
    [
        ("do it on 1 March 2026", "day", {"type": "string", "format": "date"}, "2026-03-01"),
        ("do it tomorrow", "day", {"type": "string", "format": "date"}, "2026-03-02"),
        ("do it on 2026-03-05 at 2pm", "start", {"type": "string", "format": "date-time"}, "2026-03-05T14:00:00"),
        ("do it tomorrow at noon", "start", {"type": "string", "format": "date-time"}, "2026-03-02T12:00:00"),
        ("do it at 14:30", "at", {"type": "string", "format": "time"}, "14:30:00"),
        ("do it at 14:30", "time", STRING, "14:30"),
        ("do it for ann@example.org", "to", {"type": "string", "format": "email"}, "ann@example.org"),
        ("do it with example.org", "link", {"type": "string", "format": "uri"}, "https://example.org"),
        ("do it 5 times", "count", WHOLE, 5),
        ("do it three times", "count", WHOLE, 3),
        ("do it 2.0 times", "count", WHOLE, 2),
        ("do it with 2.5", "ratio", {"type": "number"}, 2.5),
        ("do it '7'", "count", WHOLE, 7),
        ("do it with order #1042", "order_id", STRING, "1042"),
        ("do it with order #1042", "order_id", WHOLE, 1042),
        ("do it in euros with USD", "currency", STRING, "USD"),
        ("do it for the Python files", "pattern", {"type": "string", "description": "a glob"}, "*.py"),
        ("do it for .md", "pattern", {"type": "string", "description": "a glob such as **/*.py"}, "**/*.md"),
        ("do it for python files", "extension", STRING, ".py"),
        ("do it in the docs folder", "folder", STRING, "docs"),
        ("do it in New York", "city", STRING, "New York"),
        ("do a note: call Ann about the rent", "text", STRING, "call Ann about the rent"),
        ("do it with high priority", "priority", {"enum": ["low", "high"]}, "high"),
        ("do it in the living room", "room", {"enum": ["room", "living room"]}, "living room"),
        ("do it for level 3", "level", {"enum": [1, 2, 3]}, 3),
        ("do it recursively", "recursive", {"type": "boolean"}, True),
        ("do it without hidden files", "include_hidden", {"type": "boolean"}, False),
        ("do it case insensitive", "case_sensitive", {"type": "boolean"}, False),
        ("do it for a.txt, b.txt and c.txt", "paths", {"type": "array", "items": STRING}, ["a.txt", "b.txt", "c.txt"]),
        ("do it with 3, 4 and 5", "numbers", {"type": "array", "items": WHOLE}, [3, 4, 5]),
        ("do it with red and blue", "colors", {"type": "array", "items": {"enum": ["red", "green", "blue"]}}, None),
        ("do it with 5", "n", {"anyOf": [{"type": "null"}, {"type": "integer"}]}, 5),
        ("do it with 5", "n", {"$ref": "#/properties/m"}, 5),
        ("do it", "version", {"const": 2}, 2),
        ("do it 2 + 3 * 4", "expression", STRING, "2 + 3 * 4"),
    ],
)
def test_a_required_parameter_is_filled_by_its_type_format_name_and_description(
    sentence: str, parameter: str, schema: dict[str, Any], value: Any
) -> None:
    made = args(sentence, [parameter], **{parameter: schema}, m=WHOLE)
    if parameter == "colors":
        assert sorted(made["colors"]) == ["blue", "red"]
    else:
        assert made.get(parameter) == value


@pytest.mark.parametrize(
    ("sentence", "parameter", "schema"),
    [
        ("do it soon", "day", {"type": "string", "format": "date"}),
        ("do it on 03/04/2026", "day", {"type": "string", "format": "date"}),
        ("do it on 2026-03-05", "start", {"type": "string", "format": "date-time"}),
        ("do it for Ann", "to", {"type": "string", "format": "email"}),
        ("do it often", "count", WHOLE),
        ("do it 2.5 times", "count", WHOLE),
        ("do it 5 times", "count", {"type": "integer", "maximum": 3}),
        ("do it in green", "color", {"enum": ["red", "blue"]}),
        ("do it", "text", STRING),
        ("do the documentation", "path", STRING),
        ("do it with 5", "n", {"$ref": "#/nowhere"}),
        ("do it with 5", "n", False),
    ],
)
def test_what_a_sentence_does_not_say_is_missing_and_never_made_up(sentence: str, parameter: str, schema: Any) -> None:
    made = assigned(sentence, [parameter], **{parameter: schema})
    assert [each.name for each in made.missing] == [parameter]
    assert made.slots == ()


def test_an_optional_parameter_is_left_out_unless_something_speaks_for_it() -> None:
    optional = {"start": WHOLE, "lines": WHOLE, "language": STRING, "folder": STRING}
    assert args("read a.txt", ["path"], path=STRING, **optional) == {"path": "a.txt"}
    assert args("read 5 lines of a.txt", ["path"], path=STRING, **optional) == {"path": "a.txt", "lines": 5}
    assert args("read lines 3 to 5 of a.txt", ["path"], path=STRING, **optional) == {
        "path": "a.txt",
        "start": 3,
        "lines": 3,
    }


def test_lines_from_one_to_another_fill_a_first_and_a_last_number_where_there_are_such() -> None:
    assert args("read lines 3-5 of a.txt", ["path"], path=STRING, start_line=WHOLE, end_line=WHOLE) == {
        "path": "a.txt",
        "start_line": 3,
        "end_line": 5,
    }


def test_words_beside_a_value_say_for_which_parameter_it_is() -> None:
    made = args(
        "convert 100 from USD to EUR",
        ["a", "to_unit", "from_unit"],
        a={"type": "number"},
        to_unit=STRING,
        from_unit=STRING,
    )
    assert made == {"a": 100, "to_unit": "EUR", "from_unit": "USD"}
    assert args("do it with height 3 and width 4", ["width", "height"], width=WHOLE, height=WHOLE) == {
        "width": 4,
        "height": 3,
    }


def test_to_and_from_say_which_of_two_paths_is_the_target() -> None:
    both = {"destination": STRING, "source": STRING}
    assert args("move a.txt to b.txt", ["source", "destination"], "move_file", **both) == {
        "source": "a.txt",
        "destination": "b.txt",
    }


def test_values_without_such_words_go_in_the_order_of_the_text() -> None:
    assert args("divide 12 by 4", ["a", "b"], a=WHOLE, b=WHOLE) == {"a": 12, "b": 4}
    assert args("subtract 4 from 12", ["a", "b"], a=WHOLE, b=WHOLE) == {"a": 12, "b": 4}


def test_a_date_and_its_time_are_taken_apart_where_a_tool_wants_them_apart() -> None:
    apart = {"day": {"type": "string", "format": "date"}, "time": {"type": "string", "format": "time"}}
    assert args("do it on 1 March 2026 at 2 pm", ["day", "time"], **apart) == {"day": "2026-03-01", "time": "14:00:00"}


def test_several_values_of_one_parameter_are_kept_for_a_call_each() -> None:
    slot = assigned("read a.txt, b.txt and c.txt", ["path"], path=STRING).slots[0]
    assert slot.fixed == ("a.txt", "b.txt", "c.txt")


def test_several_numbers_are_kept_for_a_call_each_where_only_one_number_is_wanted() -> None:
    assert assigned("find parcels 1, 2 and 3", ["number"], number=WHOLE).slots[0].fixed == (1, 2, 3)
    assert assigned("add 1, 2 and 3", ["a", "b"], a=WHOLE, b=WHOLE).unused == ("3",)


def test_an_object_is_filled_field_by_field() -> None:
    inner = {"type": "object", "properties": {"path": STRING, "lines": WHOLE}, "required": ["path"]}
    assert args("do it with 5 lines of a.txt", ["options"], options=inner) == {"options": {"path": "a.txt", "lines": 5}}


def test_a_value_that_finds_no_place_is_reported() -> None:
    assert assigned("read a.txt with 5 and https://example.org", ["path"], path=STRING).unused == (
        "5",
        "https://example.org",
    )


def test_a_value_that_is_meant_to_stay_out_is_not_used() -> None:
    assert args("read a.txt but not b.txt", ["path"], path=STRING) == {"path": "a.txt"}


@pytest.mark.parametrize(
    ("name", "tool", "sense"),
    [
        ("path", "read_file", "path"),
        ("file_name", "read_file", "path"),
        ("name", "find_file", "path"),
        ("name", "create_event", "name"),
        ("text", "search_text", "query"),
        ("text", "send_text", "content"),
        ("city_name", "get_weather", "place"),
        ("order_id", "refund", "id"),
        ("start_date", "book", "date"),
        ("email_subject", "send", "title"),
        ("whatever", "do_it", ""),
    ],
)
def test_names_tell_what_a_parameter_is_about(name: str, tool: str, sense: str) -> None:
    parameter = parameters({"type": "object", "properties": {name: STRING}}, stems(tool))[0]
    assert parameter.sense == sense
