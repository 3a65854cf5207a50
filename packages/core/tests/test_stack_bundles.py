"""Bundles in a stack file: cut and overridden by name."""

from __future__ import annotations

from typing import Any

import pytest
from packages.core.tests.stack_project import Project, entries

HEAD = '[agent]\nmodel = "scripted:x"\n'
DEEP = f'{HEAD}[[use]]\nbundle = "parts.deep"\n'


def test_a_bundle_brings_its_layers_in_its_own_order(project: Project) -> None:
    stack = project.load(f'{HEAD}[[use]]\nplugin = "parts.search"\n[[use]]\nbundle = "parts.deep"\nconfig.limit = 7\n')
    assert [(layer.name, layer.bundle, layer.line) for layer in stack.layers] == [
        ("search", "", 3),
        ("trace", "parts.deep", 5),
        ("budget", "parts.deep", 5),
        ("memory", "parts.deep", 5),
    ]
    assert [layer.plugin and layer.plugin.name for layer in stack.layers][1:] == [
        "parts.trace",
        "parts.budget",
        "parts.memory",
    ]
    budget: Any = entries(stack)["budget"]
    assert budget.limit == 7


def test_a_bundle_is_cut_by_name(project: Project) -> None:
    stack = project.load(f'{DEEP}without = ["memory", "trace"]\n')
    assert list(entries(stack)) == ["budget"]


def test_a_layer_of_a_bundle_is_replaced_where_it_stands(project: Project) -> None:
    stack = project.load(
        f'{DEEP}override.budget = {{ plugin = "parts.budget", config = {{ limit = 2, per = "session" }} }}\n'
        'name = "depth"\n'
    )
    assert list(entries(stack)) == ["trace", "budget", "memory"]
    budget: Any = entries(stack)["budget"]
    assert (budget.limit, budget.per) == (2, "session")
    layer = stack.layers[1]
    assert (layer.bundle, layer.line, layer.config) == ("depth", 5, {"limit": 2, "per": "session"})


def test_what_replaces_a_layer_keeps_its_name(project: Project) -> None:
    stack = project.load(f'{DEEP}override.memory.plugin = "parts.search"\n')
    assert [type(thing).__name__ for thing in entries(stack).values()] == ["Trace", "Budget", "Search"]
    assert list(entries(stack)) == ["trace", "budget", "memory"]


def test_a_disabled_layer_of_a_bundle_is_listed_and_not_in_the_onion(project: Project) -> None:
    stack = project.load(f"{DEEP}override.budget.enabled = false\n")
    assert list(entries(stack)) == ["trace", "memory"]
    assert [(layer.name, layer.enabled, layer.bundle) for layer in stack.layers][1] == ("budget", False, "parts.deep")


def test_a_disabled_bundle_is_listed_as_one_and_not_made(project: Project) -> None:
    stack = project.load(f'{DEEP}enabled = false\nconfig.limit = "not looked at"\n')
    assert [(layer.name, layer.enabled, layer.target) for layer in stack.layers] == [
        ("parts.deep", False, "agent_express_parts:deep")
    ]


MADE = """\
from agent_express.registry import registry
from agent_express_parts import Budget, Memory

def made(key: str = "k") -> list:
    plugins = PLUGINS or registry()
    return [plugins.create("parts.budget", {"limit": 5, "per": "session", "key": key})]

def by_hand() -> list:
    return [Budget(5)]

def single() -> Budget:
    return Budget(5)

async def later() -> list:
    return []

PLUGINS = None
"""


def test_settings_alone_change_what_the_bundle_has_set_and_leave_the_rest(project: Project) -> None:
    project.write("own_bundles.py", MADE.replace("PLUGINS = None", "from agent_express.registry import Registry\n"
                                                 f"PLUGINS = Registry(path=[{str(project.site)!r}])"))  # fmt: skip
    stack = project.load(f'{HEAD}[[use]]\nbundle = "own_bundles:made"\noverride.budget.config = {{ limit = 9 }}\n')
    budget: Any = entries(stack)["budget"]
    assert (budget.limit, budget.per, budget.key.get_secret_value()) == (9, "session", "k")
    assert stack.layers[0].config == {"limit": 9}


def test_settings_alone_cannot_change_a_layer_made_by_hand(project: Project) -> None:
    project.write("own_bundles.py", MADE)
    text = f'{HEAD}[[use]]\nbundle = "own_bundles:by_hand"\noverride.budget.config = {{ limit = 9 }}\n'
    (problem,) = project.problems(text)
    assert problem == (
        "agent.toml:5:10: own_bundles:by_hand makes budget by hand, so its settings are not known; "
        'write plugin = "parts.budget" and all of its settings'
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f'{DEEP}without = ["todo"]\n', "5:12: parts.deep has no layer 'todo'; there are: trace, budget, memory"),
        (f'{DEEP}without = ["trace", "memroy"]\n', "5:21: parts.deep has no layer 'memroy'; meant 'memory'?"),
        (f"{DEEP}override.memroy.enabled = false\n", "5:10: parts.deep has no layer 'memroy'; meant 'memory'?"),
        (
            f'{DEEP}override.memory.plugin = "parts.memroy"\n',
            "5:26: no middleware 'parts.memroy' is installed; nearest",
        ),
        (
            f'{DEEP}override.budget = {{ plugin = "parts.budget" }}\n',
            "5:19: parts.budget: limit: this setting is required",
        ),
        (f"{DEEP}config.limt = 3\n", "5:8: parts.deep: limt: no such setting; meant 'limit'?"),
        (f'{HEAD}[[use]]\nbundle = "parts.dep"\n', "4:10: no bundle 'parts.dep' is installed; nearest: parts.deep ("),
        (
            f'{HEAD}[[use]]\nbundle = "own_bundles:single"\n',
            "4:10: own_bundles:single gives a Budget, expected a list; ",
        ),
        (f'{HEAD}[[use]]\nplugin = "own_bundles:by_hand"\n', "4:10: own_bundles:by_hand gives a list; write bundle "),
        (f'{DEEP}[[use]]\nplugin = "parts.memory"\n', "5:1: a layer is called 'memory' already, on line 3; write "),
    ],
)
def test_a_fault_in_a_bundle_stands_where_it_was_written(project: Project, text: str, expected: str) -> None:
    project.write("own_bundles.py", MADE)
    (problem,) = project.problems(text)
    assert problem.startswith(f"agent.toml:{expected}")


def test_a_function_that_is_no_bundle_because_it_is_async_is_told_without_a_warning(project: Project) -> None:
    project.write("own_bundles.py", MADE)
    (problem,) = project.problems(f'{HEAD}[[use]]\nbundle = "own_bundles:later"\n')
    assert problem.startswith("agent.toml:4:10: own_bundles:later gives a function, expected a list")


def test_a_bundle_does_not_bring_in_what_is_blocked(project: Project) -> None:
    text = f'{DEEP}[plugins]\nblock = ["parts.memory"]\n'
    (problem,) = project.problems(text)
    assert problem == (
        "agent.toml:3:1: parts.deep brings memory: parts.memory is blocked by 'parts.memory' in block of [plugins]; "
        'write without = ["memory"]'
    )
    stack = project.load(text.replace("[plugins]", 'without = ["memory"]\n[plugins]'))
    assert list(entries(stack)) == ["trace", "budget"]
