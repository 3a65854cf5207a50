"""Conversion: the JSON that a value of a sentence becomes as an argument."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import date
from typing import Any, Final

from ..reading import dates
from ..reading.literals import to_number
from ..reading.tokens import single
from ..reading.values import Value
from ..reading.words import stem
from .domains import FILE_KINDS
from .parameters import Parameter, type_names
from .schemas import problem
from .shapes import is_list, is_object

NOTHING: Final = object()
"""What a value becomes that cannot be turned into what the parameter takes."""

_ISO_WORDS: Final = frozenset(map(stem, ["iso", "yyyy", "8601"]))


def convert(value: Value, parameter: Parameter, today: date | None) -> Any:
    """The JSON that *value* becomes as *parameter* (one item of it, for an array); `NOTHING` where it does not fit."""
    for branch in parameter.branches:
        for name in type_names(branch):
            inner, schema = (name, branch) if name != "array" else _item_type(branch)
            made = _as_type(value, inner, schema, parameter, today)
            if made is not NOTHING and problem(made, schema, parameter.root) is None:
                return made
    return NOTHING


def _item_type(branch: Mapping[str, Any]) -> tuple[str, Mapping[str, Any]]:
    items = branch.get("items")
    if not is_object(items):
        return "string", {}
    return next(iter(type_names(items)), "string"), items


def _as_type(value: Value, name: str, schema: Mapping[str, Any], parameter: Parameter, today: date | None) -> Any:
    match name:
        case "integer" | "number":
            return _as_number(value, whole=name == "integer")
        case "string":
            return _as_text(value, schema, parameter, today)
        case _:
            return NOTHING


def _as_number(value: Value, *, whole: bool) -> Any:
    number = value.data if value.kind == "number" else to_number(str(value.data)) if is_numeral(value) else None
    if not isinstance(number, int | float):
        return NOTHING
    if whole and isinstance(number, float):
        return int(number) if number.is_integer() else NOTHING
    return number


def _as_text(value: Value, schema: Mapping[str, Any], parameter: Parameter, today: date | None) -> Any:
    match schema.get("format"):
        case "date":
            return _date(value, today) or NOTHING
        case "date-time":
            return _moment(value, today) or NOTHING
        case "time":
            return _time(value) or NOTHING
        case "email" | "idn-email":
            return value.text if value.kind == "email" or inner_kind(value.text) == "email" else NOTHING
        case "uri" | "url":
            return _url(value)
        case _:
            return _plain(value, parameter, today)


def _date(value: Value, today: date | None) -> str | None:
    match value.kind:
        case "moment":
            return _moment_parts(value, today)[0]
        case "date":
            return str(value.data)
        case "day":
            return dates.resolve_day(value.text, today)
        case "quoted":
            return dates.iso_date(value.text)
        case _:
            return None


def _moment(value: Value, today: date | None) -> str | None:
    if value.kind == "quoted":
        return dates.iso_moment(value.text)
    if value.kind != "moment":
        return None
    if isinstance(value.data, str):
        return value.data
    day, time = _moment_parts(value, today)
    return f"{day}T{time}" if day else None


def _moment_parts(value: Value, today: date | None) -> tuple[str | None, str]:
    """The ISO date and the time of a moment."""
    if isinstance(value.data, str):
        return value.data[:10], value.data[11:]
    day, words, time = value.data
    return day or dates.resolve_day(words, today), time


def _time(value: Value) -> str | None:
    match value.kind:
        case "moment":
            return _moment_parts(value, None)[1]
        case "time":
            return str(value.data)
        case "quoted":
            return dates.iso_time(value.text)
        case _:
            return None


def _url(value: Value) -> Any:
    if value.kind == "url" or inner_kind(value.text) == "url":
        return value.text if re.match(r"[a-zA-Z][a-zA-Z0-9+.-]*:", value.text) else f"https://{value.text}"
    return NOTHING


def _plain(value: Value, parameter: Parameter, today: date | None) -> Any:
    """A string without a format: dates and times in ISO form, the rest as written."""
    sense = parameter.sense
    if value.kind in ("date", "day", "moment") and sense in ("date", "moment"):
        made = _moment(value, today) if value.kind == "moment" else _date(value, today)
        return made or (NOTHING if not _ISO_WORDS.isdisjoint(parameter.about) else value.text)
    if value.kind in ("time", "moment") and sense == "time":
        return (_time(value) or value.text).removesuffix(":00")
    if sense == "glob":
        return _glob(value, parameter)
    if sense == "currency":
        return value.text.upper() if re.fullmatch(r"[A-Za-z]{3}", value.text) else NOTHING
    return (str(value.data) if value.kind == "id" else value.text) or NOTHING


def _glob(value: Value, parameter: Parameter) -> Any:
    """A pattern as written; ".py" as "*.py"."""
    if value.kind == "path" and re.fullmatch(r"\.\w+", value.text):
        return glob_for(value.text[1:], parameter)
    return value.text if value.kind in ("glob", "path", "quoted") else NOTHING


def glob_for(ending: str, parameter: Parameter) -> str:
    """The pattern for files with that ending, through all folders where the parameter's own samples do so."""
    samples = [parameter.description, *(str(branch.get("default")) for branch in parameter.branches)]
    samples += [
        str(each) for branch in parameter.branches if is_list(branch.get("examples")) for each in branch["examples"]
    ]
    return ("**/*." if any("**" in sample for sample in samples) else "*.") + ending


def file_ending(word: str) -> str:
    """The ending that files of that kind have: "python" -> "py", "py" -> "py"; empty for an unknown kind."""
    return FILE_KINDS.get(word) or (word if word in FILE_KINDS.values() else "")


def is_numeral(value: Value) -> bool:
    """Whether a quoted text or an id is a number when looked at closely: "7", #1042."""
    if value.kind == "quoted":
        return to_number(value.text) is not None
    return value.kind == "id" and str(value.data).isdecimal() and str(value.data).isascii()


def inner_kind(text: str) -> str:
    """What a quoted text would be without its quotes, such as "path"."""
    token = single(text)
    return token.kind if token else "quoted"
