"""Recorded traffic with one model as a file of JSON lines, UTF-8.

The first line says what the file is: `{"format": "agent-express-cassette", "version": 1, "model": "openai:gpt-5"}`.
Each further line is one exchange: `request`, `deltas` as they were streamed, and `response`, or `error`, or neither
where the reader closed the stream before its end. Fields at their default are left out.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from pydantic import TypeAdapter, ValidationError

from ..errors import ModelError
from ..events import Event, dump
from ..messages import Message, ModelRequest, ModelResponse, Named, OutputSchema, Section, Settings, ToolDef
from .errors import CassetteError
from .plain import JSON, canonical, is_object, plain

FORMAT, VERSION = "agent-express-cassette", 1


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and what came back, as JSON data.

    Attributes:
        request: Messages, system sections, tools, settings, output; not the model.
        deltas: What was streamed before the end.
        response: The response; None where there was none.
        error: Of a `ModelError`: its class and bases, message, retryable, retry_after, status.
    """

    request: JSON
    deltas: tuple[JSON, ...]
    response: JSON = None
    error: JSON = None


@dataclass(frozen=True, slots=True)
class Cassette:
    """A file's content.

    Attributes:
        model: The name of the model that was recorded.
        exchanges: In the order in which they ended.
        context_window: What the model said of itself.
        modalities: What the model said of itself.
    """

    model: str
    exchanges: tuple[Exchange, ...] = ()
    context_window: int | None = None
    modalities: frozenset[str] | None = None


# --- the file -----------------------------------------------------------------------------------


def write(path: Path, cassette: Cassette) -> None:
    """Write *cassette* to *path*, whole or not at all.

    Raises:
        CassetteError: It holds what UTF-8 JSON cannot.
    """
    head: dict[str, JSON] = {"format": FORMAT, "version": VERSION, "model": cassette.model}
    if cassette.context_window is not None:
        head["context_window"] = cassette.context_window
    if cassette.modalities is not None:
        head["modalities"] = sorted(cassette.modalities)
    try:
        lines = [json.dumps(head, ensure_ascii=False), *(canonical(plain(each)) for each in cassette.exchanges)]
        content = "".join(f"{line}\n" for line in lines).encode("utf-8")
    except (TypeError, ValueError) as error:
        raise CassetteError(f"{path}: the exchange cannot be written as JSON: {error}") from error
    path.parent.mkdir(parents=True, exist_ok=True)
    _replace(path, content)


def _replace(path: Path, content: bytes) -> None:
    handle, name = tempfile.mkstemp(prefix=path.name, suffix=".tmp", dir=path.parent)
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def read(path: Path) -> Cassette:
    """Read the file at *path*.

    Raises:
        CassetteError: It is missing, of another version, or a line of it is damaged.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        raise CassetteError(f"nothing is recorded at {path}: run the test once in the mode 'record'") from None
    head = _line(path, 1, lines[0]) if lines else {}
    if head.get("format") != FORMAT or head.get("version") != VERSION:
        found = f"{head.get('format')!r} version {head.get('version')!r}"
        raise CassetteError(f"{path} is {found}, expected {FORMAT!r} version {VERSION}: record it again")
    modalities = head.get("modalities")
    return Cassette(
        model=head.get("model", ""),
        exchanges=tuple(_exchange(path, number, line) for number, line in enumerate(lines[1:], 2)),
        context_window=head.get("context_window"),
        modalities=None if modalities is None else frozenset(modalities),
    )


def _line(path: Path, number: int, line: str) -> dict[str, JSON]:
    try:
        value = json.loads(line)
    except ValueError as error:
        raise CassetteError(f"{path}, line {number} is not JSON ({error}): record it again") from error
    if not is_object(value):
        raise CassetteError(f"{path}, line {number} is {line[:60]}, expected a JSON object: record it again")
    return value


def _exchange(path: Path, number: int, line: str) -> Exchange:
    fields = _line(path, number, line)
    if "request" not in fields:
        raise CassetteError(f"{path}, line {number} has no request: record it again")
    return Exchange(fields["request"], tuple(fields.get("deltas", ())), fields.get("response"), fields.get("error"))


# --- requests and responses -----------------------------------------------------------------------

_ASKED: Mapping[str, TypeAdapter[Any]] = {
    "system": TypeAdapter(tuple[Section, ...]),
    "messages": TypeAdapter(tuple[Message, ...]),
    "tools": TypeAdapter(tuple[ToolDef, ...]),
    "settings": TypeAdapter(Settings),
    "output": TypeAdapter(OutputSchema),
}
_RESPONSE = TypeAdapter(ModelResponse)


def dump_request(request: ModelRequest) -> JSON:
    """What of *request* has to be the same: everything but the model."""
    fields = {name: plain(getattr(request, name)) for name in _ASKED}
    return {name: value for name, value in fields.items() if value}


def load_request(fields: JSON, model: Named) -> ModelRequest:
    """The request that `dump_request` wrote, to *model*."""
    return ModelRequest(model, **{name: _ASKED[name].validate_python(value) for name, value in fields.items()})


def load_response(fields: JSON) -> ModelResponse:
    """The response that `plain` wrote."""
    return _RESPONSE.validate_python(fields)


# --- deltas -------------------------------------------------------------------------------------


def dump_delta(event: Event) -> JSON:
    """*event* as JSON data."""
    return dump(event)


def load_delta(fields: JSON) -> Event:
    """The event that `dump_delta` wrote.

    Raises:
        CassetteError: No class of that type is imported, or it has other fields now.
    """
    rest = {name: value for name, value in fields.items() if name not in ("type", "version")}
    kind = next((kind for kind in _kinds(Event) if vars(kind).get("type") == fields["type"]), None)
    if kind is None:
        raise CassetteError(
            f"no event class of type {fields['type']!r} is imported: import the module that declares it"
        )
    try:
        return cast(Event, _adapter(kind).validate_python(rest))
    except ValidationError as error:
        raise CassetteError(f"{kind.__name__} does not take {rest}: record it again ({error})") from error


def _kinds(kind: type[Event]) -> Iterator[type[Event]]:
    """All subclasses that are complete: a class before it was rebuilt with slots has no type of its own."""
    for each in kind.__subclasses__():
        yield each
        yield from _kinds(each)


@lru_cache(maxsize=64)
def _adapter(kind: type[Event]) -> TypeAdapter[Any]:
    return TypeAdapter(kind)


# --- errors -------------------------------------------------------------------------------------


def dump_error(error: ModelError) -> JSON:
    """*error* as JSON data: its class and what it is made of."""
    return {
        "classes": [kind.__name__ for kind in type(error).__mro__ if issubclass(kind, ModelError)],
        "message": str(error),
        "retryable": error.retryable,
        "retry_after": error.retry_after,
        "status": error.status,
    }


def load_error(fields: JSON) -> ModelError:
    """The error that `dump_error` wrote, of its own class, or of the nearest base that is imported."""
    known = {"ModelError": ModelError} | {kind.__name__: kind for kind in _errors(ModelError)}
    names: Sequence[str] = fields["classes"]
    kind = next(known[name] for name in names if name in known)
    error = kind.__new__(kind, fields["message"])  # a subclass may have an __init__ of its own form
    ModelError.__init__(
        error,
        fields["message"],
        retryable=fields["retryable"],
        retry_after=fields["retry_after"],
        status=fields["status"],
    )
    return error


def _errors(kind: type[ModelError]) -> Iterator[type[ModelError]]:
    for each in kind.__subclasses__():
        yield from _errors(each)
        yield each
