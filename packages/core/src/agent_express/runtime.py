"""An open agent: what was compiled when it opened, and what it does for the contexts."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any, cast

from .asks import ask
from .chains import Chains
from .contexts import AgentInfo, AnyTool, AskOptions, NestedOptions, SessionRecord, TurnContext
from .errors import UseError
from .events import Event, ToolRegistered
from .lifecycle import Owner, Step
from .log import CORE_EVENTS
from .messages import Message, Named, Section, ToolDef
from .middleware import Entry, owners, read
from .models import resolve_model
from .nested import run_nested
from .onion import Observer
from .state import Layout
from .tools import Tool


class OpenAgent:
    """Everything that all sessions of an open agent share."""

    def __init__(
        self, info: AgentInfo, entries: Sequence[Entry], tools: Iterable[Tool], observer: Observer | None
    ) -> None:
        self.info: AgentInfo | None = info
        self.entries = tuple(entries)
        self.observer = observer
        self.tools: dict[str, AnyTool] = {}
        self.tool_entries: list[Entry] = []
        for tool in (*tools, *[tool for entry in entries for tool in entry.tools]):
            self._take(self.tools, tool)
        self.chains = Chains(entries, observer)
        self.layout = Layout(owners((*entries, *self.tool_entries)))
        self.allowed = CORE_EVENTS | {kind for entry in entries for kind in entry.events}
        self.identities = {id(entry.thing): entry.name for entry in (*entries, *self.tool_entries)}
        self.system = (Section("instructions", info.instructions),) if info.instructions else ()
        self.sessions: dict[str, Any] = {}
        self.ready_models: set[int] = set()
        self.owner: Owner | None = None
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
            found = self._models[model] = resolve_model(model)
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
            self._take(self.tools, tool, by)
            return
        if not session.own_tools:
            session.tools, session.own_tools = dict(session.tools), True
        self._take(session.tools, tool, by)
        session.log.append(ToolRegistered(tool.name, by))

    def _take(self, tools: dict[str, AnyTool], tool: Tool, by: str = "") -> None:
        if tool.name in tools:
            origin = f" ({by})" if by else ""
            raise UseError(f"two tools are named {tool.name!r}{origin}: give one of them another with @tool(name=...)")
        if tool.use and not all(isinstance(each, Entry) for each in tool.use):
            where = f"tool {tool.name!r}, use=[...]"
            found = read(tool.use, where=where, hooks=("init", "dispose", "tool"))
            self.tool_entries += found
            tool = tool.with_use(tuple(found))
        tools[tool.name] = tool

    async def ask(self, ctx: TurnContext, by: str, messages: Sequence[Message], options: AskOptions) -> Any:
        """Make a middleware's own model call."""
        return await ask(ctx, by, messages, options)

    async def run_nested(self, ctx: TurnContext, agent: Any, options: NestedOptions) -> Any:
        """Run another agent inside a turn."""
        return await run_nested(ctx, agent, options)

    def allowed_with(self, entries: Sequence[Entry]) -> frozenset[type[Event]]:
        """The event classes that may be emitted while *entries* are in use too."""
        extra = {kind for entry in entries for kind in entry.events}
        return self.allowed | extra if extra else self.allowed


def model_step(model: Any) -> Step | None:
    """How a model is opened and closed, where it has `init` or `dispose`."""
    init, dispose = getattr(model, "init", None), getattr(model, "dispose", None)
    if init is None and dispose is None:
        return None
    return Step(f"model {cast(Named, model).name}", init, dispose)
