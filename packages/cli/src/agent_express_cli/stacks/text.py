"""A stack in lines of text: the onion of each hook, then what each layer brings along. Pure."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from ..words import one_line, printable
from .findings import listed
from .view import HOOKS, LEVELS, AgentView, FieldView, LayerView, StackView, ToolView


class Span(NamedTuple):
    """A piece of a line.

    Attributes:
        text: What it says.
        style: "title", "level", "name", "dim", "off", "mark", or empty.
    """

    text: str
    style: str = ""


Line: TypeAlias = tuple[Span, ...]

ORDERED = (*LEVELS, "init", "dispose")
ABOUT = {
    "session": "one conversation",
    "turn": "one message, one answer",
    "model": "each model call",
    "tool": "each tool call",
    "init": "on opening, in this order",
    "dispose": "on closing, in this order",
}
DEEP = 14
"""From so many layers on, each goes in by less."""
EMPTY: Line = ()


def stack_lines(view: StackView, agent: str = "") -> list[Line]:
    """All there is to say of *view*, or of the agent that is named."""
    lines: list[Line] = []
    for each in view.agents:
        if agent in ("", each.name):
            lines += [*_agent(view, each), EMPTY]
    shown = [layer for layer in view.layers if agent in ("", layer.agent) or not layer.agent]
    lines += _layers(shown, several=len(view.agents) > 1)
    return lines


def _agent(view: StackView, agent: AgentView) -> Iterator[Line]:
    profile = f", profile {view.profile}" if view.profile else ""
    yield Span(printable(agent.name), "title"), Span(f"  {printable(agent.model)}  {view.path}{profile}", "dim")
    hooks = [hook for hook in ORDERED if view.onion(agent.name, hook)]
    for hook in hooks:
        yield EMPTY
        yield Span(hook, "level"), Span(f"  {ABOUT[hook]}", "dim")
        yield from _onion(view.onion(agent.name, hook), hook)
    if not hooks:
        yield EMPTY
        yield (Span("no layers", "dim"),)
    tools = [(tool, layer.name) for layer in view.around(agent.name) for tool in layer.tools]
    if agent.tools or tools:
        yield EMPTY
        yield (Span("tools", "level"),)
        yield from (_tool(tool, owner) for tool, owner in [*((each, "") for each in agent.tools), *tools])


def _onion(layers: Sequence[LayerView], hook: str) -> Iterator[Line]:
    """A row for each layer, further in than the one around it; those that open and close stand in a column."""
    step = 0 if hook not in LEVELS else 2 if len(layers) <= DEEP else 1
    heads = [" " * (2 + step * depth) + printable(layer.name) for depth, layer in enumerate(layers)]
    column = max(map(len, heads))
    for head, layer in zip(heads, layers, strict=True):
        found = layer.hook(hook)
        streams = (Span("  streaming", "mark"),) if found is not None and found.streaming else ()
        bundle = (Span(f"  from {printable(layer.bundle)}", "dim"),) if layer.bundle else ()
        yield Span(f"{head:<{column}}", "name"), Span(f"  {printable(layer.package)}", "dim"), *streams, *bundle


def _layers(layers: Sequence[LayerView], *, several: bool) -> Iterator[Line]:
    if layers:
        yield Span("layers", "level"), Span("  as they are registered, outermost first", "dim")
    for layer in layers:
        yield _head(layer, several=several)
        yield from ((Span(f"    {title:<8}", "dim"), Span(text)) for title, text in _details(layer) if text)


def _head(layer: LayerView, *, several: bool) -> Line:
    whose = (layer.agent and f"agent {layer.agent}") or "App" if several else ""
    told = [layer.package, layer.plugin or layer.target, whose, layer.bundle and f"from {layer.bundle}"]
    text = "  ".join(printable(each) for each in told if each)
    off = (Span("  switched off", "off"),) if not layer.enabled else ()
    return Span(f"  {printable(layer.name)}", "name" if layer.enabled else "off"), Span(f"  {text}", "dim"), *off


def _details(layer: LayerView) -> Iterator[tuple[str, str]]:
    yield "", one_line(layer.summary, 200)
    hooks = [f"{hook.name} (streaming)" if hook.streaming else hook.name for hook in layer.hooks]
    yield "hooks", ", ".join(hooks) or ("" if layer.known else "not known before it is switched on")
    yield "state", ", ".join(map(_field, layer.state))
    yield "events", ", ".join(map(printable, layer.events))
    yield "tools", ", ".join(printable(tool.name) for tool in layer.tools)
    yield "order", "; ".join(_rules(layer))
    yield "roles", ", ".join(sorted(layer.roles))
    yield "needs", ", ".join([*layer.permissions, *(f"${name}" for name in layer.environment)])
    yield "config", _config(layer.config)
    yield "is", layer.stability if layer.stability != "stable" else ""


def _field(field: FieldView) -> str:
    marks = ", ".join(filter(None, [field.scope.replace("session", ""), "private" if field.private else ""]))
    return printable(f"{field.name}: {field.type or 'any'}{f' ({marks})' if marks else ''}")


def _rules(layer: LayerView) -> Iterator[str]:
    for word, names in (
        ("outside of", layer.order.outside),
        ("inside of", layer.order.inside),
        ("requires", layer.order.requires),
    ):
        if names:
            yield f"{word} {listed(names)}"


def _config(config: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} = {one_line(json.dumps(value, ensure_ascii=False), 60)}" for key, value in config.items())


def _tool(tool: ToolView, owner: str) -> Line:
    """A tool, and which layer brings it; the agent's own say nothing of that."""
    of = (Span(f"  of {printable(owner)}", "dim"),) if owner else ()
    around = (Span(f"  inside {listed(tool.use)}", "dim"),) if tool.use else ()
    asks = (Span("  asks first", "mark"),) if tool.asks else ()
    return Span(f"  {tool.name}", "name"), Span(f"  {one_line(tool.summary, 100)}", "dim"), *of, *asks, *around


def plain(lines: Iterable[Line]) -> str:
    """The lines without any style."""
    return "".join(f"{''.join(span.text for span in line).rstrip()}\n" for line in lines)


def stack_object(view: StackView, agent: str = "") -> dict[str, Any]:
    """All there is to know of *view*, as JSON has it; `onion` names the layers of each hook, outermost first."""
    agents = [each for each in view.agents if agent in ("", each.name)]
    return {
        "type": "stack",
        "path": view.path,
        "profile": view.profile or None,
        "agents": [_agent_object(view, each) for each in agents],
        "layers": [_layer_object(each) for each in view.layers if agent in ("", each.agent) or not each.agent],
    }


def _agent_object(view: StackView, agent: AgentView) -> dict[str, Any]:
    return {
        "name": agent.name,
        "model": agent.model,
        "context_window": agent.context_window,
        "tools": [_tool_object(tool) for tool in agent.tools],
        "onion": {hook: [layer.name for layer in view.onion(agent.name, hook)] for hook in HOOKS},
    }


def _tool_object(tool: ToolView) -> dict[str, Any]:
    return {"name": tool.name, "summary": tool.summary, "asks": tool.asks, "use": list(tool.use)}


def _layer_object(layer: LayerView) -> dict[str, Any]:
    return {
        "name": layer.name,
        "agent": layer.agent or None,
        "enabled": layer.enabled,
        "plugin": layer.plugin or None,
        "distribution": layer.distribution or None,
        "version": layer.version or None,
        "target": layer.target,
        "bundle": layer.bundle or None,
        "summary": layer.summary,
        "hooks": [{"name": hook.name, "streaming": hook.streaming} for hook in layer.hooks] if layer.known else None,
        "state": [
            {"name": each.name, "type": each.type, "scope": each.scope, "private": each.private} for each in layer.state
        ],
        "events": list(layer.events),
        "tools": [_tool_object(tool) for tool in layer.tools],
        "order": {name: list(getattr(layer.order, name)) for name in ("outside", "inside", "requires")},
        "roles": sorted(layer.roles),
        "permissions": list(layer.permissions),
        "environment": list(layer.environment),
        "stability": layer.stability or None,
        "config": dict(layer.config),
        "line": layer.line or None,
        "column": layer.column or None,
    }
