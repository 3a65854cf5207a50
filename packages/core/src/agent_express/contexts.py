"""The contexts that hooks get: `AgentContext > SessionContext > TurnContext > ModelContext | ToolContext`.

A context is a thin view, made anew per call; what it shows lives in the records of session and turn, which all
contexts of that session or turn share.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections import deque
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import CodeType, MappingProxyType
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeVar, cast, overload

from .errors import (
    Aborted,
    EventError,
    ExpressError,
    HookError,
    SessionForbiddenError,
    Signal,
    TooLateError,
    TurnError,
)
from .events import ContextCompacted, Event, SessionIdentified, TurnContinued, TurnStatus, UserSaid
from .log import Log
from .messages import (
    Limits,
    Message,
    ModelRequest,
    ModelResponse,
    Named,
    Section,
    Settings,
    ToolCall,
    ToolDef,
    ToolResult,
    Usage,
)
from .state import State
from .stream import sink

T = TypeVar("T")


class AnyTool(Protocol):
    """What a context knows of a tool."""

    @property
    def name(self) -> str:
        """The tool's name."""
        ...

    @property
    def definition(self) -> ToolDef:
        """What the model is told of it."""
        ...


@dataclass(frozen=True, slots=True)
class AgentInfo:
    """What middleware may know of the agent it serves."""

    name: str
    model: Named
    instructions: str
    limits: Limits


class TurnUsage:
    """What a turn or a session has used: a running sum over all model calls, nested and internal ones included.

    Attributes:
        tokens: The sum of what the providers reported.
        model_calls: Answers received.
        attempts: Calls that went out, failed ones included.
        unreported: Answers that came without usage.
        tool_calls: Tool bodies that ran.
        failures: Model calls and tool bodies that failed.
    """

    __slots__ = ("attempts", "failures", "model_calls", "parent", "tokens", "tool_calls", "unreported")

    def __init__(self, parent: TurnUsage | None = None) -> None:
        self.tokens = Usage()
        self.model_calls = self.attempts = self.unreported = self.tool_calls = self.failures = 0
        self.parent = parent

    @property
    def input_tokens(self) -> int:
        """Tokens sent; what was not reported is not in it."""
        return self.tokens.input_tokens or 0

    @property
    def output_tokens(self) -> int:
        """Tokens received; what was not reported is not in it."""
        return self.tokens.output_tokens or 0

    @property
    def total_tokens(self) -> int:
        """Tokens sent and received; what was not reported is not in it."""
        return self.tokens.total_tokens or 0

    def count(self, what: str) -> None:
        """Add one to the counter *what*, here and in all that enclose it."""
        each: TurnUsage | None = self
        while each is not None:
            setattr(each, what, getattr(each, what) + 1)
            each = each.parent

    def add(self, usage: Usage) -> None:
        """Add the tokens of one answer, here and in all that enclose it."""
        known = usage.input_tokens is not None or usage.output_tokens is not None
        each: TurnUsage | None = self
        while each is not None:
            each.model_calls += 1
            if known:
                each.tokens = each.tokens + usage
            else:
                each.unreported += 1
            each = each.parent

    def __repr__(self) -> str:
        shown = ("model_calls", "attempts", "tool_calls", "failures", "unreported")
        return f"TurnUsage({self.tokens}, {', '.join(f'{name}={getattr(self, name)}' for name in shown)})"


class Resources:
    """Live objects of an open session, by their type: `ctx.resources[Database] = db`. Never persisted."""

    __slots__ = ("_held",)

    def __init__(self, held: Mapping[Any, Any] | None = None) -> None:
        self._held: dict[Any, Any] = dict(held or {})

    @overload
    def __getitem__(self, key: type[T]) -> T: ...
    @overload
    def __getitem__(self, key: str) -> Any: ...
    def __getitem__(self, key: Any) -> Any:
        try:
            return self._held[key]
        except KeyError:
            have = ", ".join(_name_of(each) for each in self._held) or "none"
            raise KeyError(
                f"no resource {_name_of(key)} in this session; there are: {have}; "
                "set it in a session hook or open the session with resources={...}"
            ) from None

    def __setitem__(self, key: type[T] | str, value: T) -> None:
        self._held[key] = value

    def __delitem__(self, key: type[Any] | str) -> None:
        del self._held[key]

    def __contains__(self, key: object) -> bool:
        return key in self._held

    @overload
    def get(self, key: type[T]) -> T | None: ...
    @overload
    def get(self, key: str) -> Any: ...
    def get(self, key: Any) -> Any:
        """The resource, or None."""
        return self._held.get(key)


def _name_of(key: Any) -> str:
    return repr(key) if isinstance(key, str) else getattr(key, "__name__", repr(key))


# --- records: what contexts share ---------------------------------------------------------------


class Runtime(Protocol):
    """What the agent does on behalf of its contexts."""

    info: AgentInfo | None
    identities: Mapping[int, str]

    def find_model(self, model: Named | str) -> Named:
        """The model of that name."""
        ...

    def add_tool(self, session: SessionRecord | None, tool: AnyTool, by: str) -> None:
        """Register a tool for all sessions, or for one."""
        ...

    async def ask(self, ctx: TurnContext, by: str, messages: Sequence[Message], options: AskOptions) -> Any:
        """Make a middleware's own model call."""
        ...

    async def run_nested(self, ctx: TurnContext, agent: Any, options: NestedOptions) -> Any:
        """Run another agent inside this turn."""
        ...


@dataclass(frozen=True, slots=True)
class AskOptions:
    """How a middleware's own model call differs from the loop's."""

    model: Named | str | None
    output: Any
    purpose: str
    settings: Settings | None


@dataclass(frozen=True, slots=True)
class NestedOptions:
    """How a nested agent is run."""

    input: Any
    inherit: bool
    state: tuple[str, ...]
    output: Any
    name: str | None


@dataclass(slots=True)
class SessionRecord:
    """One open session; shared by all its contexts."""

    runtime: Runtime
    id: str
    log: Log
    state: State
    resources: Resources
    tools: dict[str, AnyTool]
    usage: TurnUsage
    lock: asyncio.Lock
    user_id: str | None = None
    scopes: frozenset[str] = frozenset()
    is_resumed: bool = False
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])
    credentials: Any = field(default=None, repr=False)
    trace_id: str = ""
    own_tools: bool = False
    opening: bool = True
    identified: bool = False
    turns: int = 0
    turn: TurnRecord | None = None
    deferred: deque[tuple[str, Callable[[], Awaitable[Any]]]] | None = None
    wake_deferred: Callable[[], None] | None = None
    allowed: frozenset[type[Event]] = frozenset()
    path: str = ""
    enclosing: TurnRecord | None = None


@dataclass(slots=True, eq=False)
class TurnRecord:
    """One turn; shared by all its contexts."""

    session: SessionRecord
    id: str
    index: int
    started_at: float
    input: Message
    limits: Limits
    usage: TurnUsage
    chains: Any
    model: Named
    settings: Settings
    output_type: Any = None
    metadata: Mapping[str, Any] | None = None
    output: Message | None = None
    delivered: Message | None = None
    value: Any = None
    status: TurnStatus = "running"
    limit: str | None = None
    signal: Signal | None = None
    said: bool = False
    looping: bool = False
    steps: int = 0
    continuations: int = 0
    final: Message | None = None
    output_retries: int = 0
    next_message: tuple[str, Message] | None = None
    partial: list[str] = field(default_factory=list[str])
    offered: tuple[ToolDef, ...] | None = None
    outcomes: dict[str, Any] = field(default_factory=dict[str, Any])
    base_cancels: int = 0
    task: asyncio.Task[Any] | None = None
    killed: BaseException | None = None
    extra: tuple[Any, ...] = ()


# --- who called? --------------------------------------------------------------------------------

layer_frames: set[CodeType] = set()
"""Code of the frames that run a hook and have it in a local `layer`; filled by the onion."""


def _caller(ctx: AgentContext) -> str:
    """The name of the middleware whose code called the context's method.

    One context serves all layers, so the name is read off the stack: this runs on rare calls only (abort, deny, ask).
    """
    identities = ctx._runtime.identities
    frame = sys._getframe(2)
    while frame is not None:
        code = frame.f_code
        if code in layer_frames:
            layer = frame.f_locals["layer"]
            return cast(str, layer.name if layer.inner is not None else ctx._core_name)
        if code.co_argcount:
            name = identities.get(id(frame.f_locals.get(code.co_varnames[0])))
            if name is not None:
                return name
        frame = frame.f_back  # type: ignore[assignment]
    return "core"


class _Nothing:
    """An awaitable that is done at once: what `emit` returns while nobody listens."""

    __slots__ = ()

    def __await__(self) -> Generator[Any, None, None]:
        return iter(())  # type: ignore[return-value]


_NOTHING = _Nothing()

HINT = "data of yours goes to ctx.state, live objects to ctx.resources"


class AgentContext:
    """What `init` gets."""

    __slots__ = ("_base", "_runtime")
    _core_name = "core"

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._base: Any = None

    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            raise AttributeError(f"{type(self).__name__} has no {name!r}; {HINT}", name=name, obj=self)

    @property
    def agent(self) -> AgentInfo | None:
        """Name, model, instructions and limits of the agent; None in an App's own middleware during `init`."""
        return self._runtime.info

    @property
    def tools(self) -> Mapping[str, AnyTool]:
        """The tools by name; read-only."""
        return MappingProxyType(cast(Any, self._runtime).tools)

    def register_tool(self, tool: AnyTool) -> None:
        """Offer *tool*: in `init` to all sessions, deeper to this session, from the next model call on.

        Raises:
            UseError: A tool of that name is there already.
        """
        self._runtime.add_tool(None, tool, _caller(self))


class SessionContext(AgentContext):
    """What `session` hooks get."""

    __slots__ = ("_session",)

    def __init__(self, session: SessionRecord) -> None:
        self._runtime = session.runtime
        self._base = None
        self._session = session

    @property
    def agent(self) -> AgentInfo:
        """Name, model, instructions and limits of the agent."""
        return cast(AgentInfo, self._runtime.info)

    @property
    def tools(self) -> Mapping[str, AnyTool]:
        """The tools of this session by name; read-only."""
        return MappingProxyType(self._session.tools)

    @property
    def session_id(self) -> str:
        """The conversation's id."""
        return self._session.id

    @property
    def user_id(self) -> str | None:
        """Who is talking; None where nobody said."""
        return self._session.user_id

    @property
    def scopes(self) -> frozenset[str]:
        """What the user may do, as `identify` set it."""
        return self._session.scopes

    @property
    def is_resumed(self) -> bool:
        """Whether the session has a past."""
        return self._session.is_resumed

    @property
    def history(self) -> tuple[Message, ...]:
        """The conversation so far, as the next request will hold it."""
        return self._session.log.messages

    @property
    def log(self) -> Log:
        """All entries of the session."""
        return self._session.log

    @property
    def metadata(self) -> Mapping[str, Any]:
        """What the session was opened with."""
        return self._session.metadata

    @property
    def credentials(self) -> Any:
        """What the session was opened with; never persisted, logged or shown."""
        return self._session.credentials

    @property
    def session_usage(self) -> TurnUsage:
        """What the whole session has used."""
        return self._session.usage

    @property
    def state(self) -> State:
        """The state: `ctx.state[self]` is your own slice, typed."""
        return self._session.state

    @property
    def resources(self) -> Resources:
        """Live objects of the open session, by type."""
        return self._session.resources

    @property
    def trace_id(self) -> str:
        """One id for this session's turns and all agents nested in them."""
        return self._session.trace_id

    def identify(self, user_id: str | None, scopes: Iterable[str] = ()) -> None:
        """Say who is talking: once, in a session hook, before `next()`.

        Raises:
            TooLateError: The session is open already, or somebody has said so.
            SessionForbiddenError: The session belongs to another user.
        """
        _identify(self._session, user_id, frozenset(scopes), _caller(self))

    def register_tool(self, tool: AnyTool) -> None:
        """Offer *tool* in this session, from the next model call on."""
        self._runtime.add_tool(self._session, tool, _caller(self))

    def emit(self, event: Event) -> Awaitable[None]:
        """Put *event* into the log, if it is durable, and into the stream.

        Raises:
            EventError: Not an event, declared by nobody, or not JSON.
        """
        try:
            if event.durable:
                self._session.log.append(event)
            elif type(event) not in self._session.allowed:
                raise _undeclared(event)
        except AttributeError:
            raise EventError(
                f"emit() takes events, got {type(event).__name__}; a hook ends its stream by yielding End"
            ) from None
        out = sink.get()
        return _NOTHING if out is None else out.send(event)

    def defer(self, fn: Callable[[], Awaitable[Any]]) -> None:
        """Run *fn* after the answer was delivered, one after the other, in a task the session owns.

        Raises:
            ExpressError: More than 1,000 are waiting.
        """
        record = self._session
        if record.deferred is None:
            record.deferred = deque()
        if len(record.deferred) >= 1000:
            raise ExpressError(f"session {record.id}: 1,000 deferred functions are waiting already; do less per turn")
        record.deferred.append((_caller(self), fn))
        if record.turn is None and record.wake_deferred is not None:
            record.wake_deferred()


def _identify(session: SessionRecord, user_id: str | None, scopes: frozenset[str], by: str) -> None:
    if not session.opening or session.identified:
        what = "was said already" if session.identified else "can be said in a session hook before next() only"
        raise TooLateError(f"{by}: who is talking {what} (session {session.id})")
    if session.user_id is not None and session.user_id != user_id:
        raise SessionForbiddenError(f"session {session.id} belongs to another user than {user_id!r}")
    session.user_id, session.scopes, session.identified = user_id, scopes, True
    session.log.append(SessionIdentified(user_id, tuple(sorted(scopes))))


def _undeclared(event: Event) -> EventError:
    kind = type(event).__name__
    return EventError(f"{kind} is declared by no middleware in use: list it in the middleware's `events = (...)`")


class TurnContext(SessionContext):
    """What `turn` hooks get."""

    __slots__ = ("_turn",)

    def __init__(self, turn: TurnRecord) -> None:
        session = turn.session
        self._runtime = session.runtime
        self._base = None
        self._session = session
        self._turn = turn

    @property
    def turn_id(self) -> str:
        """The turn's id."""
        return self._turn.id

    @property
    def turn_index(self) -> int:
        """Its number in the session, from 0."""
        return self._turn.index

    @property
    def started_at(self) -> float:
        """Seconds since 1970."""
        return self._turn.started_at

    @property
    def metadata(self) -> Mapping[str, Any]:
        """What the session was opened with and, over it, what the turn was run with."""
        return {**self._session.metadata, **(self._turn.metadata or {})}

    @property
    def status(self) -> TurnStatus:
        """How the turn is ending, for `finally`: "running" while it is not."""
        return _status(self._turn)

    @property
    def usage(self) -> TurnUsage:
        """What this turn has used so far."""
        return self._turn.usage

    @property
    def input(self) -> Message:
        """The user's message; a turn hook may replace it before `next()`, the core logs the final form."""
        return self._turn.input

    @input.setter
    def input(self, message: Message | str) -> None:
        if self._turn.said:
            raise TooLateError("ctx.input was logged already; a turn hook replaces it before next()")
        self._turn.input = Message("user", message) if isinstance(message, str) else message

    @property
    def output(self) -> Message | None:
        """The answer; None until there is one."""
        return self._turn.output

    @output.setter
    def output(self, message: Message | str | None) -> None:
        self._turn.output = _answer(message) if message is not None else None

    def deliver(self, message: Message | str) -> None:
        """Give this caller another answer than the one on record; a turn hook does it after `next()`."""
        self._turn.delivered = _answer(message)

    def abort(self, reason: str) -> NoReturn:
        """End the turn now, without an answer: whatever a hook does, no model or tool call starts any more.

        The caller gets a `TurnAbortedError` with *reason* and the name of the middleware.
        """
        turn = self._turn
        if turn.signal is None:
            turn.signal = Aborted(reason)
            turn.signal.by = _caller(self)
        raise turn.signal

    def continue_turn(self, message: Message | str) -> None:
        """Make the loop take *message*, after the results of open calls, and go on.

        Raises:
            HookError: Outside of the loop: a turn hook does it after `next()` with `await next.again(message)`.
        """
        by = _caller(self)
        if not self._turn.looping:
            raise HookError(f"{by}: continue_turn() after the loop has ended; write `await next.again(message)`")
        self._turn.next_message = (by, from_middleware(message, by))

    @overload
    async def ask(
        self,
        messages: str | Message | Sequence[Message],
        *,
        output: type[T],
        model: Named | str | None = None,
        purpose: str = "summary",
        settings: Settings | None = None,
    ) -> T: ...
    @overload
    async def ask(
        self,
        messages: str | Message | Sequence[Message],
        *,
        output: None = None,
        model: Named | str | None = None,
        purpose: str = "summary",
        settings: Settings | None = None,
    ) -> ModelResponse: ...
    async def ask(
        self,
        messages: str | Message | Sequence[Message],
        *,
        output: Any = None,
        model: Named | str | None = None,
        purpose: str = "summary",
        settings: Settings | None = None,
    ) -> Any:
        """Make a model call of the middleware's own.

        It passes the model onion, except layers that are in such a call already. It counts in usage, its deltas reach
        no user, its messages no history. `ctx.purpose` tells the hooks it passes.

        Args:
            messages: What is said, a string for one user message.
            output: A type the answer is validated against and returned as; without one the `ModelResponse` is.
            model: Another model than the turn's.
            purpose: What it is for, in one word; not empty.
            settings: Other settings than the turn's.

        Raises:
            OutputError: The answer does not match *output*.
        """
        if not purpose:
            raise ValueError("ask: purpose must name what the call is for, such as 'summary'")
        options = AskOptions(model, output, purpose, settings)
        return await self._runtime.ask(self, _caller(self), as_messages(messages), options)

    async def run_agent(
        self,
        agent: Any,
        input: str | Message | Sequence[Message],
        *,
        inherit: bool = True,
        state: Iterable[str] = (),
        output: Any = None,
        name: str | None = None,
    ) -> Any:
        """Run another agent inside this turn and return its `Answer`.

        It is a session of its own whose events go into this one's stream and log with its path; its usage counts
        here too; it is cancelled with this turn.

        Args:
            agent: The agent; it is opened for the call if it is not open.
            input: What it is told.
            inherit: Whether user, scopes, credentials, metadata and this agent's guards (its model and tool hooks,
                outside the nested agent's own) go with it.
            state: Names of middleware whose state both have and share.
            output: A type for its answer.
            name: Its place in the path; the agent's name where it is left out.
        """
        options = NestedOptions(input, inherit, tuple(state), output, name)
        return await self._runtime.run_nested(self, agent, options)

    def _answered(self, by: str) -> None:
        """A layer answered by itself; deeper contexts note what that means for them."""

    def _again(self, message: Message | str | None, by: str) -> None:
        """Log that the turn is repeated on purpose; called by `next.again`."""
        log_continuation(self._turn, by, None if message is None else from_middleware(message, by))


def _status(turn: TurnRecord) -> TurnStatus:
    if isinstance(turn.signal, Aborted):
        return "aborted"
    error = sys.exc_info()[1]
    if turn.status == "timeout" or error is None:
        return turn.status
    return "cancelled" if isinstance(error, asyncio.CancelledError | GeneratorExit) else "failed"


def log_continuation(turn: TurnRecord, by: str, message: Message | None) -> None:
    """Log that the model is sent back to work; counted against `max_continuations`.

    Raises:
        TurnError: It was sent back too often.
    """
    limit = turn.limits.max_continuations
    if turn.continuations >= limit:
        raise TurnError(f"{by}: the turn was continued {limit} times, which is its limit (max_continuations)")
    turn.continuations += 1
    turn.final = turn.output = None
    turn.session.log.append(TurnContinued(by, turn.continuations, message))


def as_messages(given: str | Message | Sequence[Any]) -> tuple[Message, ...]:
    """Text, one message, parts of one, or messages, as messages."""
    if isinstance(given, str):
        return (Message("user", given),)
    if isinstance(given, Message):
        return (given,)
    items = tuple(given)
    if items and all(isinstance(item, Message) for item in items):
        return items
    return (Message("user", items),)


def _answer(message: Message | str) -> Message:
    if isinstance(message, str):
        return Message("assistant", message)
    if message.role != "assistant":
        raise HookError(f'an answer is a message of role "assistant", got one of role {message.role!r}')
    return message


def from_middleware(message: Message | str, by: str) -> Message:
    """A message that middleware *by* says in the user's place."""
    if isinstance(message, str):
        return Message("user", message, origin=by)
    return message.replace(origin=by) if not message.origin else message


class ModelContext(TurnContext):
    """What `model` hooks get."""

    __slots__ = ("_attempts", "_by", "_index", "_purpose")

    def __init__(self, turn: TurnRecord, request: ModelRequest, index: int, purpose: str = "", by: str = "") -> None:
        session = turn.session
        self._runtime = session.runtime
        self._session = session
        self._turn = turn
        self._base = (request, None, ())
        self._index = index
        self._purpose = purpose
        self._by = by
        self._attempts = 0

    @property
    def call_index(self) -> int:
        """The step of the turn, from 0; a retry is the same step. -1 for a middleware's own call."""
        return self._index

    @property
    def purpose(self) -> str:
        """What a middleware's own call is for; empty for the loop's calls. Set by the core, nobody can forge it."""
        return self._purpose

    @property
    def request(self) -> ModelRequest:
        """What will be sent. Changes flow inwards only and live for this call."""
        return cast(ModelRequest, self._base[0])

    @request.setter
    def request(self, request: ModelRequest) -> None:
        if not isinstance(request, ModelRequest):
            raise HookError(f"ctx.request must be a ModelRequest, got {type(request).__name__}")
        self._base = (request, *self._base[1:])

    @property
    def messages(self) -> tuple[Message, ...]:
        """The messages that will be sent."""
        return self.request.messages

    @messages.setter
    def messages(self, messages: Iterable[Message]) -> None:
        self.request = self.request.replace(messages=tuple(messages))

    @property
    def model(self) -> Named:
        """The model that will be called."""
        return self.request.model

    @property
    def tool_defs(self) -> tuple[ToolDef, ...]:
        """The tools the model may call."""
        return self.request.tools

    def set_model(self, model: Named | str) -> None:
        """Call *model* instead, an object or a name such as "openai:gpt-5".

        Raises:
            UnknownModelError: No model of that name.
        """
        self.request = self.request.replace(model=self._runtime.find_model(model))

    def add_system_message(self, text: str, section: str | None = None) -> None:
        """Add a section to the system prompt, or replace the one called *section*.

        Without a name the middleware's own is used, so the same layer adds it once however often it runs.
        """
        key = section if section is not None else _caller(self)
        request = self.request
        made = Section(key, text)
        if any(each.key == key for each in request.system):
            system = tuple([made.replace(cache_mark=s.cache_mark) if s.key == key else s for s in request.system])
        else:
            system = (*request.system, made)
        self.request = request.replace(system=system)

    def transform_system(self, fn: Callable[[str], str]) -> None:
        """Rewrite the assembled system prompt with *fn*, right before it is sent; first registered, first applied."""
        request, skip, transforms = self._base
        self._base = (request, skip, (*transforms, fn))

    def add_message(self, message: Message | str, *, keep: bool = False) -> None:
        """Add *message* at the end: for this call, or with *keep* for good."""
        by = _caller(self)
        said = from_middleware(message, by)
        self.messages = (*self.messages, said)
        if keep and not self._purpose and not any(each == said for each in self._turn_says()):
            self._session.log.append(UserSaid(said))

    def _turn_says(self) -> list[Message]:
        history = self._session.log.messages
        last = max((i for i, m in enumerate(history) if m.role == "assistant"), default=-1)
        return list(history[last + 1 :])

    def remove_tools(self, *names: str) -> None:
        """Hide tools from this call, and refuse them should the model name them anyway."""
        request = self.request
        self.request = request.replace(tools=tuple([each for each in request.tools if each.name not in names]))

    def skip_call(self, response: ModelResponse | str) -> ModelResponse:
        """Answer in place of the model: `return ctx.skip_call(response)`."""
        made = ModelResponse(Message("assistant", response)) if isinstance(response, str) else response
        self._base = (self._base[0], made, self._base[2])
        return made

    def compact(self, upto: Message, summary: Message | str) -> None:
        """Send *summary* in place of the history up to and including *upto*, now and from now on.

        The entries stay in the log. Calls and their results leave together.

        Args:
            upto: One of the messages of `ctx.history`.
            summary: What stands for them; a string is said in the user's place.

        Raises:
            ValueError: *upto* is not in the history.
        """
        log = self._session.log
        by = _caller(self)
        place = log.place_after(upto)
        gone = {id(message) for message in log.compacted(place)}
        made = from_middleware(summary, by)
        log.append(ContextCompacted(place, made, by))
        self.messages = (made, *[message for message in self.messages if id(message) not in gone])

    def _answered(self, by: str) -> None:
        self._turn.offered = self.request.tools


class ToolContext(TurnContext):
    """What `tool` hooks get, and tools that ask for it."""

    __slots__ = (
        "_answered_by",
        "_called",
        "_denied",
        "_index",
        "_key",
        "_outcome_failed",
        "_ran",
        "_refused",
        "_skipped_by",
        "_started",
        "_text",
        "call",
        "tool",
    )

    def __init__(
        self,
        turn: TurnRecord,
        call: ToolCall,
        tool: AnyTool | None,
        index: int,
        key: str,
        early: ToolResult | None,
        text: str,
    ) -> None:
        session = turn.session
        self._runtime = session.runtime
        self._session = session
        self._turn = turn
        self._base = (None, early)
        self._index, self._key, self._text = index, key, text
        self.call = call
        self.tool = tool
        self._denied: tuple[ToolResult, str] | None = None
        self._skipped_by: str | None = None
        self._answered_by: str | None = None
        self._started = self._ran = self._outcome_failed = self._refused = False
        self._called: Mapping[str, Any] | None = None

    @property
    def _core_name(self) -> str:  # type: ignore[override]
        return f"tool {self.call.name}"

    @property
    def call_id(self) -> str:
        """The provider's id of the call."""
        return self.call.id

    @property
    def call_index(self) -> int:
        """Its place in the batch, from 0."""
        return self._index

    @property
    def args(self) -> Mapping[str, Any]:
        """The arguments as JSON values, validated, defaults written out; read-only."""
        changed = self._base[0]
        if changed is not None:
            return MappingProxyType(changed)
        if self._called is None:
            self._called = MappingProxyType(json.loads(self._text))
        return self._called

    def modify_args(self, new: Mapping[str, Any]) -> None:
        """Replace the arguments for what is further in.

        Raises:
            HookError: They do not match the tool's schema.
        """
        checked = cast(Any, self.tool).check_args(new) if self.tool is not None else dict(new)
        self._base = (checked, self._base[1])

    def deny(self, reason: str) -> ToolResult:
        """Refuse this call for good: `return ctx.deny("not on Sundays")`. Nothing can run it any more.

        Raises:
            TooLateError: The tool has started.
        """
        by = _caller(self)
        self._not_started("deny", by)
        result = ToolResult(reason, is_error=True)
        if self._denied is None:
            self._denied = (result, by)
        return self._denied[0]

    def skip_call(self, result: ToolResult | str) -> ToolResult:
        """Answer in place of the tool: `return ctx.skip_call("cached")`. Undone when this hook's `next()` ends.

        Raises:
            TooLateError: The tool has started.
        """
        by = _caller(self)
        self._not_started("skip_call", by)
        made = ToolResult(result) if isinstance(result, str) else result
        self._base = (self._base[0], made)
        self._skipped_by = by
        return made

    def _not_started(self, what: str, by: str) -> None:
        if self._started:
            raise TooLateError(
                f"{by}: {what}() after tool {self.call.name!r} had started; return another result instead"
            )

    def _answered(self, by: str) -> None:
        self._answered_by = by
