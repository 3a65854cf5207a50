"""Whether the variables of the policy say what was meant."""

from __future__ import annotations

import difflib
import os
from collections.abc import Iterator

from agent_express.plugins import Plugin, PluginState, Policy
from agent_express.registry import Registry

from ..hosting.checks import Check

KNOWN = ("AGENT_EXPRESS_ALLOW", "AGENT_EXPRESS_BLOCK", "AGENT_EXPRESS_MODEL", "AGENT_EXPRESS_STRICT")


def check(registry: Registry) -> Iterator[Check]:
    """Name the policy, patterns of it that match nothing, and variables that look like a slip of the pen."""
    plugins = registry.plugins()
    said = [f"{name}={os.environ[name]}" for name in KNOWN if name in os.environ and name != "AGENT_EXPRESS_MODEL"]
    blocked = [plugin.name for plugin in plugins if plugin.state is PluginState.BLOCKED]
    told = ", ".join(said) or "everything is allowed"
    if blocked:
        told = f"{told}; blocked: {', '.join(blocked)}"
    yield Check("policy", "ok", told)
    for name in ("AGENT_EXPRESS_ALLOW", "AGENT_EXPRESS_BLOCK"):
        for pattern in filter(None, map(str.strip, os.environ.get(name, "").split(","))):
            if not _matches(pattern, plugins):
                yield Check(
                    name, "warn", f"{pattern!r} matches no installed plugin", "write a name, or a pattern with *"
                )
    for name in sorted(os.environ):
        near = difflib.get_close_matches(name, KNOWN, 1, 0.85)
        if name.startswith("AGENT_") and name not in KNOWN and near:
            yield Check(name, "warn", "no such variable is read", f"was {near[0]} meant?")


def _matches(pattern: str, plugins: tuple[Plugin, ...]) -> bool:
    only = Policy(block=(pattern,))
    return any(only.refusal(plugin) for plugin in plugins)
