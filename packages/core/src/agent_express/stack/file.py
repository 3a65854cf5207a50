"""The stack file, typed: what it says, with a profile applied, before anything of it is looked up."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..messages import Limits
from ..plugins import Policy
from .places import Places
from .positions import KeyPath

UNLIMITED = Policy(origin="[plugins]")
"""What a file without `[plugins]` says of them."""


@dataclass(frozen=True, slots=True)
class ModelTable:
    """The model.

    Attributes:
        name: "openai:gpt-5"; beside a plugin, what the plugin calls it.
        plugin: A provider or own code; "" where the name says it.
        config: Its settings.
        path: Where it is written.
    """

    name: str = ""
    plugin: str = ""
    config: Mapping[str, Any] = field(default_factory=dict[str, Any])
    path: KeyPath = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class OverrideTable:
    """What differs for one layer of a bundle; *config* is None where nothing is said of it."""

    plugin: str = ""
    enabled: bool = True
    config: Mapping[str, Any] | None = None
    path: KeyPath = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class UseTable:
    """One `[[use]]`: a plugin or a bundle."""

    plugin: str = ""
    bundle: str = ""
    name: str = ""
    enabled: bool = True
    config: Mapping[str, Any] = field(default_factory=dict[str, Any])
    without: tuple[str, ...] = ()
    override: Mapping[str, OverrideTable] = field(default_factory=dict[str, OverrideTable])
    path: KeyPath = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class AgentTable:
    """One agent.

    Attributes:
        name: What it is called.
        model: None where the file names none.
        instructions: The text, where it stands in the file itself.
        instructions_file: The file that holds it, as written.
        tools: Own code.
        limits: With the defaults filled in.
        use: Its layers; those of a single agent stand at the top of the file.
    """

    name: str
    model: ModelTable | None = None
    instructions: str = ""
    instructions_file: str = ""
    tools: tuple[str, ...] = ()
    limits: Limits = field(default_factory=Limits)
    use: tuple[UseTable, ...] = ()
    path: KeyPath = field(default=(), compare=False)


@dataclass(frozen=True, slots=True)
class StackFile:
    """What a stack file says.

    Attributes:
        agents: By name.
        is_app: Whether they stand in an App, as `[agents.NAME]`, even if there is only one.
        use: The layers around all agents of an App; empty for a single agent, which has them itself.
        policy: Of `[plugins]`.
        profile: The one that was applied; "" for none.
        profiles: Those there are.
        mentions: All that is named under any profile, by group: ("middleware", "guards.cost-cap"); in the groups
            "tools" and "settings" own code, in the latter what only looks like it, too.
        places: Where everything stands.
    """

    agents: Mapping[str, AgentTable]
    is_app: bool = False
    use: tuple[UseTable, ...] = ()
    policy: Policy = UNLIMITED
    profile: str = ""
    profiles: tuple[str, ...] = ()
    mentions: tuple[tuple[str, str], ...] = ()
    places: Places = field(default_factory=Places, repr=False, compare=False)
