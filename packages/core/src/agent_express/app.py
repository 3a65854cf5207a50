"""The App: several agents by name, and middleware around all of them."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from importlib import import_module
from types import TracebackType
from typing import Any, Self

from .agent import Agent
from .answer import Answer
from .checks import Stack, read
from .contexts import AgentInfo, AnyTool, places_of
from .errors import UseError
from .explain import explain
from .inputs import Input
from .lifecycle import Owner, finish, raise_all
from .middleware import Entry, Usable
from .order import check_order
from .runtime import entry_step
from .session import Session
from .tools import Tool


class App:
    """Agents by name under common middleware: `App().use(RateLimit(...)).mount(support).mount(sales)`.

    Its hooks stand outside of the agents' own. `init` and `dispose` of its middleware run once, around the agents'.
    """

    def __init__(self) -> None:
        self.agents: dict[str, Agent] = {}
        self.is_opening = False
        self._entries: list[Entry] = []
        self._owner: Owner | None = None
        self._opened: list[Agent] = []
        self._tools: list[Tool] = []

    @classmethod
    def from_stack(cls, path: str | os.PathLike[str], *, profile: str = "") -> App:
        """Make the App of a stack file that has several agents, as `[agents.NAME]`.

        Args:
            path: The file, "agent.toml" say.
            profile: The profile to apply.

        Raises:
            StackError: All that is wrong in the file, with line and column.
            UseError: The file has a single agent.
        """
        found: App | None = import_module("agent_express.stack").load_stack(path, profile=profile).app
        if found is None:
            raise UseError(f"{os.fspath(path)} has a single [agent]: write Agent.from_stack(...), or [agents.NAME]")
        return found

    def use(self, *things: Usable) -> Self:
        """Add middleware around all agents, outermost first; before agents are mounted.

        Raises:
            UseError: One of them is not right, agents are mounted, or the App is open.
        """
        if self._owner is not None or self.agents:
            raise UseError("App.use() comes before mount() and before `async with app`")
        found = read(things, self._entries)
        check_order([*self._entries, *found])
        self._entries += found
        return self

    def mount(self, agent: Agent) -> Self:
        """Add *agent* under its name.

        Raises:
            UseError: An agent of that name, or of that place, is mounted already; a name is used twice across both.
        """
        if agent.name in self.agents:
            raise UseError(f"App: an agent named {agent.name!r} is mounted already: give one another name=")
        if agent._app is not None or agent._users:
            raise UseError(f"App: agent {agent.name!r} is mounted in another App, or open")
        together = Stack(self._entries)
        for entry in agent._entries:
            together.add(entry, f"App and agent {agent.name!r}")
        check_order([*self._entries, *agent._entries])
        agent._app, agent._outer = self, tuple(self._entries)
        self.agents[agent.name] = agent
        return self

    @property
    def entries(self) -> tuple[Entry, ...]:
        """What is in use around all agents, outermost first."""
        return tuple(self._entries)

    def explain(self) -> str:
        """The App's own onion, then each agent's whole one."""
        parts = [f"App\n{explain(self._entries)}"]
        parts += [f"agent {name}\n{agent.explain()}" for name, agent in self.agents.items()]
        return "\n\n".join(parts)

    async def __aenter__(self) -> Self:
        if self._owner is not None:
            raise UseError("the App is open already")
        runtime = _AppRuntime(self)
        owner = Owner([step for entry in self._entries if (step := entry_step(entry, runtime)) is not None])
        self._owner = owner
        self.is_opening = True
        try:
            await owner.opened()
            for agent in self.agents.values():
                await agent.__aenter__()
                self._opened.append(agent)
                for extra in self._tools:
                    agent._open_runtime().take_tool(agent._open_runtime().tools, extra, "App")
        except BaseException:
            if not owner.is_open:
                await owner.abandon()
            await self._close()
            raise
        finally:
            self.is_opening = False
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self._close()

    async def _close(self) -> None:
        await finish(asyncio.get_running_loop().create_task(self._close_all()))

    async def _close_all(self) -> None:
        owner, self._owner = self._owner, None
        errors: list[Exception] = []
        while self._opened:
            try:
                await self._opened.pop().__aexit__(None, None, None)
            except Exception as error:
                errors.append(error)
        self._tools.clear()
        if owner is not None and not owner.has_failed:
            errors += await owner.close()
        raise_all(errors, "closing the App failed")

    def _agent(self, name: str) -> Agent:
        agent = self.agents.get(name)
        if agent is None:
            raise UseError(f"App: no agent {name!r} is mounted; there are: {', '.join(self.agents) or 'none'}")
        return agent

    def session(
        self,
        name: str,
        session_id: str | None = None,
        *,
        user_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        resources: Mapping[Any, Any] | None = None,
        credentials: Any = None,
    ) -> Session:
        """A conversation with the agent *name*; see `Agent.session`."""
        return self._agent(name).session(
            session_id, user_id=user_id, metadata=metadata, resources=resources, credentials=credentials
        )

    async def run(self, name: str, input: Input, **options: Any) -> Answer[Any]:
        """Run one turn with the agent *name*, in a session of its own; see `Session.run`."""
        if self._owner is None:
            raise UseError("the App is not open: write `async with app:`")
        async with self.session(name) as session:
            answer: Answer[Any] = await session.run(input, **options)
            return answer


class _AppRuntime:
    """What an App's own `init` hooks see: no agent, and tools for all of them."""

    info: AgentInfo | None = None

    def __init__(self, app: App) -> None:
        self._app = app
        self.places = places_of([(entry.name, hook) for entry in app._entries for hook in entry.hooks.values()])
        self.identities = {id(entry.thing): entry.name for entry in app._entries}

    @property
    def tools(self) -> Mapping[str, AnyTool]:
        return {each.name: each for each in self._app._tools}

    def add_tool(self, session: Any, tool: AnyTool, by: str) -> None:
        if not isinstance(tool, Tool):
            raise UseError(f"{by}: register_tool({tool!r}): not a tool; decorate the function with @tool")
        self._app._tools.append(tool)
