"""A stack that was read and built."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..agent import Agent
from ..app import App
from ..errors import UseError
from ..manifest import ManifestEntry
from ..middleware import Entry
from ..plugins import Plugin, Policy
from ..registry import Registry
from ..tools import Tool
from .file import UNLIMITED, StackFile
from .words import meant


@dataclass(frozen=True, slots=True)
class StackLayer:
    """One layer of a stack, in the file's order, which is outside-in.

    Attributes:
        name: What it is called in the stack.
        plugin: What it was made from; None for own code.
        target: "module:attr" as written, or where the plugin, or else the class, lies.
        entry: What stands in the onion; None where it is disabled.
        agent: Whose it is; "" for the App's, and for those of the only agent.
        enabled: Whether it is built.
        bundle: What its bundle is called; "" where it stands in the file itself.
        manifest: What its package says of it; None where that says nothing.
        line: Of its entry in the file; 0 where the stack has no lines.
        column: Of the same.
        config: Its settings as written: a secret is still a table.
    """

    name: str
    plugin: Plugin | None = None
    target: str = ""
    entry: Entry | None = None
    agent: str = ""
    enabled: bool = True
    bundle: str = ""
    manifest: ManifestEntry | None = None
    line: int = 0
    column: int = 0
    config: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True, slots=True)
class StackTool:
    """One of an agent's own tools.

    Attributes:
        name: What the model calls it.
        target: "module:attr" as written.
        tool: The tool.
        agent: Whose it is; "" for the only agent.
        line: Where it is written.
        column: Of the same.
    """

    name: str
    target: str
    tool: Tool
    agent: str = ""
    line: int = 0
    column: int = 0


@dataclass(frozen=True, slots=True)
class Stack:
    """A stack file, read and built; nothing of it is open yet.

    Attributes:
        path: The file.
        file: What it says, with the profile applied.
        agents: By name.
        app: The App that holds them; None for a single agent.
        layers: All of them, also the disabled ones: the App's first, then each agent's.
        tools: The agents' own.
        policy: Which plugins may be used: the file's policy and the environment's.
        registry: The plugins it was built from, under that policy.
    """

    path: Path
    file: StackFile
    agents: Mapping[str, Agent]
    app: App | None = None
    layers: tuple[StackLayer, ...] = ()
    tools: tuple[StackTool, ...] = ()
    policy: Policy = UNLIMITED
    registry: Registry = field(default_factory=Registry, repr=False, compare=False)

    def agent(self, name: str = "") -> Agent:
        """The agent called *name*; without a name, the only one.

        Raises:
            UseError: There is none of that name, or there are several and none was named.
        """
        if not name and len(self.agents) == 1:
            return next(iter(self.agents.values()))
        found = self.agents.get(name)
        if found is None:
            asked = f"no agent {name!r} in {self.path}" if name else f"{self.path} has several agents: name one"
            raise UseError(f"{asked}; {meant(name, self.agents)}")
        return found
