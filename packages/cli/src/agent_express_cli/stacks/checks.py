"""What `stack check` says of a stack: its order, who is missing, what clashes, what is not settled yet. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from .findings import Finding, listed, place
from .order import check_order, speaks_of
from .roles import roles_of
from .rules import RULES, Alone, Needs, Rule, Severity
from .view import AgentView, LayerView, StackView

EXPLAINED: dict[str, str] = {
    "order": "A layer says itself what it must stand outside or inside of (Order, or `order` in its manifest).",
    "requires": "A layer says itself that it needs another one (Order(requires=...)); the agent does not open without.",
    "tool-names": "The model calls a tool by its name, so each name is there once.",
    "context-window-unknown": "Who cuts the history must know how much the model takes; nobody knows that of this one.",
    "alpha": "An alpha may change its settings, its state and its behaviour from one version to the next.",
    "not-locked": "agent.lock says which distribution in which version each layer came from; `--locked` then refuses "
    "others.",
    "drift": "What is installed, or the project's own code, is no longer what agent.lock says.",
    "stack-file": "The stack cannot be put together.",
    "secret-missing": "A setting names a secret, and here there is none of that name.",
    "plugin": "A plugin of the command line says so (the hook `check_stack`).",
}
"""The rules that are not data, and what each is about."""

TOKENS = frozenset({"window", "context_window", "tokens", "max_tokens", "limit"})
"""Settings that tell a layer how much the model takes."""


def check_stack(view: StackView, rules: Sequence[Rule] = RULES) -> list[Finding]:
    """Check *view* by the order rules of its layers, by *rules*, and by what any stack must hold.

    The worst findings come first, those of one kind in the order of the agents.
    """
    found: list[Finding] = []
    several = len(view.agents) > 1
    for agent in view.agents:
        for each in _agent(view, agent, rules):
            named = replace(each, agent=_whose(each, view, agent) if several else "")
            if all(
                (known.rule, known.message, known.agent) != (named.rule, named.message, named.agent) for known in found
            ):
                found.append(named)
    found += _alpha(view)
    return sorted(found, key=lambda each: tuple(Severity).index(each.severity))


def _whose(finding: Finding, view: StackView, agent: AgentView) -> str:
    """Whose finding it is: the agent's, or the App's, which is said once, where only layers of the App are meant."""
    own = {layer.name for layer in view.layers if layer.agent == agent.name} | {f"agent {agent.name}"}
    return agent.name if own.intersection(finding.layers) or not finding.layers else ""


def _agent(view: StackView, agent: AgentView, rules: Sequence[Rule]) -> Iterator[Finding]:
    layers = view.around(agent.name)
    off = [each for each in view.written_around(agent.name) if not each.enabled]
    yield from check_order(layers, rules)
    yield from _required(layers, off)
    for rule in rules:
        if isinstance(rule, Needs):
            yield from _needs(rule, layers, off)
        elif isinstance(rule, Alone):
            yield from _alone(rule, layers)
    yield from _tool_names(agent, layers)
    yield from _window(agent, layers)


def _required(layers: Sequence[LayerView], off: Sequence[LayerView]) -> Iterator[Finding]:
    for layer in layers:
        for wanted in layer.order.requires:
            if any(each.matches(wanted) for each in layers if each is not layer):
                continue
            idle = next((each.name for each in off if each.matches(wanted)), "")
            what = f"{idle}, which is switched off here" if idle else f"{wanted}, and no layer in use is that"
            advice = (
                f"switch {idle} on, or {layer.name} off too" if idle else f"add {wanted}, or leave {layer.name} out"
            )
            why = "the agent does not open without it"
            message = f"{layer.name} requires {what}"
            names = tuple(filter(None, [layer.name, idle]))
            yield Finding("requires", Severity.ERROR, message, why, advice, names, *place(layer))


def _needs(rule: Needs, layers: Sequence[LayerView], off: Sequence[LayerView]) -> Iterator[Finding]:
    if any(speaks_of(rule.whom, each) for each in layers):
        return
    idle = next((each.name for each in off if speaks_of(rule.whom, each)), "")
    wanted = listed(rule.whom, "or")
    for layer in layers:
        if speaks_of(rule.who, layer):
            doing = listed(sorted(roles_of(layer).intersection(rule.who))) or layer.name
            lack = f"{idle} is switched off" if idle else f"no layer is a {wanted}"
            message = f"{layer.name} {_does(doing)}, and {lack}"
            advice = f"switch {idle} on" if idle else f"use a {wanted}, or leave {layer.name} out"
            names = tuple(filter(None, [layer.name, idle]))
            yield Finding(rule.id, rule.severity, message, rule.why, advice, names, *place(layer))


def _does(role: str) -> str:
    return "records content" if role == "records-content" else f"is there for {role}"


def _alone(rule: Alone, layers: Sequence[LayerView]) -> Iterator[Finding]:
    found = [each for each in layers if speaks_of(rule.who, each)]
    if len(found) > 1:
        names = tuple(each.name for each in found)
        message = f"{listed(names)} {'both' if len(names) == 2 else 'all'} are there for {listed(rule.who, 'or')}"
        advice = f"leave all but one out, such as {names[-1]}"
        yield Finding(rule.id, rule.severity, message, rule.why, advice, names, *place(found[-1]))


def _tool_names(agent: AgentView, layers: Sequence[LayerView]) -> Iterator[Finding]:
    owners: dict[str, list[str]] = {}
    for tool in agent.tools:
        owners.setdefault(tool.name, []).append(f"agent {agent.name}")
    for layer in layers:
        for tool in layer.tools:
            owners.setdefault(tool.name, []).append(layer.name)
    for tool_name, held in owners.items():
        if len(held) > 1:
            yield Finding(
                "tool-names",
                Severity.ERROR,
                f"{len(held)} tools are named {tool_name}: of {listed(held)}",
                "the model can call only one of them",
                "give one another name, or leave one out",
                tuple(held),
            )


def _window(agent: AgentView, layers: Sequence[LayerView]) -> Iterator[Finding]:
    if agent.context_window is not None:
        return
    for layer in layers:
        if "context-window" in roles_of(layer) and TOKENS.isdisjoint(layer.config):
            yield Finding(
                "context-window-unknown",
                Severity.WARNING,
                f"{layer.name} keeps the request within what the model takes, and nobody knows that of {agent.model}",
                "it can only refuse, or guess",
                f"say it in the config of {layer.name}",
                (layer.name,),
                *place(layer),
            )


def _alpha(view: StackView) -> Iterator[Finding]:
    found = [each for each in view.layers if each.enabled and each.stability == "alpha"]
    if found:
        names = tuple(dict.fromkeys(each.name for each in found))
        message = f"{listed(names)} {'is' if len(names) == 1 else 'are'} alpha"
        why = "settings and behaviour may change with the next version"
        yield Finding("alpha", Severity.NOTE, message, why, "lock the stack: agent-express stack lock", names)


def permissions(view: StackView) -> dict[str, tuple[str, ...]]:
    """What the layers in use may need, and who needs it: {"network": ("memory",)}."""
    wanted: dict[str, list[str]] = {}
    for layer in view.layers:
        for each in layer.permissions if layer.enabled else ():
            wanted.setdefault(each, []).append(layer.name)
    return {each: tuple(dict.fromkeys(wanted[each])) for each in sorted(wanted)}
