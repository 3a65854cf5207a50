"""What a stack file may say: every fault in one error, with its place and what to write."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from packages.core.tests.stack_project import Project

from agent_express import Limits
from agent_express.errors import StackError
from agent_express.stack import ModelTable, UseTable, read_stack

HEAD = '[agent]\nmodel = "scripted:x"\n'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('[agent]\nmodel = "scripted"\nmodle = "x"', "3:1: unknown key 'modle' in [agent]; meant 'model'?"),
        (f"{HEAD}[agnet]\n", "3:2: unknown key 'agnet' in the stack; meant 'agent'?"),
        (f"{HEAD}timeout = 3", "3:1: unknown key 'timeout' in [agent]; write limits = { timeout = ... }"),
        (f"{HEAD}system = 'x'", "3:1: unknown key 'system' in [agent]; meant 'instructions'?"),
        (f"{HEAD}use = []", "3:1: unknown key 'use' in [agent]; write [[use]] at the top"),
        (f"{HEAD}limits = {{ max_step = 3 }}", "3:12: unknown key 'max_step' in [agent.limits]; meant 'max_steps'?"),
        (f"{HEAD}limits.max_steps = true", "3:20: max_steps in [agent.limits] must be a whole number, at least 1"),
        (f"{HEAD}limits.timeout = 0", "3:18: timeout in [agent.limits] must be a number above 0, got 0"),
        (f'{HEAD}tools = ["a:b", 3]', "3:17: tools[1] in [agent] must be text, got 3"),
        (f'{HEAD}name = ""', "3:8: name in [agent] is empty"),
        (f"{HEAD}instructions = {{ fil = 'x' }}", "3:18: unknown key 'fil' in [agent.instructions]; meant 'file'?"),
        (f"{HEAD}instructions = {{ fil = 'x' }}", "3:16: [agent.instructions] has no 'file'"),
        ("[agent]\nmodel = 3", "2:9: model in [agent] must be text or a table, got 3"),
        ("[agent]\nmodel = { config = {} }", "2:9: [agent.model] has neither a plugin nor a name; write plugin"),
        (f"{HEAD}[use]\nplugin = 'x'", "3:1: use must be a list, got a table; write [[use]]"),
        ("[[agent]]\nmodel = 'scripted'", "1:1: agent must be a table, got a list; write [agent]"),
        (f"{HEAD}[[use]]\nplugin = 3", "4:10: plugin in [[use]] must be text, got 3"),
        (f"{HEAD}[[use]]\nenabled = 'no'", '4:11: enabled in [[use]] must be true or false, got "no"'),
        (f"{HEAD}[[use]]\nconfig = 3", "4:10: config in [[use]] must be a table, got 3"),
        (f"{HEAD}[[use]]\nsettings = {{}}", "4:1: unknown key 'settings' in [[use]]; meant 'config'?"),
        (f"{HEAD}[[use]]\nname = 'x'", "3:1: [[use]] has neither a plugin nor a bundle; name one of them"),
        (
            f"{HEAD}[[use]]\nplugin = 'parts.memory'\nbundle = 'parts.deep'",
            "3:1: [[use]] has both a plugin and a bundle; name one of them",
        ),
        (
            f"{HEAD}[[use]]\nplugin = 'parts.memory'\nwithout = ['x']",
            "5:1: 'without' in [[use]] is for bundles; take it away, or write bundle instead of plugin",
        ),
        (f"{HEAD}[plugins]\nblok = []", "4:1: unknown key 'blok' in [plugins]; meant 'block'?"),
        (f"{HEAD}[profile.dev]\nmodel = 'x'", "4:1: unknown key 'model' in [profile.dev]; there are: agent, agents"),
        (f"{HEAD}[agents.a]\nmodel = 'scripted'", "1:2: [agent] and [agents] stand in one file; write the agent as"),
        ("[agents.a]\nname = 'b'\nmodel = 'scripted'", "2:1: unknown key 'name' in [agents.a]; its name is the one"),
        ("[agents]\n", "1:1: [agents] holds no agent; write [agents.NAME]"),
        ("[agent]\nname = 'x'\n", '1:1: [agent] has no model; write model = "openai:gpt-5"'),
    ],
)
def test_a_fault_has_line_and_column_and_says_what_to_write(project: Project, text: str, expected: str) -> None:
    assert any(problem.startswith(f"agent.toml:{expected}") for problem in project.problems(text)), project.problems(
        text
    )


@pytest.mark.parametrize("key", ["name", "instructions"])
def test_a_number_that_python_refuses_to_write_is_told_all_the_same(project: Project, key: str) -> None:
    (problem,) = project.problems(f'[agent]\nmodel = "scripted:x"\n{key} = 0x{"f" * 6000}\n')
    assert problem.endswith("got a number of more than 40 digits")


def test_a_null_character_in_the_name_of_a_file_is_told_at_its_place(project: Project) -> None:
    text = '[agent]\nmodel = "scripted:x"\ninstructions = { file = "a\\u0000b" }\n'
    (problem,) = project.problems(text)
    assert problem.startswith("agent.toml:3:25: ")
    assert "cannot be read: embedded null" in problem


def test_an_empty_file_has_no_agent(project: Project) -> None:
    assert project.problems("# nothing\n") == [
        'agent.toml: the stack has no agent; write [agent] with model = "openai:gpt-5"',
    ]


def test_everything_that_is_wrong_comes_at_once_in_the_order_of_the_file(project: Project) -> None:
    no_shop = f"there is no module 'shop'; looked in the installed packages and in {project.folder.resolve()}"
    assert project.problems(
        """\
        [agent]
        modle = "scripted:x"
        model = "scriptd:x"
        limits = { timeout = "30" }
        tools = ["shop.tools:refund"]

        [[use]]
        plugin = "parts.bugdet"

        [[use]]
        plugin = "parts.budget"
        config = { limit = 0, per = "day" }
        """
    ) == [
        "agent.toml:2:1: unknown key 'modle' in [agent]; meant 'model'?",
        "agent.toml:3:9: no model provider 'scriptd' for 'scriptd:x'; installed: scripted; meant 'scripted'?",
        'agent.toml:4:22: timeout in [agent.limits] must be a number above 0, got "30"',
        f"agent.toml:5:10: shop.tools:refund: {no_shop}",
        "agent.toml:8:10: no middleware 'parts.bugdet' is installed; nearest: parts.budget (agent-express-parts 1.0.0)",
        "agent.toml:12:20: parts.budget: limit: Input should be greater than or equal to 1",
        "agent.toml:12:29: parts.budget: per: Input should be 'turn' or 'session'",
    ]


def test_a_problem_knows_its_place_its_path_and_what_to_do(project: Project) -> None:
    with pytest.raises(StackError) as caught:
        project.load('[agent]\nmodel = "scripted"\n[[use]]\nplugin = "parts.budget"\nconfig.limt = 3\n')
    missing, unknown = caught.value.problems
    assert (unknown.line, unknown.column, unknown.path) == (5, 8, "use[0].config.limt")
    assert (missing.line, missing.path) == (5, "use[0].config.limit")
    with pytest.raises(StackError) as caught:
        project.load("[agent]\nmodle = 'scripted'")
    assert caught.value.problems[-1].advice == "meant 'model'?"
    assert caught.value.path == project.folder / "agent.toml"


def test_a_file_in_types_is_as_it_was_written() -> None:
    data: dict[str, Any] = {
        "agent": {
            "name": "support",
            "model": {"plugin": "openai", "name": "gpt-5", "config": {"api_key": {"env": "KEY"}}},
            "instructions": {"file": "support.md"},
            "tools": ["shop.tools:refund"],
            "limits": {"max_steps": 3, "timeout": 30},
        },
        "plugins": {"block": ["evil.*"], "strict": True},
        "use": [{"plugin": "guards.cost-cap", "name": "cap", "enabled": False, "config": {"limit": 5}}],
    }
    file = read_stack(data, "agent.yaml")
    agent = file.agents["support"]
    assert agent.model == ModelTable("gpt-5", "openai", {"api_key": {"env": "KEY"}})
    assert (agent.instructions_file, agent.tools) == ("support.md", ("shop.tools:refund",))
    assert agent.limits == Limits(max_steps=3, timeout=30)
    assert agent.use == (UseTable("guards.cost-cap", name="cap", enabled=False, config={"limit": 5}),)
    assert (file.policy.block, file.policy.strict, file.is_app) == (("evil.*",), True, False)


def test_keys_of_another_form_that_are_no_text_are_told_too() -> None:
    with pytest.raises(StackError, match=r"unknown key '3' in \[agent\]; there are: name, model"):
        read_stack({"agent": {"model": "x", 3: 4}, "agents": {5: {"model": "x"}}}, "agent.yaml")


def test_data_of_another_form_is_checked_alike_without_lines() -> None:
    with pytest.raises(StackError, match=r"^agent.yaml: unknown key 'modle' in \[agent\]; meant 'model'\?\n") as caught:
        read_stack({"agent": {"modle": "x"}}, "agent.yaml")
    assert [problem.path for problem in caught.value.problems] == ["agent.modle", "agent"]


KEYS = st.sampled_from([
    "agent", "agents", "use", "plugins", "profile", "model", "plugin", "bundle", "name", "config", "enabled", "without",
    "override", "instructions", "file", "tools", "limits", "max_steps", "timeout", "allow", "strict", "dev", "x",
])  # fmt: skip
LEAVES = st.one_of(st.none(), st.booleans(), st.integers(-2, 2), st.floats(), st.sampled_from(["", "x", "a:b", "dev"]))


@given(st.dictionaries(KEYS, st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=3) |
                                          st.dictionaries(KEYS, inner, max_size=5), max_leaves=25)),
       st.sampled_from(["", "dev"]))  # fmt: skip
def test_whatever_stands_in_a_file_is_read_or_told(data: dict[str, Any], profile: str) -> None:
    told: list[str] = []
    agents: list[str] = []
    try:
        agents = list(read_stack(data, "agent.yaml", profile=profile).agents)
    except StackError as error:
        told = [problem.message for problem in error.problems]
    assert bool(told) != bool(agents)
    assert all(told)


@pytest.mark.parametrize(
    ("data", "path"),
    [
        ({"agent": 3}, "agent"),
        ({"agents": 3}, "agents"),
        ({"agents": {"a": []}}, "agents.a"),
        ({"use": {}}, "use"),
        ({"use": [3]}, "use[0]"),
        ({"use": [{"bundle": "x", "override": [1]}]}, "use[0].override"),
        ({"plugins": []}, "plugins"),
        ({"agent": {"limits": []}}, "agent.limits"),
        ({"agent": {"model": []}}, "agent.model"),
        ({"profile": 3}, "profile"),
        ({"profile": {"x": {"use": 3}}}, "profile.x.use"),
        ({"profile": {"x": {"agent": {"limits": 3}}}}, "profile.x.agent.limits"),
        ({"agents": {"a": {}}, "profile": {"x": {"agents": {"a": {"use": {"b": 3}}}}}}, "profile.x.agents.a.use.b"),
    ],
)
def test_data_of_the_wrong_kind_anywhere_is_told_and_no_accident(data: dict[str, Any], path: str) -> None:
    with pytest.raises(StackError) as caught:
        read_stack(data, "x")
    told = [problem for problem in caught.value.problems if problem.message != "the stack has no agent"]
    assert (told[0].path, "must be" in told[0].message) == (path, True)
