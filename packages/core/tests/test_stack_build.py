"""From a stack file to an agent that answers: plugins, own code, models, instructions, tools, limits, policy."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from packages.core.tests.stack_project import Project, entries

from agent_express import Agent, App, Limits
from agent_express.errors import BlockedPluginError, SecretError, StackError, UseError
from agent_express.origins import origin_of
from agent_express.plugins import Policy
from agent_express.registry import Registry
from agent_express.stack import build_stack, load_stack, read_stack

HEAD = '[agent]\nmodel = "scripted:x"\n'


async def test_an_agent_from_a_stack_file_answers(project: Project) -> None:
    project.write("support.md", "Be kind.\n")
    project.write(
        "shop/tools.py",
        """\
        from agent_express import tool

        @tool
        def refund(order: int) -> str:
            "Pay back."
            return "done"
        """,
    )
    stack = project.load(
        """\
        [agent]
        name = "support"
        model = "scripted:x"
        instructions = { file = "support.md" }
        tools = ["shop.tools:refund"]
        limits = { max_steps = 3 }

        [[use]]
        plugin = "parts.trace"

        [[use]]
        plugin = "parts.budget"
        config = { limit = 5 }
        """
    )
    async with stack.agent() as agent:
        answer = await agent.run("hello")
    assert answer.text == "hello"
    assert (agent.name, agent.instructions, agent.limits) == ("support", "Be kind.\n", Limits(max_steps=3))
    assert [(each.name, each.target, each.line, each.column) for each in stack.tools] == [
        ("refund", "shop.tools:refund", 5, 10)
    ]


def test_the_order_of_the_file_is_outside_in(project: Project) -> None:
    stack = project.load(
        f'{HEAD}[[use]]\nplugin = "parts.trace"\n[[use]]\nplugin = "parts.budget"\nconfig.limit = 1\n'
        '[[use]]\nplugin = "parts.memory"\n'
    )
    assert list(entries(stack)) == ["trace", "budget", "memory"]
    assert stack.agent().explain().split()[1::3] == ["trace", "budget", "memory"]


def test_a_layer_knows_its_plugin_its_place_and_its_settings_as_written(
    project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BUDGET_KEY", "s3cret")
    stack = project.load(
        f'{HEAD}\n[[use]]\nplugin = "parts.budget"\nname = "cap"\nconfig = {{ limit = 5, key.env = "BUDGET_KEY" }}\n'
    )
    (layer,) = stack.layers
    assert (layer.name, layer.line, layer.column, layer.agent, layer.bundle) == ("cap", 4, 1, "", "")
    assert layer.plugin is not None
    assert layer.plugin.qualified == "agent-express-parts:parts.budget"
    assert layer.target == "agent_express_parts:Budget"
    assert layer.config == {"limit": 5, "key": {"env": "BUDGET_KEY"}}
    budget: Any = entries(stack)["cap"]
    assert budget.key.get_secret_value() == "s3cret"
    origin = origin_of(budget)
    assert origin is not None
    assert origin.config.limit == 5


def test_a_file_of_a_secret_lies_beside_the_stack_file(project: Project) -> None:
    project.write("key.txt", "s3cret\n")
    stack = project.load(f'{HEAD}[[use]]\nplugin = "parts.budget"\nconfig = {{ limit = 5, key.file = "key.txt" }}\n')
    budget: Any = entries(stack)["budget"]
    assert budget.key.get_secret_value() == "s3cret"


def test_a_secret_that_is_text_or_missing_is_told_at_its_place_and_never_shown(project: Project) -> None:
    use = '[[use]]\nplugin = "parts.budget"\nconfig.limit = 5\n'
    (problem,) = project.problems(f'{HEAD}{use}config.key = "sk-123"\n')
    assert problem.startswith("agent.toml:6:14: parts.budget: key: a secret is never written as text: write { env =")
    assert "sk-123" not in problem
    (problem,) = project.problems(f'{HEAD}{use}config.key = {{ env = "NO_SUCH_KEY" }}\n')
    assert problem.startswith("agent.toml:6:14: parts.budget: key: the variable NO_SUCH_KEY is not set")


def test_secrets_are_resolved_by_whoever_is_handed_in(project: Project) -> None:
    asked: list[str] = []

    def resolve(reference: str) -> str | None:
        asked.append(reference)
        return "s3cret" if reference == "vault:budget" else None

    stack = project.load(
        f'{HEAD}[[use]]\nplugin = "parts.budget"\nconfig = {{ limit = 5, key = {{ vault = "budget" }} }}\n',
        secrets=resolve,
    )
    budget: Any = entries(stack)["budget"]
    assert (asked, budget.key.get_secret_value()) == (["vault:budget"], "s3cret")

    def refuse(reference: str) -> str | None:
        raise SecretError(f"{reference} is sealed")

    (problem,) = project.problems(
        f'{HEAD}[[use]]\nplugin = "parts.budget"\nconfig = {{ limit = 5, key = {{ vault = "budget" }} }}\n',
        secrets=refuse,
    )
    assert problem == "agent.toml:5:29: parts.budget: key: vault:budget is sealed"


@pytest.mark.parametrize(
    ("use", "expected"),
    [
        ('plugin = "parts.bugdet"', "4:10: no middleware 'parts.bugdet' is installed; nearest: parts.budget"),
        (
            'plugin = "guards.cost-cap"',
            "4:10: no middleware 'guards.cost-cap' is installed, nor anything of its area: pip",
        ),
        ('plugin = "parts.deep"', "4:10: no middleware 'parts.deep' is installed; 'parts.deep' is a bundle of"),
        ('plugin = "parts.budget"', "3:1: parts.budget: limit: this setting is required: Tokens; at least 1."),
        ('plugin = "parts.budget"\nconfig = {}', "5:10: parts.budget: limit: this setting is required"),
        ('plugin = "parts.budget"\nconfig.limit = 13', "5:1: parts.budget: 13 brings bad luck"),
        (
            'plugin = "parts.budget"\nconfig = { limit = "many" }',
            "5:20: parts.budget: limit: Input should be a valid int",
        ),
        (
            'plugin = "parts.trace"\nconfig.to = { hots = "x", host = "y" }',
            "5:15: parts.trace: to.hots: no such setting",
        ),
        (
            'plugin = "parts.trace"\n[use.config.to]\nhost = "x"\nport = "y"',
            "7:8: parts.trace: to.port: Input should be",
        ),
        ('plugin = "other-dist:parts.budget"', "4:10: no middleware 'other-dist:parts.budget' is installed"),
    ],
)
def test_a_fault_in_a_layer_stands_where_it_was_written(project: Project, use: str, expected: str) -> None:
    (problem,) = project.problems(f"{HEAD}[[use]]\n{use}\n")
    assert problem.startswith(f"agent.toml:{expected}")


def test_a_name_that_two_packages_claim_is_written_with_its_package(project: Project) -> None:
    project.install(
        "other-parts",
        entry_points={"middleware": {"parts.budget": "other_parts:Budget"}},
        modules={"other_parts.py": "class Budget:\n    async def turn(self, ctx, next): return await next()\n"},
    )
    (problem,) = project.problems(f'{HEAD}[[use]]\nplugin = "parts.budget"\n')
    assert problem.startswith(
        "agent.toml:4:10: 'parts.budget' is offered by several packages: write agent-express-parts:"
    )
    stack = project.load(f'{HEAD}[[use]]\nplugin = "other-parts:parts.budget"\n')
    assert stack.layers[0].target == "other_parts:Budget"


def test_a_package_that_exits_or_breaks_while_it_is_imported_is_one_problem_and_hides_no_other(
    project: Project,
) -> None:
    project.install(
        "breaking",
        entry_points={"middleware": {"b.exits": "b_exits:X", "b.syntax": "b_syntax:X", "b.needs": "b_needs:X"}},
        modules={
            "b_exits.py": "\nraise SystemExit(3)\n",
            "b_syntax.py": "x = 1\ndef broken(:\n",
            "b_needs.py": "import no_such_module\n",
        },
    )
    use = "".join(f'[[use]]\nplugin = "{name}"\n' for name in ("b.exits", "b.syntax", "b.needs", "parts.bugdet"))
    exits, syntax, needs, unknown = project.problems(HEAD + use)
    assert exits.startswith("agent.toml:4:10: b.exits (breaking 1.0.0) is broken:")
    assert "failed at b_exits.py, line 2: SystemExit: 3" in exits
    assert syntax.startswith("agent.toml:6:10:")
    assert "failed at b_syntax.py, line 2: SyntaxError" in syntax
    assert "No module named 'no_such_module'" in needs
    assert unknown.startswith("agent.toml:10:10: no middleware 'parts.bugdet'")


def test_two_layers_of_one_name_say_which_line_holds_the_other(project: Project) -> None:
    use = '[[use]]\nplugin = "parts.memory"\n'
    assert project.problems(HEAD + use + use) == [
        "agent.toml:5:1: a layer is called 'memory' already, on line 3; write name = \"memory-2\""
    ]
    assert list(entries(project.load(HEAD + use + use + 'name = "memory-2"\n'))) == ["memory", "memory-2"]


def test_every_broken_rule_of_order_is_told_with_the_order_that_would_do(project: Project) -> None:
    budget = '[[use]]\nplugin = "parts.budget"\nconfig.limit = 5\n'
    assert project.problems(f'{HEAD}[[use]]\nplugin = "parts.memory"\n[[use]]\nplugin = "parts.trace"\n{budget}') == [
        "agent.toml:3:1: memory must stand inside of budget; this order would do: trace, budget, memory"
    ]


def test_two_tools_of_one_name_are_told_at_the_second(project: Project) -> None:
    project.write(
        "shop_search.py", "from agent_express import tool\n@tool\ndef search(words: str) -> str:\n    'Find.'\n"
    )
    assert project.problems(f'{HEAD}tools = ["shop_search:search"]\n[[use]]\nplugin = "parts.search"\n') == [
        "agent.toml:4:1: two tools are named 'search': one of tool:search, one of search"
    ]


# --- models and instructions --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "name", "temperature"),
    [
        ('"scripted:x"', "scripted:x", 0.0),
        ('"scripted"', "scripted:", 0.0),
        ('{ name = "scripted:x", config = { temperature = 1 } }', "scripted:x", 1.0),
        ('{ plugin = "scripted", name = "x", config = { temperature = 0.5 } }', "scripted:x", 0.5),
        ('{ plugin = "scripted" }', "scripted:", 0.0),
        ('{ plugin = "scripted:x" }', "scripted:x", 0.0),
        ('{ plugin = "agent-express-parts:scripted", name = "x" }', "scripted:x", 0.0),
        ('{ plugin = "own_model:make", config = { warmth = 2 } }', "own:2", 2),
        ('{ plugin = "own_model:MODEL" }', "own:0", 0),
    ],
)
def test_a_model_is_a_name_or_a_table(project: Project, model: str, name: str, temperature: float) -> None:
    project.write(
        "own_model.py",
        """\
        from agent_express.testing import ScriptedModel

        def make(warmth: int = 0):
            model = ScriptedModel("x")
            model.name, model.temperature = f"own:{warmth}", warmth
            return model

        MODEL = make()
        """,
    )
    made: Any = project.load(f"[agent]\nmodel = {model}\n").agent().model
    assert (made.name, made.temperature) == (name, temperature)


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        ('"openai:gpt-5"', "2:9: no model provider 'openai' for 'openai:gpt-5'; installed: scripted; install it: pip"),
        ('{ plugin = "scriptd" }', "2:20: no model provider 'scriptd' is installed; nearest: scripted"),
        (
            '{ plugin = "scripted", config = { temprature = 1 } }',
            "2:43: scripted: temprature: no such setting; meant 'tempe",
        ),
        (
            '{ name = "scripted:x", config = { temperature = "hot" } }',
            "2:57: scripted:x: temperature: Input should be a",
        ),
        ('{ plugin = "own_model:NOTHING" }', "2:20: own_model:NOTHING is None"),
        ('{ plugin = "own_model:make" }', "2:20: own_model:make gives nothing"),
    ],
)
def test_a_fault_in_a_model_stands_where_it_was_written(project: Project, model: str, expected: str) -> None:
    project.write("own_model.py", "def make():\n    return None\nNOTHING = None\n")
    assert any(each.startswith(f"agent.toml:{expected}") for each in project.problems(f"[agent]\nmodel = {model}\n"))


@pytest.mark.parametrize("error", ["AuthenticationError", "StateError", "SystemExit", "KeyError"])
def test_whatever_making_a_model_or_a_layer_raises_is_told_at_its_place(project: Project, error: str) -> None:
    project.write(
        "own.py",
        f"""
        from agent_express.errors import *

        def make(name: str = ""):
            raise {error}("no key: export SHOP_KEY")
        """,
    )
    told = project.problems('[agent]\nmodel = { plugin = "own:make" }\n[[use]]\nplugin = "own:make"\n')
    assert [each.partition(" ")[0] for each in told] == ["agent.toml:2:20:", "agent.toml:4:10:"]
    assert all("no key: export SHOP_KEY" in each for each in told)


def test_instructions_that_cannot_be_read_are_told_at_the_name_of_the_file(project: Project) -> None:
    (problem,) = project.problems(f'{HEAD}instructions = {{ file = "nowhere.md" }}\n')
    assert problem.startswith("agent.toml:3:25: ")
    assert "nowhere.md cannot be read: " in problem
    (project.folder / "latin.md").write_bytes(b"Jos\xe9")
    (problem,) = project.problems(f'{HEAD}instructions = {{ file = "latin.md" }}\n')
    assert problem.endswith("latin.md is not UTF-8 text; save the file as UTF-8")


# --- disabled layers and policy -----------------------------------------------------------------


def test_a_disabled_layer_is_listed_but_neither_built_nor_imported(project: Project) -> None:
    project.install(
        "breaking", entry_points={"middleware": {"b.exits": "b_exits:X"}}, modules={"b_exits.py": "exit(3)"}
    )
    stack = project.load(
        f'{HEAD}[[use]]\nplugin = "b.exits"\nenabled = false\nconfig = {{ x = 1 }}\n[[use]]\nplugin = "parts.memory"\n'
    )
    assert [(layer.name, layer.enabled, layer.entry is None) for layer in stack.layers] == [
        ("exits", False, True),
        ("memory", True, False),
    ]
    assert stack.layers[0].config == {"x": 1}
    assert list(entries(stack)) == ["memory"]


def test_a_disabled_layer_must_be_installed_all_the_same(project: Project) -> None:
    (problem,) = project.problems(f'{HEAD}[[use]]\nplugin = "parts.bugdet"\nenabled = false\n')
    assert problem.startswith("agent.toml:4:10: no middleware 'parts.bugdet' is installed")


def test_what_the_file_blocks_or_does_not_allow_is_refused_and_so_is_what_the_environment_does(
    project: Project,
) -> None:
    use = '[[use]]\nplugin = "parts.memory"\n'
    (problem,) = project.problems(f'{HEAD}{use}[plugins]\nblock = ["*.memory"]\n')
    assert problem == "agent.toml:4:10: parts.memory is blocked by '*.memory' in block of [plugins]"
    (problem,) = project.problems(f'{HEAD}{use}[plugins]\nallow = ["scripted"]\n')
    assert problem == "agent.toml:4:10: parts.memory is not allowed: allow of [plugins] names only scripted"
    project.environ["AGENT_EXPRESS_BLOCK"] = "parts.*"
    (problem,) = project.problems(f'{HEAD}{use}[plugins]\nallow = ["*"]\n')
    assert problem == "agent.toml:4:10: parts.memory is blocked by 'parts.*' in AGENT_EXPRESS_BLOCK"


@pytest.mark.parametrize(
    ("use", "place"),
    [
        ('plugin = "agent_express_parts:Budget"\nconfig = { limit = 1 }', "6:10"),
        ('plugin = "own:Renamed"\nconfig = { limit = 1 }', "6:10"),
        ('plugin = "own:made"', "5:1"),
        ('bundle = "parts.deep"\noverride = { budget = { plugin = "own:Renamed", config = { limit = 3 } } }', "7:34"),
        ('bundle = "own:bundle"', "5:1"),
    ],
)
def test_what_is_blocked_comes_in_by_no_other_road(project: Project, use: str, place: str) -> None:
    project.write(
        "own.py",
        """
        from agent_express.registry import Registry
        from agent_express_parts import Budget as Renamed

        def made():
            return Renamed(5)

        def bundle():
            return [Registry(environ={}).create("parts.budget", {"limit": 5})]
        """,
    )
    head = '[agent]\nmodel = "scripted:x"\n[plugins]\nblock = ["parts.budget"]\n'
    (told,) = project.problems(f"{head}[[use]]\n{use}\n")
    assert told.startswith(f"agent.toml:{place}: ")
    assert "parts.budget is blocked by 'parts.budget' in block of [plugins]" in told


async def test_a_model_that_is_chosen_while_the_agent_runs_is_looked_up_under_the_policy_of_the_file(
    project: Project,
) -> None:
    project.write(
        "own.py",
        """
        from agent_express import Middleware
        from agent_express.testing import ScriptedModel

        def model():
            return ScriptedModel("from the own model")

        class Router(Middleware):
            async def model(self, ctx, next):
                ctx.set_model("scripted:other")
                return await next()
        """,
    )
    text = '[agent]\nmodel = { plugin = "own:model" }\n[[use]]\nplugin = "own:Router"\n'
    assert (await project.load(text).agent().run("hello")).output == "hello"
    with pytest.raises(BlockedPluginError, match=r"scripted is blocked by 'scripted' in block of \[plugins\]"):
        await project.load(f'{text}[plugins]\nblock = ["scripted"]\n').agent().run("hello")


def test_a_strict_file_refuses_a_plugin_that_nobody_uses_but_cannot_be_used(project: Project) -> None:
    project.install(
        "old-parts",
        entry_points={"middleware": {"old.budget": "old_parts:Budget"}},
        modules={"old_parts.py": ""},
        requires=["agent-express>=7"],
    )
    project.load(HEAD)
    (problem,) = project.problems(f"{HEAD}[plugins]\nstrict = true\n")
    assert problem.startswith("agent.toml:4:10: ")
    assert "old-parts 1.0.0 requires agent-express>=7" in problem


def test_the_policy_of_a_stack_is_the_files_and_the_environments(project: Project) -> None:
    project.environ["AGENT_EXPRESS_BLOCK"] = "evil.*"
    stack = project.load(f'{HEAD}[plugins]\nallow = ["scripted", "parts.*"]\n')
    assert isinstance(stack.policy, Policy)
    assert stack.policy.allow == ("scripted", "parts.*")
    assert stack.policy.outer is not None
    assert stack.policy.outer.block == ("evil.*",)


# --- several agents -----------------------------------------------------------------------------

SEVERAL = """\
[[use]]
plugin = "parts.trace"

[agents.support]
model = "scripted:s"
instructions = "Help."

[[agents.support.use]]
plugin = "parts.budget"
config.limit = 5

[agents.sales]
model = "scripted:t"
"""


async def test_several_agents_stand_in_an_app_inside_of_the_layers_at_the_top(project: Project) -> None:
    stack = project.load(SEVERAL)
    assert isinstance(stack.app, App)
    assert list(stack.agents) == ["support", "sales"]
    assert [(layer.agent, layer.name) for layer in stack.layers] == [("", "trace"), ("support", "budget")]
    async with stack.app as app:
        answer = await app.run("support", "hello")
    assert answer.text == "hello"
    assert stack.agent("support").explain().split()[1::3] == ["trace", "budget"]


def test_names_and_order_hold_across_the_app_and_each_agent(project: Project) -> None:
    assert project.problems(SEVERAL + '[[agents.sales.use]]\nplugin = "parts.trace"\n') == [
        "agent.toml:14:1: a layer is called 'trace' already, on line 1; write name = \"trace-2\""
    ]
    text = SEVERAL.replace("parts.trace", "parts.memory")
    assert project.problems(text) == [
        "agent.toml:1:1: memory must stand inside of budget; this order would do: budget, memory"
    ]


def test_an_agent_of_several_is_asked_for_by_name(project: Project) -> None:
    stack = project.load(SEVERAL)
    assert stack.agent("sales") is stack.agents["sales"]
    with pytest.raises(UseError, match=r"has several agents: name one; there are: support, sales"):
        stack.agent()
    with pytest.raises(UseError, match=r"no agent 'salse' in .*agent.toml; meant 'sales'\?"):
        stack.agent("salse")


# --- other ways in ------------------------------------------------------------------------------


def test_a_stack_of_another_form_is_built_alike(project: Project) -> None:
    file = read_stack({"agent": {"model": "scripted:x"}, "use": [{"plugin": "parts.memory"}]}, "agent.yaml")
    stack = build_stack(file, project.folder / "agent.yaml", registry=project.registry)
    assert [(layer.name, layer.line) for layer in stack.layers] == [("memory", 0)]
    with pytest.raises(StackError, match=r"agent.yaml: no middleware 'parts.memroy' is installed; nearest"):
        build_stack(
            read_stack({"agent": {"model": "scripted:x"}, "use": [{"plugin": "parts.memroy"}]}, "agent.yaml"),
            project.folder / "agent.yaml",
            registry=project.registry,
        )


def test_agents_and_apps_come_from_a_file_and_the_plugins_installed_here(tmp_path: Path) -> None:
    single, several = tmp_path / "agent.toml", tmp_path / "app.toml"
    single.write_text('[agent]\nmodel = { plugin = "own_stack_model:make" }\n', encoding="utf-8")
    several.write_text('[agents.one]\nmodel = { plugin = "own_stack_model:make" }\n', encoding="utf-8")
    (tmp_path / "own_stack_model.py").write_text(
        "from agent_express.testing import ScriptedModel\n\ndef make():\n    return ScriptedModel('hello')\n",
        encoding="utf-8",
    )
    script = (
        "import sys\nfrom agent_express import Agent, App\n"
        "assert not any(name.startswith('agent_express.stack') for name in sys.modules)\n"
        f"print(Agent.from_stack({str(single)!r}).run_sync('x').text)\n"
        f"print(*App.from_stack({str(several)!r}).agents)\n"
        f"print(Agent.from_stack({str(several)!r}, agent='one').name)\n"
        f"App.from_stack({str(single)!r})\n"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, encoding="utf-8")
    assert run.stdout.split() == ["hello", "one", "one"]
    assert "agent.toml has a single [agent]: write Agent.from_stack(...), or [agents.NAME]" in run.stderr


def test_an_agent_from_a_stack_takes_more_layers_until_it_is_opened(project: Project) -> None:
    agent = project.load(f'{HEAD}[[use]]\nplugin = "parts.trace"\n').agent()
    assert isinstance(agent, Agent)

    async def last(ctx: Any, next: Any) -> Any:
        return await next()

    assert agent.use(last).explain().count("\n") == 2


def test_without_a_registry_the_plugins_of_this_process_count(project: Project) -> None:
    path = project.write("agent.toml", HEAD)
    stack = load_stack(str(path))
    assert stack.agent().model.name == "scripted:x"
    assert isinstance(stack.registry, Registry)
