"""What is tested: how new objects of it are made, and what its author declares."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agent_express.checks import read
from agent_express.manifest import ManifestEntry
from agent_express.middleware import HOOKS, Entry, Usable
from agent_express.plugins import Plugin
from agent_express.registry import Registry

from .gate import permitted

SLOWEST = 100.0
"""How many times the cost of a layer that does nothing a middleware's own time may be, unless its author says more."""


@dataclass(frozen=True, slots=True)
class Published:
    """Where an installed middleware comes from.

    Attributes:
        plugin: Its entry point.
        registry: Who found it.
        manifest: What its package says of it; None where it says nothing.
    """

    plugin: Plugin
    registry: Registry
    manifest: ManifestEntry | None


def _nothing() -> Sequence[Usable]:
    return ()


@dataclass(slots=True)
class Subject:
    """One middleware under test.

    Attributes:
        name: What it is called in sentences.
        make: Makes a new object of it.
        published: Where it comes from; None where it is no installed plugin.
        exempt: Checks it does not pass, each with a reason.
        cases: Further names that an exemption may give, beside those of the checks: a provider's cases.
        next_many: Hooks that may call `next()` more than once in one call.
        permissions: What it may reach for, of "network", "files", "subprocess".
        outside: Makes other middleware that it needs further out.
        inside: Makes other middleware that it needs further in.
        slowest: How many times the cost of a layer that does nothing its own time may be.
        clock: Seconds, for that measurement.
        figures: What checks have measured.
    """

    name: str
    make: Callable[[], Any]
    published: Published | None = None
    exempt: Mapping[str, str] = field(default_factory=dict[str, str])
    cases: Sequence[str] = ()
    next_many: frozenset[str] = frozenset()
    permissions: frozenset[str] = frozenset()
    outside: Callable[[], Sequence[Usable]] = _nothing
    inside: Callable[[], Sequence[Usable]] = _nothing
    slowest: float = SLOWEST
    clock: Callable[[], float] = time.perf_counter
    figures: dict[str, float | None] = field(default_factory=dict[str, float | None])

    def entry_of(self, thing: Any) -> Entry:
        """What the core reads off *thing*.

        Raises:
            UseError: It is no middleware, or is not written as one.
        """
        return read([thing])[0]


def _text(reason: Any) -> str:
    return reason if isinstance(reason, str) else ""


def many(declared: object) -> frozenset[str]:
    """The hooks that `next_many` names: true means all of them."""
    if declared is True:
        return frozenset(HOOKS)
    return frozenset(str(each) for each in declared) if isinstance(declared, list | tuple) else frozenset()


def installed(name: str, registry: Registry, **options: Any) -> Subject:
    """The subject that an installed middleware is.

    Raises:
        PluginError: There is none of that name, it may not be used, or its manifest cannot be read. Nothing of it has
            been imported then.
    """
    plugin = permitted(name, "middleware", registry)
    manifest = registry.manifest(plugin)
    example = dict(manifest.example or {}) if manifest is not None else {}
    raw: Mapping[str, Any] = manifest.raw if manifest is not None else {}
    exempt: Mapping[str, Any] = manifest.exempt if manifest is not None else {}
    return Subject(
        plugin.name,
        lambda: registry.create(plugin, example),
        Published(plugin, registry, manifest),
        exempt={name: _text(reason) for name, reason in exempt.items()},
        next_many=many(raw.get("next_many")),
        permissions=frozenset(manifest.permissions if manifest is not None else ()),
        **options,
    )
