"""What a machine reads: one JSON object per line, the answer last; failures and notes likewise, on stderr."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Mapping
from typing import Any, TextIO

from agent_express import Answer, Event
from agent_express.errors import EventError
from agent_express.events import dump

from ..errors import Problem
from ..output import Output


def event_object(event: Event) -> dict[str, Any]:
    """An event as a JSON object: an entry of the log as a store has it, a delta as kind, path and fields."""
    if event.durable:
        return dump(event)
    try:
        fields = dump(event)
    except EventError:
        fields = {"type": event.type, "text": repr(event)}
    head = {"type": event.type, "path": event.path} if event.path else {"type": event.type}
    return head | {key: value for key, value in fields.items() if key not in ("type", "version", "path")}


def answer_object(answer: Answer[Any]) -> dict[str, Any]:
    """The answer as a JSON object; tokens are null where the provider does not report them."""
    used = answer.usage
    return {
        "type": "answer",
        "text": answer.text,
        "status": answer.status,
        "limit": answer.limit,
        "session_id": answer.session_id,
        "turn_id": answer.turn_id,
        "usage": {
            "input_tokens": used.tokens.input_tokens,
            "output_tokens": used.tokens.output_tokens,
            "model_calls": used.model_calls,
            "tool_calls": used.tool_calls,
        },
    }


class JsonScreen:
    """Writes turns as JSON Lines.

    Args:
        out: Takes the events and the answer.
        err: Takes failures and notes.
    """

    def __init__(self, out: TextIO, err: TextIO) -> None:
        self._out, self._err = Output(out), Output(err)

    def event(self, event: Event) -> None:
        """Write *event*."""
        _write(self._out, event_object(event))

    def answer(self, answer: Answer[Any]) -> None:
        """Write the answer."""
        _write(self._out, answer_object(answer))

    def interrupted(self) -> None:
        """Say that Ctrl-C has ended the turn."""
        _write(self._err, {"type": "interrupted"})

    def problem(self, problem: Problem) -> None:
        """Say what went wrong."""
        _write(self._err, problem_object(problem))

    def note(self, text: str) -> None:
        """Say something that is no answer."""
        _write(self._err, {"type": "note", "message": text})

    def report(self, title: str, lines: Iterable[str]) -> None:
        """Write what was asked for beside the answer."""
        _write(self._out, {"type": title, "lines": list(lines)})


def problem_object(problem: Problem) -> dict[str, Any]:
    """A failure as a JSON object."""
    return {"type": "error", "error": problem.kind, "message": problem.message, "exit_code": int(problem.code)}


def _write(output: Output, value: Mapping[str, Any]) -> None:
    line = json.dumps(value, ensure_ascii=False)
    output.write(f"{_SEPARATOR.sub(_escaped, line)}\n")


_SEPARATOR = re.compile(r"[\x85\u2028\u2029]")
"""What some readers take for the end of a line, and JSON does not escape."""


def _escaped(found: re.Match[str]) -> str:
    return f"\\u{ord(found[0]):04x}"


def json_screen() -> JsonScreen:
    """The screen of this process."""
    return JsonScreen(sys.stdout, sys.stderr)
