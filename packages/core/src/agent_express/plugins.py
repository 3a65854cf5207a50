"""What is known of a plugin before it is imported, and who may use which."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Self

from .errors import PluginError

GROUPS = ("middleware", "models", "stores", "bundles", "adapters", "skills", "hooks")
"""The groups of entry points, each written "agent_express.<group>"."""

BLOCK, ALLOW, STRICT = "AGENT_EXPRESS_BLOCK", "AGENT_EXPRESS_ALLOW", "AGENT_EXPRESS_STRICT"
_YES = {"1", "true", "yes", "on"}
_NO = {"", "0", "false", "no", "off"}


class PluginState(StrEnum):
    """Where a plugin stands; `Plugin.reason` says why."""

    AVAILABLE = "available"
    LOADED = "loaded"
    BLOCKED = "blocked"
    INCOMPATIBLE = "incompatible"
    AMBIGUOUS = "ambiguous"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Plugin:
    """An installed plugin, known by its entry point.

    Attributes:
        name: "guards.cost-cap".
        group: One of `GROUPS`.
        target: What the entry point points to, "package.module:attribute".
        distribution: Whose it is.
        version: The version of that.
        state: Where it stands.
        reason: Why it cannot be used, and what to do; empty where it can.
    """

    name: str
    group: str
    target: str
    distribution: str
    version: str
    state: PluginState = PluginState.AVAILABLE
    reason: str = ""

    @property
    def qualified(self) -> str:
        """The name that no other plugin of its group has, "agent-express-guards:guards.cost-cap"."""
        return f"{self.distribution}:{self.name}"

    @property
    def area(self) -> str:
        """What stands before the first point of its name: "guards"."""
        return self.name.partition(".")[0]

    @property
    def usable(self) -> bool:
        """Whether nothing speaks against using it."""
        return self.state in (PluginState.AVAILABLE, PluginState.LOADED)

    def now(self, state: PluginState, reason: str = "") -> Plugin:
        """The same plugin in another state."""
        return replace(self, state=state, reason=reason)

    def __str__(self) -> str:
        return f"{self.name} ({self.distribution} {self.version})"


@dataclass(frozen=True, slots=True)
class Policy:
    """Which plugins may be used.

    A pattern is matched, with `*` and `?`, against the name ("guards.*"), the distribution ("agent-express-guards",
    in any spelling that packaging takes for the same), and both ("agent-express-guards:guards.cost-cap").

    Attributes:
        allow: Nothing but these; empty allows all.
        block: None of these, even where they are allowed.
        strict: Whether a plugin that is ambiguous, incompatible or broken is an error for everybody, not only for
            those who use it.
        origin: Where it is written, for messages.
        outer: Another policy that holds as well.
    """

    allow: tuple[str, ...] = ()
    block: tuple[str, ...] = ()
    strict: bool = False
    origin: str = "the policy"
    outer: Policy | None = None

    @classmethod
    def from_environ(cls, environ: Mapping[str, str]) -> Self:
        """Read `AGENT_EXPRESS_BLOCK` and `_ALLOW`, patterns with commas between, and `_STRICT`, 1 or 0.

        Raises:
            PluginError: `AGENT_EXPRESS_STRICT` is neither yes nor no.
        """
        strict = environ.get(STRICT, "").strip().lower()
        if strict not in _YES | _NO:
            raise PluginError(f"{STRICT} is {strict!r}, expected 1 or 0")
        return cls(_split(environ.get(ALLOW, "")), _split(environ.get(BLOCK, "")), strict in _YES, "the environment")

    def joined(self, outer: Policy) -> Policy:
        """This one, and *outer*: what either blocks is blocked, what both allow is allowed."""
        return replace(self, outer=outer if self.outer is None else self.outer.joined(outer))

    @property
    def is_strict(self) -> bool:
        """Whether any of the joined policies is strict."""
        return self.strict or (self.outer is not None and self.outer.is_strict)

    def refusal(self, plugin: Plugin) -> str:
        """Why *plugin* may not be used; empty where it may."""
        pattern = next((each for each in self.block if _matches(each, plugin)), None)
        if pattern is not None:
            return f"{plugin.name} is blocked by {pattern!r} in {self._place(BLOCK, 'block')}"
        if self.allow and not any(_matches(each, plugin) for each in self.allow):
            return f"{plugin.name} is not allowed: {self._place(ALLOW, 'allow')} names only {', '.join(self.allow)}"
        return self.outer.refusal(plugin) if self.outer is not None else ""

    def _place(self, variable: str, key: str) -> str:
        return variable if self.origin == "the environment" else f"{key} of {self.origin}"


def _split(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _matches(pattern: str, plugin: Plugin) -> bool:
    wanted, name = pattern.lower(), plugin.name.lower()
    left, colon, right = wanted.rpartition(":")
    if colon:
        return _is_package(left, plugin.distribution) and fnmatchcase(name, right)
    return fnmatchcase(name, wanted) or _is_package(wanted, plugin.distribution)


def _is_package(wanted: str, distribution: str) -> bool:
    """Whether a pattern means a distribution, however its name is spelled; "guards.*" remains one of plugins' names."""
    name = normal(distribution)
    return name == normal(wanted) or any(
        fnmatchcase(each, pattern)
        for each in (name, distribution.lower())
        for pattern in (wanted, wanted.replace("_", "-"))
    )


@lru_cache(maxsize=4096)
def normal(name: str) -> str:
    """A distribution's name as packaging compares it: "Agent.Express_foo" is "agent-express-foo"."""
    return re.sub(r"[-_.]+", "-", name).lower()
