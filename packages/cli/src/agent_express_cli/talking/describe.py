"""Events in a few words: the lines that are shown while a turn runs, and the rows of its log. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any, Literal, NamedTuple, TypeAlias, cast

from agent_express import Event, Message, Restarted, ToolCalled, ToolReturned, TurnEnded
from agent_express.events import (
    Answered,
    ContextCompacted,
    Failed,
    MessageInterrupted,
    ModelCalled,
    ModelResponded,
    Recovered,
    SessionIdentified,
    SessionOpened,
    StateChanged,
    ToolProgressed,
    ToolRan,
    ToolRegistered,
    ToolStarted,
    TurnContinued,
    TurnStarted,
    UserSaid,
)

from ..words import arguments, count, one_line, printable

Style: TypeAlias = Literal["call", "result", "failure", "aside", "nested"]


class Line(NamedTuple):
    """One line beside the answer.

    Attributes:
        text: What it says; one line.
        style: What it is: a tool is called, has returned, has failed; a remark; what a nested agent says.
        path: The nested agents it came through, "researcher/reader"; empty for the agent itself.
    """

    text: str
    style: Style
    path: str = ""


def called(event: ToolCalled, room: int) -> Line:
    """A tool is called: `read_file(path="README.md")`."""
    name = printable(event.name)
    return Line(f"{name}({arguments(event.args, room - len(name) - 2)})", "call", event.path)


def returned(event: ToolReturned, room: int) -> Line:
    """A tool has returned: its name and the beginning of its result, or why there is none."""
    style: Style = "failure" if event.result.is_error else "result"
    head = f"{printable(event.name)}{_how(event)}: "
    return Line(f"{head}{one_line(_shown(event), room - len(head))}", style, event.path)


def _how(event: ToolReturned) -> str:
    """What to know of a result that the tool itself did not give."""
    by = f" by {event.by}" if event.by else ""
    match event.how:
        case "denied" | "skipped" | "answered":
            return f" ({event.how}{by})"
        case "invalid":
            return " (arguments)"
        case "no_tool":
            return " (unknown)"
        case "refused" | "withheld" | "unknown" | "not_run":
            return f" ({event.how.replace('_', ' ')})"
        case "ran" | "failed":
            return ""


def _shown(event: ToolReturned) -> str:
    text = event.result.text
    if text:
        return text
    kinds = [part.kind for part in event.result.parts if part.kind != "text"]
    return ", ".join(kinds) if kinds else "nothing"


def progressed(event: ToolProgressed, room: int) -> Line:
    """A tool tells how far it is."""
    head = f"{printable(event.name)}: "
    return Line(f"{head}{one_line(str(event.item), room - len(head))}", "aside", event.path)


def restarted(event: Restarted) -> Line:
    """Something is tried again."""
    what = "" if event.level in ("model", "turn") else f" {event.level}"
    return Line(f"(starting{what} again: {event.by}, attempt {event.attempt})", "aside", event.path)


# --- the log --------------------------------------------------------------------------------------


def rows(events: Sequence[Event], room: int) -> list[str]:
    """One row per event: seconds since the first one, kind, details, the nested agent it came from."""
    if not events:
        return ["nothing was logged"]
    start = next((event.at for event in events if event.at), 0.0)
    kinds = max(len(event.type) for event in events)
    return [_row(event, start, kinds, room) for event in events]


def _row(event: Event, start: float, kinds: int, room: int) -> str:
    head = f"{event.at - start:8.3f}  {event.type:<{kinds}}  "
    path = f"[{event.path}] " if event.path else ""
    return f"{head}{path}{one_line(details(event), max(room - len(head) - len(path), 20))}".rstrip()


def details(event: Event) -> str:
    """What there is to know of *event* beside its kind; its fields where it is of a kind unknown here."""
    match event:
        case SessionOpened():
            return f"{event.session_id}, agent {event.agent}"
        case SessionIdentified():
            may = f", who may {', '.join(event.scopes)}" if event.scopes else ""
            return f"{event.user_id or 'nobody'}{may}"
        case TurnStarted():
            return f"through {', '.join(event.stack)}" if event.stack else "no middleware"
        case UserSaid():
            return _said(event.message)
        case TurnContinued():
            return f"by {event.by}{f': {event.message.text}' if event.message else ''}"
        case ModelCalled():
            return _model_call(event)
        case ModelResponded():
            return _response(event)
        case MessageInterrupted():
            return event.message.text
        case ToolCalled():
            return f"{event.name}({arguments(event.args, 200)})"
        case ToolStarted():
            return event.name
        case ToolRan():
            return event.result.text
        case ToolReturned():
            return f"{event.name}{_how(event)}: {_shown(event)}"
        case ToolRegistered():
            return f"{event.name} by {event.by}"
        case StateChanged():
            return ", ".join(f"{owner}: {' '.join(fields)}" for owner, fields in event.changes.items())
        case ContextCompacted():
            return f"by {event.by}: {event.summary.text}"
        case Answered():
            return f"{event.level} by {event.by}"
        case Restarted():
            return f"{event.level} by {event.by}, attempt {event.attempt}"
        case Recovered() | Failed():
            return f"{event.by}: {event.error}"
        case TurnEnded():
            return f"{event.status}{f' by {event.by}' if event.by else ''}{f': {event.reason}' if event.reason else ''}"
        case _:
            return _fields(event)


def _fields(event: Event) -> str:
    """What an event of somebody else's kind holds: `path: notes.txt, bytes: 312`."""
    held = [(each.name, getattr(event, each.name)) for each in fields(cast(Any, event)) if each.init and each.repr]
    return ", ".join(f"{name}: {value}" for name, value in held)


def _said(message: Message) -> str:
    origin = f"({message.origin}) " if message.origin else ""
    return f"{origin}{message.text or ', '.join(part.kind for part in message.parts)}"


def _model_call(event: ModelCalled) -> str:
    own = f" for {event.by}: {event.purpose}" if event.purpose else ""
    return f"{event.model}{own}{f', attempt {event.attempt}' if event.attempt > 1 else ''}"


def _response(event: ModelResponded) -> str:
    message = event.response.message
    wanted = [call.name for call in message.tool_calls]
    calls = f"calls {', '.join(wanted)}" if wanted else ""
    tokens = event.response.usage.total_tokens
    used = f" ({count(tokens, 'token')})" if tokens is not None else ""
    return f"{' '.join(part for part in (calls, message.text) if part)}{used}"
