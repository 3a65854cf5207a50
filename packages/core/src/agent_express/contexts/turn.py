"""The context of `turn` hooks."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Coroutine, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any, NoReturn, TypeVar, overload

from ..errors import Aborted, HookError, TooLateError, repeated
from ..events import Event, TurnStatus
from ..messages import Message, ModelResponse, Named, Settings
from ..texts import clean
from .caller import caller
from .records import AskOptions, NestedOptions, TurnRecord, log_continuation, stop
from .said import as_answer, as_messages, from_middleware, storable
from .session import SessionContext
from .usage import TurnUsage

T = TypeVar("T")


class TurnContext(SessionContext):
    """What `turn` hooks get."""

    __slots__ = ("_turn",)

    def __init__(self, turn: TurnRecord) -> None:
        session = turn.session
        self._runtime = session.runtime
        self._base = None
        self._session = session
        self._turn = turn

    def _known(self) -> Any:
        return self._turn.chains  # the agent's, those of this turn, and what an enclosing agent handed down

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
        own = self._turn.metadata
        held = self._session.metadata
        return MappingProxyType({**held, **own}) if own else held

    @property
    def status(self) -> TurnStatus:
        """How the turn is ending, for `finally`: "running" while it is not."""
        return _status(self._turn)

    @property
    def resumed(self) -> bool:
        """Whether this turn goes on after a park or a crash; false while sessions live in memory only."""
        return False

    @property
    def usage(self) -> TurnUsage:
        """What this turn has used so far."""
        return self._turn.usage

    def _post(self, event: Event) -> Awaitable[None]:
        if self._turn.signal is None:
            return super()._post(event)
        return self._log_only(event)  # after an abort nothing is streamed any more

    @property
    def input(self) -> Message:
        """The user's message; a turn hook may replace it before `next()`, the core logs the final form."""
        return self._turn.input

    @input.setter
    def input(self, message: Message | str) -> None:
        if self._turn.said:
            raise TooLateError("ctx.input was logged already; a turn hook replaces it before next()")
        made = Message("user", message) if isinstance(message, str) else message
        self._turn.input = storable(made, "ctx.input", "user")

    @property
    def earlier_input(self) -> tuple[Message, ...]:
        """Messages that were handed in before `input`; a turn hook may replace them before `next()` too."""
        return self._turn.earlier

    @earlier_input.setter
    def earlier_input(self, messages: Iterable[Message]) -> None:
        if self._turn.said:
            raise TooLateError("ctx.earlier_input was logged already; a turn hook replaces it before next()")
        self._turn.earlier = tuple([storable(each, "ctx.earlier_input", "user", "assistant") for each in messages])

    @property
    def output(self) -> Message | None:
        """The answer; None until there is one."""
        return self._turn.output

    @output.setter
    def output(self, message: Message | str | None) -> None:
        self._turn.output = as_answer(message) if message is not None else None

    def deliver(self, message: Message | str) -> None:
        """Give this caller another answer than the one on record; a turn hook does it after `next()`."""
        self._turn.delivered = as_answer(message)

    def abort(self, reason: str) -> NoReturn:
        """End the turn now, without an answer: whatever a hook does, no model or tool call starts any more.

        The caller gets a `TurnAbortedError` with *reason* and the name of the middleware.
        """
        turn = self._turn
        if turn.signal is not None:
            raise repeated(turn.signal)
        signal = Aborted(clean(reason))
        signal.by = caller(self)
        stop(turn, signal)
        raise signal

    def continue_turn(self, message: Message | str) -> None:
        """Make the loop take *message*, after the results of open calls, and go on.

        Raises:
            HookError: Outside of the loop: a turn hook does it after `next()` with `await next.again(message)`.
        """
        by = caller(self) or "core"
        if not self._turn.looping:
            when = "after the loop has ended" if self._turn.said else "before the loop has begun"
            raise HookError(f"{by}: continue_turn() {when}; write `await next.again(message)`")
        turn = self._turn
        turn.next_messages = [*(turn.next_messages or ()), (by, from_middleware(message, by))]

    @overload
    def ask(
        self,
        messages: str | Message | Sequence[Message],
        *,
        output: type[T],
        model: Named | str | None = None,
        purpose: str = "summary",
        settings: Settings | None = None,
    ) -> Coroutine[Any, Any, T]: ...
    @overload
    def ask(
        self,
        messages: str | Message | Sequence[Message],
        *,
        output: None = None,
        model: Named | str | None = None,
        purpose: str = "summary",
        settings: Settings | None = None,
    ) -> Coroutine[Any, Any, ModelResponse]: ...
    def ask(
        self,
        messages: str | Message | Sequence[Message],
        *,
        output: Any = None,
        model: Named | str | None = None,
        purpose: str = "summary",
        settings: Settings | None = None,
    ) -> Coroutine[Any, Any, Any]:
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
        return self._runtime.ask(self, (caller(self) or "core"), as_messages(messages), options)

    def run_agent(
        self,
        agent: Any,
        input: str | Message | Sequence[Message],
        *,
        inherit: bool = True,
        state: Iterable[str] = (),
        output: Any = None,
        name: str | None = None,
    ) -> Coroutine[Any, Any, Any]:
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
        options = NestedOptions(input, inherit, tuple(state), output, name, caller(self))
        return self._runtime.run_nested(self, agent, options)

    def _answered(self, by: str) -> None:
        """A layer answered by itself; deeper contexts note what that means for them."""

    def _again(self, message: Message | str | None, by: str) -> None:
        """Log that the turn is repeated on purpose; called by `next.again`."""
        log_continuation(self._turn, by, None if message is None else from_middleware(message, by))


def _status(turn: TurnRecord) -> TurnStatus:
    if isinstance(turn.signal, Aborted):
        return "aborted"
    error = sys.exc_info()[1]
    if turn.clock is not None and turn.clock.expired():
        return "timeout"
    if error is None or turn.status != "running":
        return turn.status
    return "cancelled" if isinstance(error, asyncio.CancelledError | GeneratorExit) else "failed"
