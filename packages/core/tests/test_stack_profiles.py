"""Profiles: what differs under a name."""

from __future__ import annotations

from typing import Any

import pytest
from packages.core.tests.stack_project import Project, entries

STACK = """\
[agent]
model = "scripted:x"
instructions = "Help."
limits = { max_steps = 3, timeout = 30 }

[[use]]
plugin = "parts.budget"
config = { limit = 5, per = "session" }

[[use]]
plugin = "parts.memory"
name = "store"

[[use]]
bundle = "parts.deep"
name = "depth"
without = ["budget", "memory"]
"""


def test_a_profile_changes_what_it_names_and_leaves_the_rest(project: Project) -> None:
    profile = """
        [profile.dev.agent]
        model = "scripted:dev"
        limits.max_steps = 9
        [profile.dev.use.budget]
        config.limit = 2
        [profile.dev.use.store]
        enabled = false
        """
    stack = project.load(STACK + profile.replace(" " * 8, ""), profile="dev")
    agent, budget = stack.agent(), entries(stack)["budget"]
    assert (agent.model.name, agent.instructions, agent.limits.max_steps, agent.limits.timeout) == (
        "scripted:dev",
        "Help.",
        9,
        30,
    )
    assert (budget.limit, budget.per) == (2, "session")
    assert [layer.name for layer in stack.layers if not layer.enabled] == ["store"]
    assert (stack.file.profile, stack.file.profiles) == ("dev", ("dev",))
    plain: Any = entries(project.load(name="agent.toml"))["budget"]
    assert plain.limit == 5


@pytest.mark.parametrize("name", ["budget", '"parts.budget"'])
def test_an_entry_without_a_name_is_called_by_its_plugin_in_short_or_in_full(project: Project, name: str) -> None:
    stack = project.load(f"{STACK}[profile.dev.use.{name}]\nenabled = false\n", profile="dev")
    assert [layer.name for layer in stack.layers if not layer.enabled] == ["budget"]


def test_own_code_is_called_by_the_name_its_class_would_have(project: Project) -> None:
    project.write("own_layers.py", "class AuditTrail:\n    async def turn(self, ctx, next): return await next()\n")
    text = f'{STACK}[[use]]\nplugin = "own_layers:AuditTrail"\n[profile.dev.use.audit-trail]\nenabled = false\n'
    stack = project.load(text, profile="dev")
    assert [(layer.name, layer.enabled) for layer in stack.layers][-1] == ("audit-trail", False)
    assert list(entries(project.load(text)))[-1] == "audit-trail"


def test_another_plugin_starts_from_settings_of_its_own(project: Project) -> None:
    stack = project.load(f'{STACK}[profile.dev.use.budget]\nplugin = "parts.search"\n', profile="dev")
    assert stack.layers[0].config == {}
    assert list(entries(stack)) == ["search", "store", "trace"]


def test_a_bundle_is_cut_otherwise_under_a_profile(project: Project) -> None:
    stack = project.load(f'{STACK}[profile.dev.use.depth]\nwithout = ["trace", "budget", "memory"]\n', profile="dev")
    assert list(entries(stack)) == ["budget", "store"]


def test_agents_of_several_have_profiles_too(project: Project) -> None:
    stack = project.load(
        """\
        [agents.support]
        model = "scripted:s"
        [[agents.support.use]]
        plugin = "parts.budget"
        config.limit = 5
        [profile.dev.agents.support]
        model = "scripted:dev"
        use.budget.config.limit = 1
        """,
        profile="dev",
    )
    budget: Any = entries(stack, "support")["budget"]
    assert (stack.agent("support").model.name, budget.limit) == ("scripted:dev", 1)


def test_a_fault_that_comes_from_a_profile_stands_in_the_profile(project: Project) -> None:
    text = f'{STACK}[profile.dev.agent]\nmodel = "scriptd"\n[profile.dev.use.budget]\nconfig = {{ limit = 0 }}\n'
    model, limit = project.problems(text, profile="dev")
    assert model.startswith("agent.toml:19:9: no model provider 'scriptd'")
    assert limit.startswith("agent.toml:21:20: parts.budget: limit: Input should be greater")
    project.load(text)


def test_settings_that_the_profile_leaves_alone_keep_their_place(project: Project) -> None:
    text = STACK.replace('per = "session"', 'per = "day"') + "[profile.dev.use.budget]\nconfig = { limit = 1 }\n"
    (problem,) = project.problems(text, profile="dev")
    assert problem.startswith("agent.toml:8:29: parts.budget: per: Input should be 'turn' or 'session'")


def test_a_profile_that_is_not_there_is_told_with_the_nearest(project: Project) -> None:
    text = f"{STACK}[profile.production]\n"
    assert project.problems(text, profile="prodution") == [
        "agent.toml:18:2: there is no profile 'prodution'; meant 'production'?"
    ]
    assert project.problems(STACK, profile="dev") == ["agent.toml: there is no profile 'dev'; write [profile.NAME]"]


def test_names_in_a_profile_that_is_not_applied_are_checked_too(project: Project) -> None:
    text = STACK + '[[use]]\nplugin = "parts.memory"\nname = "parts.budget"\n'
    assert project.problems(
        f'{text}[profile.a.use.bugdet]\n[profile.b.agents.sales]\n[profile.c.use."parts.budget"]\n'
    ) == [
        "agent.toml:21:16: no entry is called 'bugdet'; meant 'budget'?",
        "agent.toml:22:19: profile 'b' changes the agent 'sales', and there is none",
        "agent.toml:23:16: 2 entries are called 'parts.budget'; give them a name = of their own",
    ]


def test_a_model_may_be_named_by_the_profiles_alone(project: Project) -> None:
    text = '[agent]\nname = "x"\n[profile.dev.agent]\nmodel = "scripted:dev"\n[profile.live]\n'
    assert project.load(text, profile="dev").agent().model.name == "scripted:dev"
    (problem,) = project.problems(text, profile="live")
    assert problem.startswith("agent.toml:1:1: [agent] has no model")
