"""The invariant of a history: whatever has happened, any provider would take it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from ..messages import Message, ToolCall, ToolResult
from .plain import canonical, plain
from .scripted import glance


def check_history(messages: Iterable[Message]) -> None:
    """Check that *messages* could be sent to any provider.

    Each tool call has exactly one result, in the message right after it and in the order of the calls; arguments are
    JSON objects; call ids are there and unique within their message; the user speaks first and nobody but the user
    twice in a row; parts stand where they belong; everything can be written as JSON.

    Raises:
        AssertionError: Says of each message what is wrong, and shows the whole history in short.
    """
    __tracebackhide__ = True
    history = list(messages)
    faults = [f"message {n}: {fault}" for n in range(len(history)) for fault in _faults(history, n)]
    if faults:
        account = [f"  {n}  {glance(message)}" for n, message in enumerate(history)]
        raise AssertionError("\n".join(["no provider would take this history:", *faults, "the history:", *account]))


def _faults(history: Sequence[Message], n: int) -> Iterator[str]:
    message = history[n]
    before = history[n - 1] if n else None
    yield from _place(message, before)
    yield from _parts(message)
    yield from _calls(message.tool_calls)
    if message.role == "tool" and before is not None and before.tool_calls:
        yield from _results(before.tool_calls, message)
    if message.tool_calls and (n + 1 == len(history) or history[n + 1].role != "tool"):
        follows = "nothing follows" if n + 1 == len(history) else f"{glance(history[n + 1])} follows"
        yield f"{_ids(message.tool_calls)} have no results: {follows}"
    try:
        canonical(plain(message)).encode("utf-8")
    except (TypeError, ValueError) as error:
        yield f"cannot be written as JSON: {error}"


def _place(message: Message, before: Message | None) -> Iterator[str]:
    if before is None:
        if message.role != "user":
            yield f"the {message.role} speaks first, expected the user"
    elif message.role == "tool" and not before.tool_calls:
        yield f"results of no call: before it stands {glance(before)}"
    elif message.role == "assistant" and before.role == "assistant":
        yield "the assistant speaks twice in a row"


def _parts(message: Message) -> Iterator[str]:
    for part in message.parts:
        if isinstance(part, ToolResult) != (message.role == "tool"):
            yield f"a {part.kind} in a message of the role {message.role}"
        if isinstance(part, ToolCall) and message.role != "assistant":
            yield f"a tool call said by the {message.role}"


def _calls(calls: Sequence[ToolCall]) -> Iterator[str]:
    ids = [call.id for call in calls]
    for call in calls:
        if not call.id:
            yield f"the call of {call.name!r} has no id"
        elif ids.count(call.id) > 1:
            yield f"the id {call.id!r} stands for {ids.count(call.id)} calls"
        fault = _argument_fault(call.args)
        if fault:
            yield f"the arguments of {call.name!r} ({call.id}) are {call.args[:60]!r}: {fault}"


def _argument_fault(args: str) -> str:
    try:
        value = json.loads(args, parse_constant=_no_constant)
    except ValueError as error:
        return f"not JSON ({error})"
    return "" if isinstance(value, dict) else f"a JSON {type(value).__name__}, expected an object"


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _results(calls: Sequence[ToolCall], message: Message) -> Iterator[str]:
    wanted = [(call.id, call.name) for call in calls]
    found = [(part.call_id, part.name) for part in message.parts if isinstance(part, ToolResult)]
    if [each for each, _ in found] != [each for each, _ in wanted]:
        yield f"results of {_listed(found)}, expected one each of {_listed(wanted)}, in this order"
    elif any(name and name != call for (_, name), (_, call) in zip(found, wanted, strict=True)):
        yield f"results of {_listed(found)} to calls of {_listed(wanted)}"


def _ids(calls: Sequence[ToolCall]) -> str:
    return _listed([(call.id, call.name) for call in calls])


def _listed(pairs: Sequence[tuple[str, str]]) -> str:
    return ", ".join(f"{name} ({call_id})" for call_id, name in pairs) or "nothing"
