"""Own code in a stack file: "module:attr", found beside the file."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from packages.core.tests.stack_project import Project, entries

HEAD = '[agent]\nmodel = "scripted:x"\n'

CODE = """\
from agent_express import Middleware, tool


class AuditTrail(Middleware):
    def __init__(self, path: str = "audit.log") -> None:
        self.path = path

    async def turn(self, ctx, next):
        return await next()


def audit(path: str = "made.log") -> AuditTrail:
    return AuditTrail(path)


async def watch(ctx, next):
    return await next()


async def stream(ctx, next):
    async for event in next():
        yield event


@tool
def refund(order: int) -> str:
    "Pay back."
    return "done"


def plain(order: int) -> str:
    return "done"


READY = AuditTrail("ready.log")
"""


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("AuditTrail", "AuditTrail"),
        ("audit", "AuditTrail"),
        ("watch", "function"),
        ("stream", "function"),
        ("refund", "Tool"),
        ("READY", "AuditTrail"),
    ],
)
def test_a_layer_is_a_class_a_function_that_makes_one_a_hook_or_a_ready_object(
    project: Project, name: str, kind: str
) -> None:
    project.write("own_layers.py", CODE)
    stack = project.load(f'{HEAD}[[use]]\nplugin = "own_layers:{name}"\n')
    (layer,) = stack.layers
    assert layer.entry is not None
    assert type(layer.entry.thing).__name__ == kind
    assert (layer.plugin, layer.manifest, layer.target) == (None, None, f"own_layers:{name}")


def test_own_code_takes_settings_as_a_plugin_does(project: Project) -> None:
    project.write("own_layers.py", CODE)
    stack = project.load(f'{HEAD}[[use]]\nplugin = "own_layers:AuditTrail"\nname = "log"\nconfig.path = "x.log"\n')
    log: Any = entries(stack)["log"]
    assert log.path == "x.log"
    (problem,) = project.problems(f'{HEAD}[[use]]\nplugin = "own_layers:AuditTrail"\nconfig.paht = "x.log"\n')
    assert problem == "agent.toml:5:8: own_layers:AuditTrail: paht: no such setting; meant 'path'?"


def test_settings_refer_to_own_code_too(project: Project) -> None:
    project.write("own_rules.py", "def ask(tool: str) -> bool:\n    return True\n")
    stack = project.load(f'{HEAD}[[use]]\nplugin = "parts.gate"\nconfig.ask = "own_rules:ask"\n')
    gate: Any = entries(stack)["gate"]
    assert gate.ask("refund") is True
    (problem,) = project.problems(f'{HEAD}[[use]]\nplugin = "parts.gate"\nconfig.ask = "own_rules:aks"\n')
    assert problem.startswith(
        "agent.toml:5:14: parts.gate: ask: own_rules:aks: own_rules has no 'aks'; was 'ask' meant?"
    )


@pytest.mark.parametrize(
    ("name", "kind"), [("watch", "a hook function"), ("refund", "a tool"), ("READY", "a ready AuditTrail")]
)
def test_what_is_used_as_it_is_takes_no_settings(project: Project, name: str, kind: str) -> None:
    project.write("own_layers.py", CODE)
    (problem,) = project.problems(f'{HEAD}[[use]]\nplugin = "own_layers:{name}"\nconfig = {{ x = 1 }}\n')
    assert problem == f"agent.toml:5:10: own_layers:{name} takes no settings: it is {kind}"


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        ("own_layers:plain", "own_layers:plain is a function, expected a tool; decorate the function with @tool"),
        ("own_layers:READY", "own_layers:READY is a AuditTrail, expected a tool"),
        ("own_layers:refnd", "own_layers:refnd: own_layers has no 'refnd'; was 'refund' meant?"),
        (
            "own_layer:refund",
            "own_layer:refund: there is no module 'own_layer'; looked in the installed packages and in",
        ),
        ("own_layers.refund", '"own_layers.refund" names no tool; write it as "module:attribute", such as'),
        ("own_layers.py:refund", "own_layers.py:refund: there is no module 'own_layers.py'; looked in"),
    ],
)
def test_a_tool_that_is_none_is_told_at_its_place(project: Project, tool: str, expected: str) -> None:
    project.write("own_layers.py", CODE)
    (problem,) = project.problems(f'{HEAD}tools = [\n  "{tool}",\n]\n')
    assert problem.startswith(f"agent.toml:4:3: {expected}")


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("x = 1\nraise SystemExit('no display')\n", "failed at own_broken.py, line 2: SystemExit: no display"),
        ("import sys\nsys.exit(0)\n", "failed at own_broken.py, line 2: SystemExit: 0"),
        ("def f(:\n", "failed at own_broken.py, line 1: SyntaxError:"),
        ("x = 1\ny = 1 / 0\n", "failed at own_broken.py, line 2: ZeroDivisionError: division by zero"),
        ("import no_such_module\n", "failed at own_broken.py, line 1: ModuleNotFoundError: No module named"),
    ],
)
def test_own_code_that_breaks_says_file_and_line(project: Project, code: str, expected: str) -> None:
    project.write("own_broken.py", code)
    (problem,) = project.problems(f'{HEAD}[[use]]\nplugin = "own_broken:Layer"\n')
    assert problem.startswith("agent.toml:4:10: own_broken:Layer: importing own_broken ")
    assert expected in problem


def test_code_that_fails_while_it_is_called_says_file_and_line(project: Project) -> None:
    project.write("own_broken.py", "def layer():\n    return [][1]\n")
    (problem,) = project.problems(f'{HEAD}[[use]]\nplugin = "own_broken:layer"\n')
    assert problem.startswith("agent.toml:4:10: layer: calling layer() failed at own_broken.py, line 2: IndexError:")


def test_a_builtin_that_tells_nothing_of_its_parameters_is_one_problem(project: Project) -> None:
    (problem,) = project.problems(f'{HEAD}[[use]]\nplugin = "builtins:dict"\n')
    assert problem.startswith("agent.toml:4:10: dict cannot be called with settings")


def test_a_module_of_the_same_name_that_came_first_is_never_taken_for_the_one_beside_the_file(project: Project) -> None:
    project.write("other/own_layers.py", CODE)
    project.write("own_layers.py", CODE)
    project.load(f'{HEAD}[[use]]\nplugin = "own_layers:watch"\n', "other/agent.toml")
    (problem,) = project.problems(f'{HEAD}[[use]]\nplugin = "own_layers:watch"\n')
    assert problem.startswith("agent.toml:4:10: own_layers:watch: 'own_layers' was imported from ")
    assert problem.endswith("give one of them another name")


def test_a_module_of_python_is_never_taken_for_the_one_beside_the_file(project: Project) -> None:
    project.write("json.py", CODE)
    (problem,) = project.problems(f'{HEAD}[[use]]\nplugin = "json:watch"\n')
    assert problem.startswith("agent.toml:4:10: json:watch: 'json' was imported from ")


@pytest.mark.parametrize("fault", ["", "[[use]]\nplugin = 'own_layers:nothing'\n"])
def test_a_file_that_does_not_load_leaves_the_path_for_imports_as_it_was(project: Project, fault: str) -> None:
    project.write("own_layers.py", CODE)
    before = list(sys.path)
    text = f"{HEAD}[[use]]\nplugin = 'own_layers:watch'\n{fault}"
    project.problems(text, locked=not fault)
    assert sys.path == before


def test_a_file_without_own_code_leaves_the_path_for_imports_alone(project: Project) -> None:
    before = list(sys.path)
    project.load(f'{HEAD}[[use]]\nplugin = "parts.memory"\n')
    assert sys.path == before


def test_a_package_of_the_same_name_as_own_code_comes_first_with_what_it_offers(project: Project) -> None:
    project.install(
        "shoplike",
        entry_points={"middleware": {"limit": "shoplike_plugins:Limit"}},
        modules={"shoplike_plugins.py": "class Limit:\n    async def turn(self, ctx, next): return await next()\n"},
    )
    project.write("shoplike.py", CODE)
    use = '[[use]]\nplugin = "shoplike:limit"\n[[use]]\nplugin = "shoplike:watch"\n'
    stack = project.load(HEAD + use)
    assert [layer.target for layer in stack.layers] == ["shoplike_plugins:Limit", "shoplike:watch"]


def test_a_typo_behind_the_name_of_a_package_is_no_own_code(project: Project) -> None:
    project.install("shoplike", entry_points={"middleware": {"limit": "shoplike_plugins:Limit"}})
    (problem,) = project.problems(f'{HEAD}[[use]]\nplugin = "shoplike:limt"\n')
    assert problem.startswith("agent.toml:4:10: no middleware 'shoplike:limt' is installed")
