"""Rules of order: what must stand outside or inside of what."""

from __future__ import annotations

import re
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_express import Agent, App, ModelContext, ModelResponse, Next, Order, named
from agent_express.errors import OrderError
from agent_express.testing import ScriptedModel


class Layer:
    """A middleware with a name and rules."""

    def __init__(self, name: str, **rules: list[str]) -> None:
        self.name, self.order = name, Order(**rules)

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        return await next()


def of_package(package: str, name: str) -> Any:
    """A middleware of another distribution."""
    kind = type("Foreign", (Layer,), {"__module__": f"{package}.some_module"})
    return kind(name)


def refusal(*layers: Any) -> str:
    with pytest.raises(OrderError) as caught:
        Agent(ScriptedModel()).use(*layers)
    return str(caught.value)


def stack(agent: Agent) -> list[str]:
    return [line.split()[0] for line in agent.explain().splitlines() if line.startswith(" ")]


def test_outside_means_the_other_must_stand_further_in() -> None:
    memory = Layer("memory", outside=["window"])
    assert stack(Agent(ScriptedModel()).use(memory, Layer("window"))) == ["memory", "window"]
    said = refusal(Layer("window"), Layer("memory", outside=["window"]))
    assert said == "memory must stand outside of window; this order would do: memory, window"


def test_inside_means_the_other_must_stand_further_out() -> None:
    guard = Layer("guard", inside=["auth"])
    assert stack(Agent(ScriptedModel()).use(Layer("auth"), guard)) == ["auth", "guard"]
    said = refusal(Layer("guard", inside=["auth"]), Layer("auth"))
    assert said == "guard must stand inside of auth; this order would do: auth, guard"


def test_a_rule_is_checked_against_what_comes_later_too() -> None:
    agent = Agent(ScriptedModel()).use(Layer("guard", inside=["auth"]))
    with pytest.raises(OrderError, match="guard must stand inside of auth"):
        agent.use(Layer("auth"))
    assert stack(agent) == ["guard"]


@pytest.mark.parametrize("rule", ["episodic", "memory.episodic", "memory"], ids=["name", "entry", "area"])
def test_a_rule_matches_a_name_an_entry_or_an_area(rule: str) -> None:
    said = refusal(of_package("agent_express_memory", "episodic"), Layer("window", outside=[rule]))
    assert said == "window must stand outside of episodic; this order would do: window, episodic"


def test_a_rule_speaks_of_the_name_of_the_use() -> None:
    said = refusal(named("second", Layer("window")), Layer("memory", outside=["second"]))
    assert said.startswith("memory must stand outside of second")


def test_what_is_absent_is_ignored() -> None:
    layers = Layer("a", outside=["nobody"], inside=["nothing", "memory.semantic"])
    assert stack(Agent(ScriptedModel()).use(layers)) == ["a"]


def test_registration_order_stays_the_law_where_no_rule_speaks() -> None:
    assert stack(Agent(ScriptedModel()).use(Layer("b"), Layer("a"), Layer("c"))) == ["b", "a", "c"]


def test_the_order_that_would_do_moves_as_little_as_possible() -> None:
    said = refusal(Layer("a"), Layer("b"), Layer("c", outside=["b"]), Layer("d"))
    assert said == "c must stand outside of b; this order would do: a, c, b, d"


def test_rules_that_contradict_each_other_say_so() -> None:
    said = refusal(Layer("a", outside=["b"]), Layer("b", outside=["a"]))
    assert said == "b must stand outside of a; their rules contradict each other"


async def test_what_is_required_is_checked_when_the_agent_opens() -> None:
    agent = Agent(ScriptedModel("ok")).use(Layer("approval", requires=["checkpoint"]))
    with pytest.raises(OrderError) as caught:
        await agent.__aenter__()
    assert str(caught.value) == ("approval requires 'checkpoint', and no middleware in use is that; add it with use()")
    assert (await agent.use(Layer("checkpoint")).run("hi")).text == "ok"


def test_rules_hold_across_app_and_agent() -> None:
    agent = Agent(ScriptedModel()).use(Layer("trace", outside=["limits"]))
    with pytest.raises(OrderError, match="trace must stand outside of limits"):
        App().use(Layer("limits")).mount(agent)


names = st.sampled_from("abcde")


@given(
    st.permutations("abcde"),
    st.dictionaries(names, st.fixed_dictionaries({"outside": st.lists(names), "inside": st.lists(names)})),
)
def test_a_refusal_names_an_order_that_is_accepted_or_there_is_none(
    given_order: list[str], rules: dict[str, dict[str, list[str]]]
) -> None:
    def layers(order: Any) -> list[Layer]:
        return [Layer(name, **_without_itself(name, rules.get(name, {}))) for name in order]

    said = _complaint(layers(given_order))
    better = re.search(r"this order would do: (.*)$", said)
    if better:
        assert _complaint(layers(better[1].split(", "))) == ""
    elif said:
        assert "contradict" in said
        assert all(_complaint(layers(order)) for order in permutations("abcde"))


def _without_itself(name: str, rules: dict[str, list[str]]) -> dict[str, list[str]]:
    return {side: [other for other in others if other != name] for side, others in rules.items()}


def _complaint(layers: list[Layer]) -> str:
    """What `use()` says against *layers*; empty where it takes them."""
    try:
        Agent(ScriptedModel()).use(*layers)
    except OrderError as error:
        return str(error)
    return ""
