"""A stack as plain data: what is shown, drawn and checked. Nothing here imports the framework."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

LEVELS = ("session", "turn", "model", "tool")
"""The levels with an onion, from the outermost in."""
HOOKS = ("init", "dispose", *LEVELS)


@dataclass(frozen=True, slots=True)
class HookView:
    """A hook that a layer has.

    Attributes:
        name: One of `HOOKS`.
        streaming: Whether it yields, and so sees each event.
    """

    name: str
    streaming: bool = False


@dataclass(frozen=True, slots=True)
class FieldView:
    """A field of a layer's state.

    Attributes:
        name: As it is read, `ctx.state[layer].name`.
        type: Its JSON type, "integer".
        scope: "session" or "turn".
        private: Whether it stays out of logs.
    """

    name: str
    type: str = ""
    scope: str = "session"
    private: bool = False


@dataclass(frozen=True, slots=True)
class ToolView:
    """A tool.

    Attributes:
        name: What the model calls it.
        summary: What the model is told of it, its first line.
        asks: Whether somebody must say yes first, always or for some arguments.
        use: The layers around this one tool.
    """

    name: str
    summary: str = ""
    asks: bool = False
    use: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OrderView:
    """The order rules that a layer brings along."""

    outside: tuple[str, ...] = ()
    inside: tuple[str, ...] = ()
    requires: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LayerView:
    """A layer of the onion, in use or switched off.

    Attributes:
        name: What it is called in this stack.
        hooks: In the order of `HOOKS`.
        distribution: The package it came with; empty for code of the project's own.
        version: The version of that package.
        plugin: Its entry point, "guards.cost-cap"; empty for code of the project's own.
        target: "module:attr".
        area: The area of its package, "guards".
        agent: Whose it is; empty for the App, or where there is only one agent.
        enabled: Whether it runs.
        bundle: The bundle it came from; empty where it was written by itself.
        state: The fields of its state.
        events: The types of the events it adds, "budget:warned".
        tools: The tools it brings.
        order: Its order rules.
        roles: What it does in a stack, as its author declares: "budget".
        permissions: What it may need: "network", "files", "subprocess".
        environment: The variables it reads.
        stability: "alpha", "beta", "stable"; empty where nobody says.
        summary: What it does, in one sentence.
        config: Its settings as they were written; secrets as references.
        line: Where it stands in the stack file; 0 where there is none.
        column: Likewise.
        known: Whether its hooks are known; those of a layer that is switched off may not be.
    """

    name: str
    hooks: tuple[HookView, ...] = ()
    distribution: str = ""
    version: str = ""
    plugin: str = ""
    target: str = ""
    area: str = ""
    agent: str = ""
    enabled: bool = True
    bundle: str = ""
    state: tuple[FieldView, ...] = ()
    events: tuple[str, ...] = ()
    tools: tuple[ToolView, ...] = ()
    order: OrderView = OrderView()
    roles: frozenset[str] = frozenset()
    permissions: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    stability: str = ""
    summary: str = ""
    config: Mapping[str, Any] = field(default_factory=dict[str, Any])
    line: int = 0
    column: int = 0
    known: bool = True

    @property
    def package(self) -> str:
        """Package and version; "local" for code of the project's own."""
        return f"{self.distribution} {self.version}".rstrip() if self.distribution else "local"

    @property
    def levels(self) -> frozenset[str]:
        """The levels at which it has a hook."""
        return frozenset(hook.name for hook in self.hooks if hook.name in LEVELS)

    def hook(self, name: str) -> HookView | None:
        """Its hook of that name."""
        return next((hook for hook in self.hooks if hook.name == name), None)

    def matches(self, rule: str) -> bool:
        """Whether an order rule speaks of it: by name, entry point, or area."""
        return rule in (self.name, self.plugin, self.area, f"{self.area}.{self.name}") and bool(rule)


@dataclass(frozen=True, slots=True)
class AgentView:
    """An agent of the stack.

    Attributes:
        name: Its name.
        model: The full name of its model.
        tools: Its own tools; those of layers stand with the layers.
        context_window: Tokens its model takes; None where nobody knows.
    """

    name: str
    model: str = ""
    tools: tuple[ToolView, ...] = ()
    context_window: int | None = None


@dataclass(frozen=True, slots=True)
class StackView:
    """A whole stack.

    Attributes:
        path: Where it was read from: a file, or "module:attr".
        agents: One, or those of an App.
        layers: Those of the App, then those of each agent, each outermost first; also those that are switched off.
        profile: The profile that was applied.
    """

    path: str
    agents: tuple[AgentView, ...]
    layers: tuple[LayerView, ...] = ()
    profile: str = ""

    def around(self, agent: str) -> tuple[LayerView, ...]:
        """The layers around *agent* that run, outermost first."""
        return tuple(each for each in self.written_around(agent) if each.enabled)

    def written_around(self, agent: str) -> tuple[LayerView, ...]:
        """The layers around *agent*, also those that are switched off, outermost first."""
        return tuple(each for each in self.layers if each.agent in ("", agent))

    def onion(self, agent: str, hook: str) -> tuple[LayerView, ...]:
        """The layers around *agent* that have a hook, outermost first; for "dispose" in the order in which they run."""
        found = tuple(each for each in self.around(agent) if each.hook(hook) is not None)
        return found[::-1] if hook == "dispose" else found
