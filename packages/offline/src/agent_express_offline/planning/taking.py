"""Taking: the value of an earlier result that a parameter asks for, and what makes one result greater than another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from ..filling.conversion import NOTHING, convert
from ..filling.parameters import Parameter
from ..filling.schemas import problem
from ..filling.shapes import is_list, is_object
from ..reading.dates import iso_date
from ..reading.joining import join
from ..reading.literals import to_number
from ..reading.tokens import Token, scan, single
from ..reading.values import Value
from ..reading.words import stem, stems
from .results import Item, looks_like_path, plain

_POINTED: Final = frozenset(["path", "folder", "url", "email", "date", "id"])
_PATHS: Final = frozenset(["path", "folder"])
_FILE_WORDS: Final = frozenset(map(stem, ["path", "file", "filename", "folder", "name", "document"]))
_TAKEN_KINDS: Final = frozenset(["path", "url", "email", "date", "moment", "number", "id", "quoted"])
_HEAD: Final = 2000
_HUGE: Final = 1e300


def take(item: Item, parameter: Parameter) -> Any:
    """The value of *item* that *parameter* asks for; `NOTHING` where it has none.

    A field of the parameter's own name comes first, then the thing itself, then what the call was made with, then
    fields of a like name, then what can be found within a text; where a number is asked for, or one line of a listing
    is at hand, the text comes before what the call was made with.
    """
    within: Callable[[], Any] = lambda: _within(item.value, parameter)  # noqa: E731 (one of a row of tries)
    early = parameter.is_numeric or (item.listed and isinstance(item.value, str))
    tries: list[Callable[[], Any]] = [
        lambda: _same_name(item.fields, parameter),
        lambda: _itself(item, parameter),
        *([within] if early else []),
        lambda: _same_name(item.args, parameter),
        lambda: _like_name(item.fields, parameter),
        lambda: _like_name(item.args, parameter),
        within,
    ]
    return next((made for attempt in tries if (made := attempt()) is not NOTHING), NOTHING)


def take_argument(args: Mapping[str, Any], parameter: Parameter) -> Any:
    """The value that *parameter* asks for out of what an earlier call was made with."""
    return take(Item(None, args), parameter)


def fits(value: Any, parameter: Parameter) -> bool:
    """Whether *value* can be what *parameter* gets, or one item of it for a parameter that takes a list."""
    if parameter.is_array and not is_list(value):
        items = (branch.get("items", True) for branch in parameter.branches)
        return any(problem(value, each, parameter.root) is None for each in items)
    return problem(value, parameter.schema, parameter.root) is None


def _same_name(fields: Mapping[str, Any], parameter: Parameter) -> Any:
    fitting = (value for name, value in fields.items() if stems(str(name)) == parameter.stems)
    return next((value for value in fitting if fits(value, parameter)), NOTHING)


def _like_name(fields: Mapping[str, Any], parameter: Parameter) -> Any:
    fitting = (value for name, value in fields.items() if _is_about(str(name), parameter))
    return next((value for value in fitting if fits(value, parameter)), NOTHING)


def _is_about(name: str, parameter: Parameter) -> bool:
    """Whether a field of that name is what the parameter is about: "id" for "order_id", "file" for "path"."""
    last = stems(name)[-1:]
    if not last:
        return False
    return last[0] in parameter.stems or (parameter.sense in _PATHS and last[0] in _FILE_WORDS)


def _itself(item: Item, parameter: Parameter) -> Any:
    """The thing as a whole, where it is of the right kind as a whole."""
    value = item.value
    if parameter.is_numeric:
        return value if value is not None and fits(value, parameter) else NOTHING
    if not isinstance(value, str) or not value:
        return NOTHING
    if parameter.sense in _PATHS:
        right = looks_like_path(value, bare=item.listed)
    elif parameter.sense in _POINTED:
        right = single(value) is not None
    else:
        right = "\n" not in value
    return value if right and fits(value, parameter) else NOTHING


def _within(value: Any, parameter: Parameter) -> Any:
    """A path, an address or a number within a text, or the text itself where text is asked for."""
    if value is None:
        return NOTHING
    if isinstance(value, str):
        pointed = parameter.is_numeric or parameter.sense in _POINTED
        return _first_token(value, parameter) if pointed else _text(value, parameter)
    if is_object(value) and parameter.is_numeric:
        numbers = [each for each in value.values() if not isinstance(each, bool) and fits(each, parameter)]
        return numbers[0] if len(numbers) == 1 else NOTHING
    if is_object(value) or is_list(value):
        return _text(plain(value), parameter) if parameter.sense in ("content", "") else NOTHING
    return NOTHING if parameter.sense in _POINTED - {"id"} else _text(plain(value), parameter)


def _text(text: str, parameter: Parameter) -> Any:
    return text if fits(text, parameter) else NOTHING


def _first_token(text: str, parameter: Parameter) -> Any:
    """The first fitting token near the beginning of *text*; a number only where there is no other."""
    tokens = join(scan(text[:_HEAD], 60))
    made = [json for token in tokens if (json := _of_token(token, parameter)) is not NOTHING]
    if parameter.is_numeric and len(set(made)) != 1:
        return NOTHING
    return made[0] if made else NOTHING


def _of_token(token: Token, parameter: Parameter) -> Any:
    if parameter.sense in _PATHS and token.kind != "path":
        head = token.text.split(":", 1)[0]  # "src/a.py:12:" is how searches say where
        return head if ":" in token.text and looks_like_path(head, bare=False) and fits(head, parameter) else NOTHING
    if token.kind not in _TAKEN_KINDS:
        return NOTHING
    made = convert(Value(token.kind, token.text, token.value, 0, 1), parameter, None)
    if parameter.sense == "date" and made is not NOTHING and iso_date(str(made)[:10]) is None:
        return NOTHING
    return made


# --- which is the greatest ------------------------------------------------------------------------


def measure(item: Item, fields: str) -> float | str | None:
    """What decides between items: the first of *fields* that it has, else its one number, else None."""
    known = {**item.args, **item.fields}
    for wanted in map(stem, fields.split()):
        for name, value in known.items():
            if wanted in stems(str(name)) and (decided := _comparable(value)) is not None:
                return decided
    if is_object(item.value):
        numbers = [number for each in item.value.values() if (number := _finite(each)) is not None]
    else:
        numbers = _numbers_in(item.value)
    return numbers[0] if len(numbers) == 1 else None


def _comparable(value: Any) -> float | str | None:
    if isinstance(value, str):
        number = to_number(value)
        return float(number) if number is not None else value if iso_date(value[:10]) else None
    return _finite(value)


def _finite(value: Any) -> float | None:
    number = isinstance(value, int | float) and not isinstance(value, bool)
    return float(value) if number and abs(value) < _HUGE else None


def _numbers_in(value: Any) -> list[float]:
    if isinstance(value, str):
        return [float(token.value) for token in scan(value[:500], 40) if token.kind == "number"]
    number = _finite(value)
    return [] if number is None else [number]
