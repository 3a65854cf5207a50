"""The contexts of `init` and of `session` hooks."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Generator, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

from ..errors import EventError, ExpressError, SessionForbiddenError, TooLateError
from ..events import Event, SessionIdentified, check
from ..log import CORE_ENTRIES, LogView
from ..messages import Message
from ..origins import origin_of
from ..state import State
from ..stream import sink, tell
from .caller import caller
from .records import AgentInfo, AnyTool, Runtime, SessionRecord
from .resources import Resources
from .usage import TurnUsage


class _Nothing:
    """An awaitable that is done at once: what `emit` returns while nobody listens."""

    __slots__ = ()

    def __await__(self) -> Generator[Any, None, None]:
        return iter(())  # type: ignore[return-value]


NOTHING = _Nothing()

HINT = "data of yours goes to ctx.state, live objects to ctx.resources"


class AgentContext:
    """What `init` gets."""

    __slots__ = ("_base", "_runtime")
    _core_name = "core"
    _stopped: Any = None

    def _known(self) -> Any:
        """Who has `identities` and `places` of the middleware that this context serves."""
        return self._runtime

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._base: Any = None

    if TYPE_CHECKING:

        @property
        def config(self) -> Any:
            """In `init` alone: the checked settings this middleware was made from; None where it was made by hand."""
            ...

    else:

        def __getattr__(self, name: str) -> Any:
            hint = "it is there in init: keep what you need of it" if name == "config" else HINT
            raise AttributeError(f"{type(self).__name__} has no {name!r}; {hint}", name=name, obj=self)

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
        self._runtime.add_tool(None, tool, (caller(self) or "core"))


class InitContext(AgentContext):
    """What the `init` of one middleware gets."""

    __slots__ = ("_thing",)

    def __init__(self, runtime: Runtime, thing: object) -> None:
        super().__init__(runtime)
        self._thing = thing

    @property
    def config(self) -> Any:
        """The checked settings that this middleware was made from; None where it was made by hand."""
        origin = origin_of(self._thing)
        return origin.config if origin is not None else None


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
    def log(self) -> LogView:
        """All entries of the session."""
        return LogView(self._session.log)

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
        return self._session.trace()

    def identify(self, user_id: str | None, scopes: Iterable[str] = ()) -> None:
        """Say who is talking: once, in a session hook, before `next()`.

        Raises:
            TooLateError: The session is open already, or somebody has said so.
            SessionForbiddenError: The session belongs to another user.
        """
        _identify(self._session, user_id, frozenset(scopes), (caller(self) or "core"))

    def register_tool(self, tool: AnyTool) -> None:
        """Offer *tool* in this session, from the next model call on."""
        self._runtime.add_tool(self._session, tool, (caller(self) or "core"))

    def emit(self, event: Event) -> Awaitable[None]:
        """Put *event* into the log, if it is durable, and into the stream.

        Raises:
            EventError: Not an event, declared by nobody, or not JSON.
        """
        if type(event) in CORE_ENTRIES:
            raise EventError(
                f"{type(event).__name__} is written by the core alone; say things with add_message(keep=True), "
                "continue_turn or ctx.output"
            )
        return self._post(event)

    def _post(self, event: Event) -> Awaitable[None]:
        """Log *event* and put it into the stream; for the core's own events too."""
        nothing = self._log_only(event)
        out = sink.get()
        return nothing if out is None else out.send(event)

    def _refuse_undeclared(self, event: Event) -> None:
        if type(event) not in self._session.allowed:
            raise _undeclared(event)
        check(event)

    def _log_only(self, event: Event) -> Awaitable[None]:
        try:
            if event.durable:
                self._session.log.append(event)
            elif type(event) not in self._session.allowed:
                raise _undeclared(event)
        except AttributeError:
            raise EventError(
                f"emit() takes events, got {type(event).__name__}; a hook ends its stream by yielding End"
            ) from None
        return NOTHING

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
        record.deferred.append(((caller(self) or "core"), fn))
        if record.turn is None and record.wake_deferred is not None:
            record.wake_deferred()


def _identify(session: SessionRecord, user_id: str | None, scopes: frozenset[str], by: str) -> None:
    if not session.opening or session.identified:
        what = "was said already" if session.identified else "can be said in a session hook before next() only"
        raise TooLateError(f"{by}: who is talking {what} (session {session.id})")
    if session.user_id is not None and session.user_id != user_id:
        raise SessionForbiddenError(f"session {session.id} belongs to another user than {user_id!r}")
    session.user_id, session.scopes, session.identified = user_id, scopes, True
    tell(session.log, SessionIdentified(user_id, tuple(sorted(scopes))))


def _undeclared(event: Event) -> EventError:
    kind = type(event).__name__
    return EventError(f"{kind} is declared by no middleware in use: list it in the middleware's `events = (...)`")
