"""Typed events: deltas of the stream and entries of the log.

An event class is declared by subclassing and becomes a slotted dataclass by itself:

    class CardMasked(Event, type="guards:card-masked", version=1):
        kind: str

Durable events go to the log; deltas (`durable=False`) are streamed and never stored.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, Literal, TypeAlias

from .event import End, EndStatus, Event, EventMeta, check, dump
from .messages import Message, ModelResponse, ToolResult

TurnStatus: TypeAlias = Literal["running", "completed", "limit", "parked", "aborted", "failed", "cancelled", "timeout"]
How: TypeAlias = Literal[
    "ran", "failed", "invalid", "no_tool", "refused", "denied", "skipped", "answered", "withheld", "unknown", "not_run"
]


# --- deltas: streamed, never stored -------------------------------------------------------------


class Delta(Event, type="delta", durable=False):
    """A piece of something that is still growing."""


class TextDelta(Delta, type="delta:text", durable=False):
    """A piece of the answer's text."""

    text: str


class ReasoningDelta(Delta, type="delta:reasoning", durable=False):
    """A piece of the model's thinking."""

    text: str


class ToolCallDelta(Delta, type="delta:tool-call", durable=False):
    """A piece of the arguments of a tool call.

    Attributes:
        index: Which call of this answer, from 0.
        args: The next piece of the JSON text.
        call_id: The provider's id, as soon as it is known.
        name: The tool's name, as soon as it is known.
    """

    index: int
    args: str = ""
    call_id: str = ""
    name: str = ""


class ToolProgressed(Delta, type="delta:tool-progress", durable=False):
    """A tool that yields progress has yielded *item*."""

    call_id: str
    name: str
    item: Any


# --- the log ------------------------------------------------------------------------------------


class SessionOpened(Event, type="session:opened"):
    """A new session."""

    session_id: str
    agent: str
    user_id: str | None = None


class SessionIdentified(Event, type="session:identified"):
    """A session hook said who is talking."""

    user_id: str | None
    scopes: tuple[str, ...] = ()


class SessionClosed(Event, type="session:closed"):
    """The session was closed in this process; it can be opened again."""


class TurnStarted(Event, type="turn:started"):
    """A turn began under this stack of middleware."""

    turn_id: str
    index: int
    stack: tuple[str, ...] = ()
    metadata: Mapping[str, Any] | None = None


class UserSaid(Event, type="user:said"):
    """The user's message, in its final form; also what middleware adds to stay (its *origin* says so)."""

    message: Message


class TurnContinued(Event, type="turn:continued"):
    """The model was sent back to work.

    Attributes:
        by: The middleware that asked for it, "output" for an answer of the wrong form.
        n: The how-many-th of this turn, from 1.
        message: What it was told; None where it is simply asked anew.
    """

    by: str
    n: int
    message: Message | None = None


class TurnEnded(Event, type="turn:ended"):
    """A turn is over.

    Attributes:
        output: The answer of record, where it is not the last thing the model said.
    """

    turn_id: str
    status: TurnStatus
    reason: str | None = None
    by: str | None = None
    output: Message | None = None


class ModelCalled(Event, type="model:called"):
    """A model is about to be called. Digests are short hashes of what is sent.

    Attributes:
        index: The step of the turn, from 0; -1 for a middleware's own call.
        model: The name of the model that is called.
        digests: Of "messages", "tools", "settings", and each system section as "system:<key>".
        attempt: The how-many-th real call of this step, from 1.
        purpose: Of a middleware's own call; empty for the loop's.
        by: The middleware whose own call it is.
    """

    index: int
    model: str
    digests: Mapping[str, str]
    attempt: int = 1
    purpose: str = ""
    by: str = ""


class ModelResponded(Event, type="model:responded"):
    """The answer as the outermost model hook returned it."""

    index: int
    response: ModelResponse
    purpose: str = ""


class MessageInterrupted(Event, type="model:interrupted"):
    """A cancelled call had said this much."""

    message: Message


class ToolCalled(Event, type="tool:called"):
    """A tool call is about to go through the tool hooks.

    Attributes:
        key: Unique in the session: turn, step, position.
        call_id: The provider's id.
        args: As validated, defaults written out; as the model wrote them where they do not validate.
    """

    key: str
    call_id: str
    name: str
    args: Mapping[str, Any]


class ToolStarted(Event, type="tool:started"):
    """The body of a tool is about to run; of a read-only one where a hook changed its arguments.

    Attributes:
        args: The final arguments, where a hook changed them.
    """

    key: str
    call_id: str
    name: str
    args: Mapping[str, Any] | None = None


class ToolRan(Event, type="tool:ran"):
    """The body of a tool has ended: its outcome, before the after-parts of the hooks."""

    key: str
    call_id: str
    result: ToolResult


class ToolReturned(Event, type="tool:returned"):
    """The result of a call as the outermost tool hook returned it.

    Attributes:
        how: "ran"; "failed": the tool raised; "invalid": its arguments; "no_tool": there is none of that name;
            "refused": hidden, not allowed, or too many; "denied", "skipped", "answered": by a middleware; "withheld":
            it ran, the turn ended before its result came out; "unknown": the turn ended while it ran; "not_run": the
            turn ended before.
        by: The middleware that denied, skipped or answered.
    """

    key: str
    call_id: str
    name: str
    result: ToolResult
    how: How = "ran"
    by: str | None = None


class ToolRegistered(Event, type="tool:registered"):
    """A middleware registered a tool for this session."""

    name: str
    by: str


class StateChanged(Event, type="state:changed"):
    """What one step changed: per middleware and field `{"set": value}` or `{"append": [items]}`.

    Attributes:
        changes: Of all fields that are not private.
        private: Of the private ones: for the store only, never shown.
    """

    changes: Mapping[str, Mapping[str, Any]]
    private: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]], repr=False)


class ContextCompacted(Event, type="context:compacted"):
    """The history up to the entry *upto* is sent as *summary* from now on; the entries stay in the log."""

    upto: int
    summary: Message
    by: str = ""


class Answered(Event, type="answered"):
    """A layer answered by itself: nothing further in ran."""

    level: str
    by: str


class Recovered(Event, type="recovered"):
    """A hook caught a failure and did not pass it on."""

    level: str
    by: str
    error: str


class Restarted(Event, type="restarted"):
    """Something runs again: what was streamed of the try before is to be discarded.

    Attributes:
        by: The middleware that repeats.
        attempt: The how-many-th try now begins, from 2.
        level: "turn", "model" or "tool".
    """

    by: str
    attempt: int
    level: str = "model"


class Failed(Event, type="error"):
    """A failure outside of a turn's own end: a deferred function, a tool that could not be stopped."""

    by: str
    error: str


__all__ = [
    "Answered",
    "ContextCompacted",
    "Delta",
    "End",
    "EndStatus",
    "Event",
    "EventMeta",
    "Failed",
    "How",
    "MessageInterrupted",
    "ModelCalled",
    "ModelResponded",
    "ReasoningDelta",
    "Recovered",
    "Restarted",
    "SessionClosed",
    "SessionIdentified",
    "SessionOpened",
    "StateChanged",
    "TextDelta",
    "ToolCallDelta",
    "ToolCalled",
    "ToolProgressed",
    "ToolRan",
    "ToolRegistered",
    "ToolReturned",
    "ToolStarted",
    "TurnContinued",
    "TurnEnded",
    "TurnStarted",
    "TurnStatus",
    "UserSaid",
    "check",
    "dump",
]
