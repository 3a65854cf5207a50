"""From an agent, an App or a stack file that was loaded, to the view of it."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from agent_express import Agent, App, Tool
from agent_express.errors import PluginError
from agent_express.manifest import ManifestEntry
from agent_express.middleware import Entry
from agent_express.plugins import Plugin
from agent_express.registry import Registry
from agent_express.slices import compile_slice

from .json_types import type_of
from .view import HOOKS, AgentView, FieldView, HookView, LayerView, OrderView, StackView, ToolView

if TYPE_CHECKING:
    from agent_express.stack import Stack, StackLayer


def view_of(loaded: Agent | App | Stack, path: str, registry: Registry, profile: str = "") -> StackView:
    """Look at what was loaded.

    Args:
        loaded: An agent, an App, or a stack file.
        path: How the user calls it.
        registry: Knows which plugin a layer of Python code is.
        profile: The profile that was applied.
    """
    match loaded:
        case Agent():
            return StackView(path, (_agent(loaded),), tuple(_made(loaded.entries, registry)))
        case App():
            layers = list(_made(loaded.entries, registry))
            for agent in loaded.agents.values():
                layers += _made(agent.entries, registry, agent.name)
            return StackView(path, tuple(map(_agent, loaded.agents.values())), tuple(layers))
        case _:
            return StackView(
                path,
                tuple(_agent(agent) for agent in loaded.agents.values()),
                tuple(_written(layer, registry) for layer in loaded.layers),
                profile,
            )


def _agent(agent: Agent) -> AgentView:
    tools = [tool for entry in agent.entries if isinstance(entry.thing, Tool) for tool in entry.tools]
    window: Any = getattr(agent.model, "context_window", None)
    return AgentView(
        agent.name, agent.model.name, tuple(map(_tool, tools)), window if isinstance(window, int) else None
    )


def _made(entries: Iterable[Entry], registry: Registry, agent: str = "") -> Iterator[LayerView]:
    """The layers that Python code has put together."""
    for entry in entries:
        if not isinstance(entry.thing, Tool):
            plugin = registry.of(entry.thing)
            yield _layer(_Found(entry.name, entry, plugin, _manifest(registry, plugin), agent=agent), registry)


def _manifest(registry: Registry, plugin: Plugin | None) -> ManifestEntry | None:
    if plugin is None or plugin.group != "middleware":
        return None
    try:
        return registry.manifest(plugin)
    except PluginError:
        return None


def _written(layer: StackLayer, registry: Registry) -> LayerView:
    """A layer of a stack file."""
    return _layer(
        _Found(
            layer.name,
            layer.entry,
            layer.plugin,
            layer.manifest,
            layer.target,
            layer.agent,
            layer.enabled,
            layer.bundle,
            layer.config,
            layer.line,
            layer.column,
            is_own=not layer.bundle,
        ),
        registry,
    )


@dataclass(frozen=True, slots=True)
class _Found:
    """A layer, and all that is known of it."""

    name: str
    entry: Entry | None
    plugin: Plugin | None
    manifest: ManifestEntry | None
    target: str = ""
    agent: str = ""
    enabled: bool = True
    bundle: str = ""
    config: Mapping[str, Any] | None = None
    line: int = 0
    column: int = 0
    is_own: bool = False


def _layer(found: _Found, registry: Registry) -> LayerView:
    """What the object itself shows goes before what its manifest says; a layer that is off has only the latter."""
    entry, plugin, manifest = found.entry, found.plugin, found.manifest
    distribution, version = _package(found, registry)
    order = entry.order if entry is not None else manifest.order if manifest else None
    return LayerView(
        name=found.name,
        hooks=_hooks(entry, manifest),
        distribution=distribution,
        version=version,
        plugin=plugin.name if plugin is not None and plugin.group == "middleware" else "",
        target=found.target or (_target(entry.thing) if entry is not None else ""),
        area=entry.area if entry is not None else plugin.area if plugin is not None else "",
        agent=found.agent,
        enabled=found.enabled,
        bundle=found.bundle,
        state=_state(entry, manifest),
        events=_events(entry, manifest),
        tools=_tools(entry, manifest),
        order=OrderView() if order is None else OrderView(*map(tuple, (order.outside, order.inside, order.requires))),
        roles=frozenset(manifest.roles) if manifest else frozenset(),
        permissions=manifest.permissions if manifest else (),
        environment=manifest.environment if manifest else (),
        stability=manifest.stability if manifest else "",
        summary=manifest.summary if manifest else _first_sentence(entry),
        config=dict(found.config or {}),
        line=found.line,
        column=found.column,
        known=entry is not None or manifest is not None,
    )


def _hooks(entry: Entry | None, manifest: ManifestEntry | None) -> tuple[HookView, ...]:
    if entry is not None:
        hooks = entry.hooks
        return tuple(HookView(name, inspect.isasyncgenfunction(hooks[name])) for name in HOOKS if name in hooks)
    if manifest is None:
        return ()
    can_stream = ("turn", "model", "tool") if manifest.streaming else ()
    return tuple(HookView(name, name in can_stream) for name in manifest.hooks)


def _state(entry: Entry | None, manifest: ManifestEntry | None) -> tuple[FieldView, ...]:
    if manifest is not None and (manifest.state or entry is None):
        return tuple(FieldView(each.name, each.type, each.scope, each.private) for each in manifest.state)
    if entry is None or entry.state is None:
        return ()
    known = compile_slice(entry.state)
    return tuple(
        FieldView(
            name,
            type_of(field.annotation),
            "turn" if name in known.turn_defaults else "session",
            name in known.private,
        )
        for name, field in entry.state.model_fields.items()
    )


def _events(entry: Entry | None, manifest: ManifestEntry | None) -> tuple[str, ...]:
    if entry is not None:
        return tuple(kind.type for kind in entry.events)
    return tuple(each.name for each in manifest.events) if manifest else ()


def _tools(entry: Entry | None, manifest: ManifestEntry | None) -> tuple[ToolView, ...]:
    if entry is not None:
        return tuple(map(_tool, entry.tools))
    return tuple(ToolView(each.name, each.summary) for each in manifest.tools) if manifest else ()


def _tool(tool: Tool) -> ToolView:
    from agent_express.checks import read

    summary = " ".join(tool.description.strip().partition("\n\n")[0].split())
    around = tuple(each.name for each in read(tool.use)) if tool.use else ()
    return ToolView(tool.name, summary, tool.flags.requires_approval is not False, around)


def _package(found: _Found, registry: Registry) -> tuple[str, str]:
    """The distribution of a layer and its version; nothing where it is the project's own.

    What a package publishes under no name, as the members of a bundle may be, is known by where its class lies.
    """
    if found.plugin is not None:
        return found.plugin.distribution, found.plugin.version
    if found.entry is None or found.is_own:
        return "", ""
    top = _target(found.entry.thing).partition(":")[0].partition(".")[0]
    for plugin in registry.plugins():
        if plugin.target.partition(":")[0].partition(".")[0] == top:
            return plugin.distribution, plugin.version
    from importlib.metadata import PackageNotFoundError, version

    try:
        return top.replace("_", "-"), version(top)
    except (PackageNotFoundError, ValueError):
        return "", ""


def _target(thing: object) -> str:
    """Where the class or function of a layer is written: "module:attr"."""
    kind: Any = thing if inspect.isfunction(thing) else type(thing)
    return f"{kind.__module__}:{kind.__qualname__}"


def _first_sentence(entry: Entry | None) -> str:
    """What its docstring starts with; nothing where it has none of its own."""
    if entry is None:
        return ""
    kind: Any = entry.thing if inspect.isfunction(entry.thing) else type(entry.thing)
    said = vars(kind).get("__doc__") if isinstance(kind, type) else kind.__doc__
    return " ".join(inspect.cleandoc(said or "").partition("\n\n")[0].split())
