"""What is said of a stack beside its order."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_express_cli.stacks.checks import EXPLAINED, check_stack, permissions
from agent_express_cli.stacks.findings import listed
from agent_express_cli.stacks.rules import Severity
from agent_express_cli.stacks.view import AgentView, HookView, LayerView, OrderView, StackView, ToolView


def layer(name: str, *roles: str, **more: Any) -> LayerView:
    return LayerView(name, **{"hooks": (HookView("turn"),), "roles": frozenset(roles), **more})


def view(*layers: LayerView, agents: tuple[AgentView, ...] = (AgentView("support", "offline:commands"),)) -> StackView:
    return StackView("agent.toml", agents, layers)


def test_nothing_is_said_of_a_stack_that_is_right() -> None:
    assert check_stack(view(layer("limit", "rate-limit"), layer("recall", "memory"))) == []


def test_a_trace_that_records_content_needs_a_redactor() -> None:
    trace = layer("otel", "trace", "records-content")
    (found,) = check_stack(view(trace))
    assert (found.rule, found.severity) == ("records-content-needs-redactor", Severity.ERROR)
    assert found.message == "otel records content, and no layer is a redactor"
    assert found.advice == "use a redactor, or leave otel out"
    assert check_stack(view(trace, layer("mask", "redactor"))) == []


def test_a_redactor_that_is_switched_off_is_none() -> None:
    (found,) = check_stack(view(layer("otel", "records-content"), layer("mask", "redactor", enabled=False)))
    assert (found.message, found.advice) == ("otel records content, and mask is switched off", "switch mask on")


def test_two_layers_that_try_again_multiply() -> None:
    (found,) = check_stack(view(layer("once", "retry"), layer("more", "retry")))
    assert (found.rule, found.message) == ("retry-once", "once and more both are there for retry")


def test_what_a_layer_requires_must_be_in_use() -> None:
    needs = layer("recall", order=OrderView(requires=("store",)))
    (found,) = check_stack(view(needs))
    assert (found.rule, found.severity) == ("requires", Severity.ERROR)
    assert found.message == "recall requires store, and no layer in use is that"
    assert check_stack(view(needs, layer("store"))) == []


def test_what_a_layer_requires_may_be_there_and_switched_off() -> None:
    needs = layer("recall", order=OrderView(requires=("acme.store",)))
    (found,) = check_stack(view(needs, layer("kept", plugin="acme.store", enabled=False)))
    assert found.message == "recall requires kept, which is switched off here"
    assert found.advice == "switch kept on, or recall off too"


def test_a_layer_that_is_switched_off_breaks_no_rule() -> None:
    off = layer("recall", "memory", enabled=False, order=OrderView(requires=("store",)), stability="alpha")
    assert check_stack(view(off, layer("limit", "rate-limit"))) == []


def test_two_tools_of_one_name_are_found() -> None:
    agent = AgentView("support", tools=(ToolView("search"),))
    (found,) = check_stack(view(layer("files", tools=(ToolView("search"), ToolView("read"))), agents=(agent,)))
    assert (found.rule, found.severity) == ("tool-names", Severity.ERROR)
    assert found.message == "2 tools are named search: of agent support and files"


@pytest.mark.parametrize(("window", "config", "rules"), [(None, {}, 1), (8000, {}, 0), (None, {"tokens": 4000}, 0)])
def test_who_cuts_the_history_must_know_how_much_the_model_takes(
    window: int | None, config: dict[str, Any], rules: int
) -> None:
    agent = AgentView("support", "openai:own", context_window=window)
    found = check_stack(view(layer("cut", "context-window", config=config), agents=(agent,)))
    assert [each.rule for each in found] == ["context-window-unknown"] * rules


def test_an_alpha_is_noted() -> None:
    (found,) = check_stack(view(layer("a", stability="alpha"), layer("b", stability="beta")))
    assert (found.rule, found.severity, found.layers) == ("alpha", Severity.NOTE, ("a",))


def test_the_worst_comes_first() -> None:
    found = check_stack(
        view(
            layer("ask", "approval", stability="alpha"),
            layer("again", "retry"),
            layer("limit", "timeout"),
            layer("otel", "records-content"),
        )
    )
    assert [each.severity.value for each in found] == ["error", "warning", "note", "note"]


def test_what_concerns_the_app_is_said_once_and_what_concerns_an_agent_by_its_name() -> None:
    agents = (AgentView("support"), AgentView("sales"))
    found = check_stack(
        view(
            layer("recall", "memory"),
            layer("limit", "rate-limit"),
            layer("own", "rate-limit", agent="sales"),
            agents=agents,
        )
    )
    assert [(each.message, each.agent) for each in found] == [
        ("recall stands outside of limit", ""),
        ("recall stands outside of own", "sales"),
    ]


def test_the_permissions_are_those_of_the_layers_in_use() -> None:
    stack = view(
        layer("a", permissions=("network", "files")),
        layer("b", permissions=("network",)),
        layer("c", permissions=("subprocess",), enabled=False),
    )
    assert permissions(stack) == {"files": ("a",), "network": ("a", "b")}


def test_every_finding_is_explained_by_a_rule() -> None:
    assert all(text.endswith(".") for text in EXPLAINED.values())


@given(st.lists(st.text(min_size=1), max_size=5))
def test_a_list_of_names_reads_as_a_sentence(names: list[str]) -> None:
    said = listed(names)
    assert all(name in said for name in names)
    assert (" and " in said) >= (len(names) > 1)
