"""An open agent: what was compiled when it opened, and what it does for the contexts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, cast

from .asks import ask
from .chains import Chains, hooks_of
from .checks import read
from .contexts import (
    AgentInfo,
    AnyTool,
    AskOptions,
    InitContext,
    NestedOptions,
    SessionContext,
    SessionRecord,
    TurnContext,
    places_of,
)
from .errors import UseError
from .events import Event, ToolRegistered
from .lifecycle import Owner, Step
from .log import CORE_EVENTS
from .messages import Message, Named, Section, ToolDef
from .middleware import Entry, owners
from .models import resolve_model
from .nested import run_nested
from .onion import Observer, compose
from .state import Layout
from .stream import tell
from .tools import Tool


class OpenAgent:
    """Everything that all sessions of an open agent share."""

    def __init__(
        self,
        info: AgentInfo,
        entries: Sequence[Entry],
        observer: Observer | None,
        resolve: Callable[[str], Named] = resolve_model,
    ) -> None:
        self.info: AgentInfo | None = info
        self.entries = tuple(entries)
        self.observer = observer
        self.tools: dict[str, AnyTool] = {}
        self.tool_entries: list[Entry] = []
        self.places = places_of([(entry.name, hook) for entry in entries for hook in entry.hooks.values()])
        self.identities = {id(entry.thing): entry.name for entry in entries if not isinstance(entry.thing, Tool)}
        for tool in [tool for entry in entries for tool in entry.tools]:
            self.take_tool(self.tools, tool)
        self.chains = Chains(entries, observer)
        hooks = hooks_of(entries, "session")
        self.session = compose("session", hooks, _session_core, None, observer) if hooks else None
        self.layout = Layout(owners((*entries, *self.tool_entries)))
        self.allowed = CORE_EVENTS | {kind for entry in entries for kind in entry.events}
        self.system = (Section("instructions", info.instructions),) if info.instructions else ()
        self.sessions: dict[str, Any] = {}
        self.ready_models: set[int] = set()
        self.owner: Owner | None = None
        self._resolve = resolve
        self._models: dict[str, Named] = {}
        self._preparing: dict[int, asyncio.Lock] = {}
        self._definitions: tuple[int, tuple[ToolDef, ...]] = (-1, ())

    def definitions(self, session: SessionRecord) -> tuple[ToolDef, ...]:
        """What a model is told of the tools of *session*; the same object while the tools are the same."""
        tools = session.tools
        if tools is not self.tools:
            return tuple([tool.definition for tool in tools.values()])
        if self._definitions[0] != len(tools):
            self._definitions = (len(tools), tuple([tool.definition for tool in tools.values()]))
        return self._definitions[1]

    def find_model(self, model: Named | str) -> Named:
        """The model of that name, made once per agent."""
        if not isinstance(model, str):
            if not callable(getattr(model, "stream", None)):
                raise UseError(f"{model!r} is no model: a model has a name and stream(request)")
            return model
        found = self._models.get(model)
        if found is None:
            found = self._models[model] = self._resolve(model)
        return found

    async def prepare_model(self, model: Any) -> None:
        """Call the `init` of a model that is used for the first time, in the owner's task."""
        lock = self._preparing.setdefault(id(model), asyncio.Lock())
        async with lock:
            if id(model) in self.ready_models:
                return
            step = model_step(model)
            if step is not None and self.owner is not None:
                await self.owner.adopt(step)
            self._models.setdefault(f"#{id(model)}", model)  # kept, so that its id stays its own
            self.ready_models.add(id(model))

    def add_tool(self, session: SessionRecord | None, tool: AnyTool, by: str) -> None:
        """Register *tool* for all sessions, or for one, from the next model call on.

        Raises:
            UseError: Not a tool, or a tool of that name is there.
        """
        if not isinstance(tool, Tool):
            raise UseError(f"{by}: register_tool({tool!r}): not a tool; decorate the function with @tool")
        if session is None:
            before = len(self.tool_entries)
            self.take_tool(self.tools, tool, by)
            self._open_later(self.tool_entries[before:])
            return
        if not session.own_tools:
            session.tools, session.own_tools = dict(session.tools), True
        self.take_tool(session.tools, tool, by, for_all=False)
        tell(session.log, ToolRegistered(tool.name, by))

    def _open_later(self, entries: Sequence[Entry]) -> None:
        """Open what stands around a tool that an `init` registered, after the others."""
        if entries and self.owner is not None:
            self.layout = Layout(owners((*self.entries, *self.tool_entries)))
            for step in filter(None, [entry_step(entry, self) for entry in entries]):
                self.owner.follow(step)

    def take_tool(self, tools: dict[str, AnyTool], tool: Tool, by: str = "", *, for_all: bool = True) -> None:
        """Put *tool* into *tools*, its own middleware checked.

        Args:
            tools: Of the agent, or of one session or turn.
            tool: The tool.
            by: Who registers it.
            for_all: Whether it serves the agent: only then can what stands around it have init, dispose or state.

        Raises:
            UseError: A tool of that name is there, or what stands around it is not right.
        """
        if tool.name in tools:
            origin = f" ({by})" if by else ""
            raise UseError(f"two tools are named {tool.name!r}{origin}: give one of them another with @tool(name=...)")
        tools[tool.name] = tool if not tool.use else tool.with_use(self._read_use(tool, by, for_all=for_all))

    def _read_use(self, tool: Tool, by: str, *, for_all: bool) -> tuple[Entry, ...]:
        """The middleware around one tool, checked; its names carry the tool's."""
        where = f"tool {tool.name!r}, use=[...]"
        known = (*self.entries, *self.tool_entries)
        found = read(tool.use, known, where=where, hooks=("init", "dispose", "tool"), prefix=f"{tool.name}.")
        if for_all:
            self.tool_entries += found
            self.identities |= {id(entry.thing): entry.name for entry in found}
        else:
            _check_without_life(tool, found, by)
        return tuple(found)

    async def ask(self, ctx: TurnContext, by: str, messages: Sequence[Message], options: AskOptions) -> Any:
        """Make a middleware's own model call."""
        return await ask(ctx, by, messages, options)

    async def run_nested(self, ctx: TurnContext, agent: Any, options: NestedOptions) -> Any:
        """Run another agent inside a turn."""
        return await run_nested(ctx, agent, options)

    def allowed_with(self, entries: Sequence[Entry]) -> frozenset[type[Event]]:
        """The event classes that may be emitted while *entries* are in use too."""
        if not entries:
            return self.allowed
        extra = {kind for entry in entries for kind in entry.events}
        return self.allowed | extra if extra else self.allowed


def _check_without_life(tool: Tool, entries: Sequence[Entry], by: str) -> None:
    """Refuse middleware around a tool that would have to be opened: the agent is open already."""
    for entry in entries:
        if entry.state is not None or "init" in entry.hooks or "dispose" in entry.hooks:
            raise UseError(
                f"{by or 'use'}: {entry.name} around tool {tool.name!r} has init, dispose or state: register the tool "
                "in init; a tool of one session or turn takes plain tool hooks"
            )


async def _session_core(ctx: SessionContext) -> None:
    """Innermost in the session onion: the time that the session is open."""
    await cast(Any, ctx._session.stay_open)(ctx)


def entry_step(entry: Entry, runtime: Any) -> Step | None:
    """How a middleware is opened and closed, where it has `init` or `dispose`."""
    init, dispose = entry.hooks.get("init"), entry.hooks.get("dispose")
    if init is None and dispose is None:
        return None
    ctx = InitContext(runtime, entry.thing)
    return Step(repr(entry.name), (lambda: init(ctx)) if init is not None else None, dispose)


def model_step(model: Any) -> Step | None:
    """How a model is opened and closed, where it has `init` or `dispose`."""
    init, dispose = getattr(model, "init", None), getattr(model, "dispose", None)
    if init is None and dispose is None:
        return None
    return Step(f"model {cast(Named, model).name}", init, dispose)
