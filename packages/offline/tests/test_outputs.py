from __future__ import annotations

import json
from typing import Any

import pytest

from agent_express.messages import Message, ModelRequest, OutputSchema
from agent_express_offline import OfflineModel, respond

TEXT, WHOLE, NUMBER = {"type": "string"}, {"type": "integer"}, {"type": "number"}
TEXTS = {"type": "array", "items": TEXT}


def asked(*required: str, **properties: Any) -> OutputSchema:
    names = required or tuple(properties)
    return OutputSchema("Report", {"type": "object", "properties": properties, "required": list(names)})


async def test_fields_are_filled_from_results_arguments_and_the_answer_in_words(files: Any) -> None:
    output = asked(path=TEXT, lines=WHOLE, summary=TEXT)
    text = await files.ask("Count the lines of notes.txt", output=output)
    assert json.loads(text) == {"path": "notes.txt", "lines": 3, "summary": "Count lines (notes.txt): 3"}


async def test_a_list_is_filled_from_a_listing_and_counted(files: Any) -> None:
    text = await files.ask("List the files in docs", output=asked(files=TEXTS, count=WHOLE))
    assert json.loads(text) == {"files": ["docs/api.md", "docs/guide.md"], "count": 2}


async def test_the_fields_of_a_result_are_found_by_name(toolbox: Any) -> None:
    output = asked(city=TEXT, temperature=NUMBER)
    text = await toolbox("weather").ask("What is the weather in Paris?", output=output)
    assert json.loads(text) == {"city": "Paris", "temperature": 14}


def test_without_tools_the_fields_come_from_what_the_user_wrote() -> None:
    output = asked(name=TEXT, age=WHOLE, email={"type": "string", "format": "email"}, city=TEXT)
    said = Message("user", "My name is Ann and I am 31, mail ann@example.org, from Paris")
    text = respond(ModelRequest(OfflineModel(), (said,), output=output)).message.text
    assert json.loads(text) == {"name": "Ann", "age": 31, "email": "ann@example.org", "city": "Paris"}


@pytest.mark.parametrize(
    ("output", "made"),
    [
        (asked(mood={"enum": ["good", "bad"]}), {"mood": "good"}),
        (asked(urgent={"type": "boolean"}), {"urgent": True}),
        (asked(size={"type": ["number", "null"]}, urgent={"type": "boolean"}), {"size": None, "urgent": True}),
        (
            asked("urgent", urgent={"type": "boolean"}, level={"type": "integer", "default": 1}),
            {"urgent": True, "level": 1},
        ),
        (asked(kind={"const": "report"}), {"kind": "report"}),
    ],
)
def test_options_switches_constants_defaults_and_null_are_used(output: OutputSchema, made: dict[str, Any]) -> None:
    said = Message("user", "an urgent thing in a good mood")
    assert json.loads(respond(ModelRequest(OfflineModel(), (said,), output=output)).message.text) == made


@pytest.mark.parametrize(
    ("said", "output", "why"),
    [
        ("it is damp", asked(humidity=NUMBER), "neither your message nor a result says `humidity`"),
        ("level 5", asked(level={"type": "integer", "minimum": 100}), "says `level`"),
        ("x", OutputSchema("Report", {"type": "object", "required": ["x"]}), "lacks 'x'"),
        ("x", OutputSchema("Report", {"type": "array"}), "must be of type array"),
        ("x", OutputSchema("Report", {"$ref": "#/nowhere"}), "its schema is not an object"),
    ],
)
def test_what_cannot_be_filled_is_refused_in_words_and_never_invented(
    said: str, output: OutputSchema, why: str
) -> None:
    text = respond(ModelRequest(OfflineModel(), (Message("user", said),), output=output)).message.text
    assert text.startswith("I cannot answer as `Report`: ")
    assert why in text
