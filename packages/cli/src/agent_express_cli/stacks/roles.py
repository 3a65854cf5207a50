"""What a layer does in a stack: the roles that the house rules speak of. Pure."""

from __future__ import annotations

from fnmatch import fnmatchcase

from .view import LayerView

GUIDE: tuple[tuple[str, ...], ...] = (
    ("trace",),
    ("auth",),
    ("rate-limit", "concurrency"),
    ("timeout",),
    ("checkpoint",),
    ("redactor",),
    ("input-guard", "output-guard"),
    ("budget",),
    ("permissions", "approval"),
    ("retry", "fallback"),
    ("tools",),
    ("todos",),
    ("memory",),
    ("context-window",),
    ("router",),
    ("prompt-cache",),
    ("response-cache",),
)
"""From the outermost in; what stands together may change places."""
RECORDS_CONTENT = "records-content"
"""A role without a place: it keeps what was said."""
_NAMED = frozenset(role for row in GUIDE for role in row) | {RECORDS_CONTENT}

WELL_KNOWN: tuple[tuple[str, str], ...] = (
    ("observe.*", "trace"),
    ("guards.auth", "auth"),
    ("guards.rate-limit", "rate-limit"),
    ("guards.concurrency", "concurrency"),
    ("guards.timeout", "timeout"),
    ("checkpoint.*", "checkpoint"),
    ("guards.redactor", "redactor"),
    ("guards.input*", "input-guard"),
    ("guards.output*", "output-guard"),
    ("guards.cost-cap", "budget"),
    ("guards.token-budget", "budget"),
    ("guards.call-limit", "budget"),
    ("guards.permissions", "permissions"),
    ("guards.approval", "approval"),
    ("calls.retry", "retry"),
    ("calls.fallback", "fallback"),
    ("tools.*", "tools"),
    ("tools-mcp.*", "tools"),
    ("skills.*", "tools"),
    ("sub-agents.*", "tools"),
    ("workspace.*", "tools"),
    ("tasks.todos", "todos"),
    ("memory.*", "memory"),
    ("calls.context-window", "context-window"),
    ("context-window.*", "context-window"),
    ("calls.router", "router"),
    ("calls.prompt-cache", "prompt-cache"),
    ("calls.response-cache", "response-cache"),
)
"""Entry points whose manifest says nothing of roles, and the role that they have all the same."""


def roles_of(layer: LayerView) -> frozenset[str]:
    """The roles of *layer*: those that its author declares, else the one its entry point or its name is known for.

    A layer of the project's own has the role that it is named after: `named("rate-limit", per_user)`.
    """
    if layer.roles:
        return layer.roles
    if layer.plugin:
        return frozenset(role for pattern, role in WELL_KNOWN if fnmatchcase(layer.plugin, pattern))
    return frozenset({layer.name}) & _NAMED
