"""Run one middleware alone, in a real agent with a scripted model.

async with Harness(TokenBudget(limit=10)) as harness:
    await harness.turn("hi", answer=Say("hello", usage=Usage(9, 4)))
    assert harness.state.tokens == 13
    with pytest.raises(TurnAbortedError):
        await harness.model("again")
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from contextlib import AsyncExitStack
from types import TracebackType
from typing import Any, Generic, Self, TypeVar, cast, overload

from pydantic import BaseModel

from ..agent import Agent
from ..answer import Answer
from ..contexts import ModelContext, SessionRecord
from ..errors import UseError
from ..events import End, Event, ToolReturned
from ..inputs import Input
from ..log import Log
from ..messages import Limits, Message, ModelRequest, ModelResponse, ToolCall, ToolResult
from ..middleware import Renamed, Usable
from ..onion import Next
from ..session import Session
from ..state import HasState
from ..tools import Tool
from .bodies import made_up_tool, with_body
from .errors import ScriptError
from .history import check_history
from .scripted import FunctionModel, ScriptItem, shape

S = TypeVar("S", bound=BaseModel)

_NOTHING: Any = object()


class Harness(Generic[S]):
    """One middleware, a real agent around it, and what went through it.

    Each of `turn`, `model` and `tool` runs one turn of the same session, with all hooks of the middleware, and checks
    afterwards that the history is one that any provider takes.

    Args:
        middleware: What is tested.
        tools: Tools of the agent; `tool` makes others as it needs them.
        inside: Other middleware that it needs, further in.
        instructions: The agent's.
        limits: What a turn may take.
        user_id: Who is talking.
        metadata: For hooks to see.
        resources: Live objects of the session, by type.
        credentials: For hooks and tools.

    Attributes:
        agent: The agent.
        llm: Its model; answers from the script of the call at hand.
        events: Everything that was streamed to the client, of all calls.
    """

    @overload
    def __init__(
        self,
        middleware: HasState[S],
        *,
        tools: Iterable[Tool] = (),
        inside: Sequence[Usable] = (),
        instructions: str = "",
        limits: Limits | None = None,
        user_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        resources: Mapping[Any, Any] | None = None,
        credentials: Any = None,
    ) -> None: ...
    @overload
    def __init__(
        self: Harness[Any],
        middleware: Usable,
        *,
        tools: Iterable[Tool] = (),
        inside: Sequence[Usable] = (),
        instructions: str = "",
        limits: Limits | None = None,
        user_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        resources: Mapping[Any, Any] | None = None,
        credentials: Any = None,
    ) -> None: ...
    def __init__(
        self,
        middleware: Any,
        *,
        tools: Iterable[Tool] = (),
        inside: Sequence[Usable] = (),
        instructions: str = "",
        limits: Limits | None = None,
        user_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        resources: Mapping[Any, Any] | None = None,
        credentials: Any = None,
    ) -> None:
        used: Any = middleware
        self._key: Any = used.name if isinstance(used, Renamed) else used
        self._script: deque[ScriptItem] = deque()
        self._rim = _Rim()
        self.llm = FunctionModel(self._answer, name="harness")
        self.agent = Agent(
            self.llm,
            name="harness",
            instructions=instructions,
            tools=tools,
            use=[self._rim, cast(Usable, middleware), *inside],
            limits=limits,
        )
        self._handle = self.agent.session(
            user_id=user_id, metadata=metadata, resources=resources, credentials=credentials
        )
        self._record: SessionRecord | None = None
        self._open = AsyncExitStack()
        self.events: list[Event | End[Answer[str]]] = []

    async def __aenter__(self) -> Self:
        async with AsyncExitStack() as stack:
            await stack.enter_async_context(self.agent)
            session = await stack.enter_async_context(self._handle)
            self._record = session._record
            self._open = stack.pop_all()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._open.__aexit__(kind, error, traceback)

    # --- what is run ----------------------------------------------------------------------------

    async def turn(
        self, input: Input = "hi", *, answer: ScriptItem = "ok", answers: Sequence[ScriptItem] | None = None
    ) -> Answer[str]:
        """Run a turn, tools and all.

        Args:
            input: What the user says.
            answer: What the model answers, see `ScriptedModel`.
            answers: What it answers one after another, where it is called more than once.

        Raises:
            Exception: What the turn raises.
        """
        return await self._run(input, [answer] if answers is None else answers)

    async def model(
        self, request: ModelRequest | str = "hi", *, responds: Sequence[ScriptItem] = ("ok",)
    ) -> ModelResponse:
        """Run one model call through the middleware and return the response as the middleware gave it.

        Tool calls in it are not run.

        Args:
            request: What goes in; its model is replaced by the harness's. A string is what the user says.
            responds: What the model answers, one item for each time it is called.

        Raises:
            ScriptError: The turn ended without a model call.
            Exception: What the turn raises.
        """
        self._rim.expect(request if isinstance(request, ModelRequest) else None)
        try:
            await self._run(request if isinstance(request, str) else _said(request), responds)
        finally:
            response = self._rim.take()
        if response is None:
            raise ScriptError("harness.model: the turn ended without a model call; harness.turn shows such a turn")
        return response

    async def tool(
        self, tool: str | Tool, args: Mapping[str, Any] | None = None, *, returns: object = _NOTHING
    ) -> ToolResult:
        """Run one tool call through the middleware and return the result as the middleware gave it.

        Args:
            tool: A tool, or a name: of a tool that the agent or the middleware has, else of one made up for this
                call, which takes whatever *args* has.
            args: What the model calls it with, as JSON values.
            returns: What the body gives in place of the tool's own: a value, an exception to raise, or a function of
                the arguments, sync or async. A made-up tool returns "ok" without it.

        Raises:
            UseError: *returns* is given for a tool that the agent has already.
            Exception: What the turn raises.
        """
        name = tool if isinstance(tool, str) else tool.name
        given = dict(args or {})
        use = self._made_up(tool, given, returns)
        answer = await self._run("hi", [[ToolCall("", name, json.dumps(given))], "ok"], use)
        return next(event.result for event in answer.events if isinstance(event, ToolReturned) and not event.path)

    def script(self, *answers: ScriptItem) -> None:
        """Say what the model answers next, for turns that are run through `session` itself."""
        self._script = deque(answers)

    # --- what is seen ---------------------------------------------------------------------------

    @property
    def session(self) -> Session:
        """The session."""
        self._opened()
        return self._handle

    @property
    def requests(self) -> tuple[ModelRequest, ...]:
        """What has reached the model, of all calls."""
        return tuple(self.llm.requests)

    @property
    def state(self) -> S:
        """The middleware's slice of the session's state; also once the harness is closed.

        Raises:
            StateError: The middleware has no state.
        """
        return cast(S, self._opened().state[self._key])

    @property
    def log(self) -> Log:
        """The session's log; also once the harness is closed."""
        return self._opened().log

    @property
    def history(self) -> tuple[Message, ...]:
        """The conversation so far; also once the harness is closed."""
        return self.log.messages

    # --- how ------------------------------------------------------------------------------------

    def _opened(self) -> SessionRecord:
        if self._record is None:
            raise UseError("the harness is not open: write `async with Harness(...) as harness:`")
        return self._record

    async def _run(self, input: Input, answers: Sequence[ScriptItem], use: Sequence[Usable] = ()) -> Answer[str]:
        session = self.session
        self.script(*answers)
        try:
            async with session.stream(input, use=use) as events:
                async for event in events:
                    self.events.append(event)
                return events.answer
        finally:
            check_history(self.history)

    def _answer(self, request: ModelRequest) -> Any:
        if not self._script:
            raise ScriptError(
                f"harness: the model was called once more than there are answers; it was {shape(request)}; "
                f"hand in as many answers as the middleware makes calls"
            )
        item = self._script.popleft()
        return item(request) if callable(item) else item

    def _made_up(self, tool: str | Tool, args: Mapping[str, Any], returns: object) -> list[Usable]:
        name = tool if isinstance(tool, str) else tool.name
        if name in self._opened().tools:
            if returns is not _NOTHING:
                raise UseError(f"harness.tool: the agent has a tool {name!r} with a body of its own: leave returns out")
            return []
        if isinstance(tool, Tool):
            return [tool if returns is _NOTHING else with_body(tool, returns)]
        return [made_up_tool(name, args, "ok" if returns is _NOTHING else returns)]


def _said(request: ModelRequest) -> str:
    return next((message.text for message in reversed(request.messages) if message.role == "user"), "") or "hi"


class _Rim:
    """Outermost: hands a request in and keeps what comes back, once after `expect`."""

    name = "harness-rim"

    def __init__(self) -> None:
        self._waiting = False
        self._request: ModelRequest | None = None
        self._response: ModelResponse | None = None

    def expect(self, request: ModelRequest | None) -> None:
        self._waiting, self._request, self._response = True, request, None

    def take(self) -> ModelResponse | None:
        self._waiting = False
        return self._response

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        if not self._waiting or ctx.purpose:
            return await next()
        self._waiting = False
        if self._request is not None:
            ctx.request = self._request.replace(model=ctx.model)
        self._response = response = await next()
        return _without_calls(response)


def _without_calls(response: ModelResponse) -> ModelResponse:
    parts = [part for part in response.message.parts if not isinstance(part, ToolCall)]
    return response.replace(message=response.message.replace(parts=tuple(parts)))
