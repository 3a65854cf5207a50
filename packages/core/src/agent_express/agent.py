"""The agent: a model, instructions, tools, and a stack of middleware around the loop."""

from __future__ import annotations

import asyncio
import os
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from types import TracebackType
from typing import Any, Self, TypeVar, Unpack, cast, overload

from pydantic import TypeAdapter

from .answer import Answer
from .checks import read
from .contexts import AgentInfo, ToolContext, TurnRecord
from .errors import UseError
from .events import ModelResponded
from .explain import explain
from .inputs import Input
from .lifecycle import Owner, finish, raise_all
from .live import SessionOptions
from .messages import Limits, Named
from .middleware import Entry, Usable
from .models import resolve_model
from .onion import Observer
from .order import check_order
from .runtime import OpenAgent, entry_step, model_step
from .session import RunOptions, Session
from .sync import SyncAgent
from .tools import Tool, tool

T = TypeVar("T")


class Agent:
    """An agent: `async with Agent("openai:gpt-5").use(...) as agent: answer = await agent.run("hello")`.

    Entering it runs the `init` of its middleware, leaving it their `dispose`.

    Args:
        model: A model, or a name such as "openai:gpt-5"; the name is looked up at once.
        name: What it is called in logs, in an App and as a tool.
        instructions: The first section of the system prompt.
        tools: Tools, made with `@tool`.
        use: Middleware, outermost first; `agent.use(...)` adds more.
        limits: What one turn may take.

    Raises:
        UseError: Something does not fit together; the message says what and how to write it.
    """

    def __init__(
        self,
        model: Named | str,
        *,
        name: str = "agent",
        instructions: str = "",
        tools: Iterable[Tool] = (),
        use: Iterable[Usable] = (),
        limits: Limits | None = None,
    ) -> None:
        self.name = name
        self.model: Named = resolve_model(model) if isinstance(model, str) else _checked_model(model)
        self.instructions = instructions
        self.limits = limits or Limits()
        self._entries: list[Entry] = []
        self._outer: tuple[Entry, ...] = ()
        self._app: Any = None
        self._observer: Observer | None = None
        self._resolve: Callable[[str], Named] = resolve_model  # a stack's agent has the stack's plugins and policy
        self._runtime: OpenAgent | None = None
        self._owner: Owner | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._closing: asyncio.Task[None] | None = None
        self._users = 0
        self.use(list(tools), list(use))

    @classmethod
    def from_stack(cls, path: str | os.PathLike[str], *, agent: str = "", profile: str = "") -> Agent:
        """Make the agent of a stack file; `agent_express.stack.load_stack` tells more of it.

        Args:
            path: The file, "agent.toml" say.
            agent: Its name, where the file has several; it is then mounted in the file's App.
            profile: The profile to apply.

        Raises:
            StackError: All that is wrong in the file, with line and column.
            UseError: The file has no agent of that name.
        """
        stacks = import_module("agent_express.stack")  # builds agents, so it stands after them and is loaded for this
        found: Agent = stacks.load_stack(path, profile=profile).agent(agent)
        return found

    def use(self, *things: Usable) -> Self:
        """Add middleware, functions, tools, and lists of these, outermost first.

        Raises:
            UseError: One of them is not right, or the agent was opened already.
        """
        if self._users:
            raise UseError(f"agent {self.name!r} is open: use() comes before `async with agent`")
        found = read(things, (*self._outer, *self._entries))
        check_order([*self._outer, *self._entries, *found])
        self._entries += found
        return self

    def observe(self, observer: Observer | None) -> Self:
        """Tell *observer* of each hook that is entered and left, from the next opening on."""
        if self._users:
            raise UseError(f"agent {self.name!r} is open: observe() comes before `async with agent`")
        self._observer = observer
        return self

    @property
    def entries(self) -> tuple[Entry, ...]:
        """What is in use, outermost first; without what an App puts around it."""
        return tuple(self._entries)

    def explain(self) -> str:
        """The onion of each hook, outermost first, with package and version of each layer."""
        return explain([*self._outer, *self._entries])

    # --- opening and closing --------------------------------------------------------------------

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        if self._users and self._loop is not loop:
            raise UseError(
                f"agent {self.name!r} is open in another event loop: use it there, or through `with agent.sync()`"
            )
        while self._closing is not None and not self._closing.done():
            await asyncio.wait([self._closing])  # what is being disposed of must not be opened again meanwhile
        self._users += 1
        owner = self._owner
        try:
            if owner is None:
                self._loop = loop
                owner = self._start()
            await owner.opened()
        except BaseException as error:
            self._users -= 1
            if self._users == 0 and owner is not None:
                if isinstance(error, asyncio.CancelledError):
                    await owner.abandon()
                self._forget()
            raise
        return self

    def _start(self) -> Owner:
        if self._app is not None and not self._app.is_opening:
            raise UseError(f"agent {self.name!r} is mounted in an App: open the App, not the agent")
        entries = [*self._outer, *self._entries]
        check_order(entries, opening=True)
        info = AgentInfo(self.name, self.model, self.instructions, self.limits)
        runtime = OpenAgent(info, entries, self._observer, self._resolve)
        steps = [entry_step(entry, runtime) for entry in (*self._entries, *runtime.tool_entries)]
        model = model_step(self.model)
        runtime.ready_models.add(id(self.model))
        self._runtime = runtime
        self._owner = runtime.owner = Owner([step for step in (model, *steps) if step is not None])
        return self._owner

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._users -= 1
        if self._users == 0:
            self._closing = asyncio.get_running_loop().create_task(self._close())
            await finish(self._closing)

    async def _close(self) -> None:
        """Close the open sessions, then everything else in reverse; all of it, even if one fails."""
        runtime, owner = self._open_runtime(), cast(Owner, self._owner)
        errors: list[Exception] = []
        for live in list(runtime.sessions.values()):
            runtime.sessions.pop(live.record.id, None)
            try:
                await live.close()
            except Exception as error:
                errors.append(error)
        errors += await owner.close()
        self._forget()
        raise_all(errors, f"closing agent {self.name!r} failed")

    def _forget(self) -> None:
        self._runtime = self._owner = self._loop = self._closing = None

    def _open_runtime(self) -> OpenAgent:
        if self._runtime is None:
            raise UseError(
                f"agent {self.name!r} is not open: write `async with agent:` around it, or call agent.run(...)"
            )
        return self._runtime

    # --- sessions and turns ---------------------------------------------------------------------

    def session(
        self,
        session_id: str | None = None,
        *,
        user_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        resources: Mapping[Any, Any] | None = None,
        credentials: Any = None,
    ) -> Session:
        """A conversation, to be entered with `async with`.

        Args:
            session_id: Its id; a new one where it is left out. An id that is open gives a handle on the same session.
            user_id: Who is talking.
            metadata: Shown to hooks as `ctx.metadata`.
            resources: Live objects by type, shown to hooks as `ctx.resources`.
            credentials: For tools and hooks; never persisted, logged or shown.

        Raises:
            SessionForbiddenError: On entering: the session belongs to another user.
        """
        options = SessionOptions(user_id, metadata, resources, credentials)
        return Session(self, session_id or secrets.token_hex(8), options)

    def _nested_session(self, turn: TurnRecord, path: str, inherited: Sequence[Entry], inherit: bool) -> Session:
        options = SessionOptions(enclosing=turn, path=path, inherited=inherited, inherit=inherit)
        return Session(self, f"{turn.session.id}/{path}/{secrets.token_hex(4)}", options)

    @overload
    async def run(self, input: Input, *, output: type[T], **options: Unpack[RunOptions]) -> Answer[T]: ...
    @overload
    async def run(self, input: Input, *, output: TypeAdapter[T], **options: Unpack[RunOptions]) -> Answer[T]: ...
    @overload
    async def run(self, input: Input, *, output: None = None, **options: Unpack[RunOptions]) -> Answer[str]: ...
    async def run(self, input: Input, *, output: Any = None, **options: Unpack[RunOptions]) -> Answer[Any]:
        """Run one turn in a session of its own, opening and closing the agent if it is not open; see `Session.run`."""
        async with self, self.session() as session:
            answer: Answer[Any] = await session.run(input, output=output, **options)
            return answer
        raise AssertionError  # a type checker cannot know that neither block swallows an error

    def as_tool(self, name: str | None = None, description: str | None = None, *, state: Iterable[str] = ()) -> Tool:
        """This agent as a tool of another one: it is told `task`, and its answer is the result.

        Args:
            name: The tool's name; the agent's where it is left out.
            description: What the model is told; the agent's instructions where it is left out.
            state: Names of middleware whose state both share.
        """
        shared = tuple(state)
        told = description if description is not None else self.instructions or f"Hand a task to the agent {self.name}."

        async def work(task: str, ctx: ToolContext) -> str:
            answer = await ctx.run_agent(self, task, state=shared, name=name or self.name)
            return last_words(answer)

        return tool(name=name or self.name, description=told)(work)

    # --- the synchronous face -------------------------------------------------------------------

    def sync(self) -> SyncAgent:
        """This agent for code without a loop: `with agent.sync() as a: a.run("hello")`."""
        return SyncAgent(cast(Any, self))

    def run_sync(self, input: Input, **options: Any) -> Answer[Any]:
        """`run` for code without a loop, also under a running one (notebooks)."""
        with self.sync() as agent:
            return agent.run(input, **options)


def last_words(answer: Answer[Any]) -> str:
    """The text of an answer; where it is empty, the last text its agent said in this turn."""
    if answer.text:
        return answer.text
    said = [
        event.response.message.text
        for event in answer.events
        if isinstance(event, ModelResponded) and not event.purpose
    ]
    return next((text for text in reversed(said) if text), "")


def _checked_model(model: Any) -> Named:
    if isinstance(model, type):
        raise UseError(f"Agent: got the class {model.__name__} as model, expected an instance or a name")
    if not callable(getattr(model, "stream", None)) or not isinstance(getattr(model, "name", None), str):
        raise UseError(
            f'Agent: {model!r} is no model: hand in a name such as "openai:gpt-5", or an object with stream()'
        )
    return cast(Named, model)
