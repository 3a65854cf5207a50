"""The context of `model` hooks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from ..errors import HookError
from ..events import ContextCompacted, UserSaid
from ..messages import Message, ModelRequest, ModelResponse, Named, Section, ToolDef
from ..stream import tell
from .caller import caller
from .records import TurnRecord
from .said import from_middleware
from .turn import TurnContext


class ModelContext(TurnContext):
    """What `model` hooks get."""

    __slots__ = ("_attempts", "_by", "_index", "_purpose")

    def __init__(self, turn: TurnRecord, request: ModelRequest, index: int, purpose: str = "", by: str = "") -> None:
        session = turn.session
        self._runtime = session.runtime
        self._session = session
        self._turn = turn
        self._base = (request, None, (), frozenset())
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
        held: ModelRequest = self._base[0]
        return held

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
        given = tuple(messages)
        for each in given:
            if not isinstance(each, Message):
                raise HookError(f"ctx.messages holds a {type(each).__name__}, expected Messages only")
        self.request = self.request.replace(messages=given)

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
        key = section if section is not None else (caller(self) or "core")
        request = self.request
        made = Section(key, text)
        if any(each.key == key for each in request.system):
            system = tuple([made.replace(cache_mark=s.cache_mark) if s.key == key else s for s in request.system])
        else:
            system = (*request.system, made)
        self.request = request.replace(system=system)

    def transform_system(self, fn: Callable[[str], str]) -> None:
        """Rewrite the assembled system prompt with *fn*, right before it is sent; first registered, first applied."""
        request, skip, transforms, removed = self._base
        self._base = (request, skip, (*transforms, fn), removed)

    def add_message(self, message: Message | str, *, keep: bool = False) -> None:
        """Add *message* at the end: for this call, or with *keep* for good."""
        by = caller(self) or "core"
        said = from_middleware(message, by)
        self.messages = (*self.messages, said)
        if keep and not self._purpose and not any(each == said for each in self._turn_says()):
            tell(self._session.log, UserSaid(said))

    def _turn_says(self) -> list[Message]:
        history = self._session.log.messages
        last = max((i for i, m in enumerate(history) if m.role == "assistant"), default=-1)
        return list(history[last + 1 :])

    def remove_tools(self, *names: str) -> None:
        """Hide tools from this call, and refuse them should the model name them anyway.

        No layer further in can bring them back.
        """
        request, skip, transforms, removed = self._base
        self._base = (without(request, names), skip, transforms, removed | set(names))

    def skip_call(self, response: ModelResponse | str) -> ModelResponse:
        """Answer in place of the model: `return ctx.skip_call(response)`."""
        made = ModelResponse(Message("assistant", response)) if isinstance(response, str) else response
        self._base = (self._base[0], made, *self._base[2:])
        return made

    def compact(self, upto: Message, summary: Message | str) -> None:
        """Send *summary* in place of the history up to and including *upto*, now and from now on.

        The entries stay in the log. Calls and their results leave together.

        Args:
            upto: One of the messages of `ctx.history`.
            summary: What stands for them; a string is said in the user's place.

        Raises:
            ValueError: *upto* is not in the history.
            HookError: In a middleware's own call, or while tool calls wait for their results.
        """
        log = self._session.log
        if self._purpose or log.batch:
            raise HookError(
                f"{caller(self) or 'core'}: compact() is for the loop's own model calls, between batches of tools"
            )
        by = caller(self) or "core"
        place = log.place_after(upto)
        gone = {id(message) for message in log.compacted(place)}
        made = from_middleware(summary, by)
        tell(log, ContextCompacted(place, made, by))
        self.messages = (made, *[message for message in self.messages if id(message) not in gone])

    def _next_attempt(self) -> int:
        """The how-many-th real call of this step now begins; a turn hook that repeats is at the same step."""
        if self._purpose:
            self._attempts += 1
            return self._attempts
        self._turn.attempts += 1
        return self._turn.attempts

    def _answered(self, by: str) -> None:
        if not self._purpose:
            self._turn.offered = without(self.request, self._base[3]).tools


def without(request: ModelRequest, names: Collection[str]) -> ModelRequest:
    """*request* without the tools of these names."""
    if not names:
        return request
    return request.replace(tools=tuple([each for each in request.tools if each.name not in names]))
