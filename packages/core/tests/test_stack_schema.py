"""The JSON Schema for editors: what it takes loads, what it refuses does not, and nothing is imported for it."""

from __future__ import annotations

import json
import sys
import tomllib
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from packages.core.tests.stack_project import ENTRY_POINTS, Project

from agent_express.describe import describe_package
from agent_express.errors import StackError
from agent_express.registry import Registry
from agent_express.stack import read_stack, stack_schema

HEAD = '[agent]\nmodel = "scripted:x"\n'


@pytest.fixture
def described(project: Project) -> Project:
    """A project whose installed package has a manifest, and is not imported."""
    examples = {"parts.budget": {"limit": 5}, "parts.gate": {"ask": "builtins:bool"}}
    example = {"contract": 1, "entries": {name: {"example": held} for name, held in examples.items()}}
    manifest = describe_package(ENTRY_POINTS, example)
    (project.site / "agent_express_parts/agent_express.json").write_text(json.dumps(manifest), encoding="utf-8")
    del sys.modules["agent_express_parts"]
    return project


def validator(project: Project) -> Draft202012Validator:
    schema = stack_schema(project.registry)
    Draft202012Validator.check_schema(schema)
    return Draft202012Validator(schema)


def faults(project: Project, text: str) -> list[str]:
    return [error.message for error in validator(project).iter_errors(tomllib.loads(text))]


GOOD = {
    "the smallest": HEAD,
    "everything of an agent": (
        '[agent]\nname = "x"\nmodel = { plugin = "scripted", name = "x", config = { temperature = 1 } }\n'
        'instructions = { file = "x.md" }\ntools = ["shop.tools:refund"]\nlimits = { max_steps = 1, timeout = 0.5 }\n'
    ),
    "a plugin with settings": f'{HEAD}[[use]]\nplugin = "parts.budget"\nconfig = {{ limit = 1, per = "turn" }}\n',
    "a plugin with a name": f'{HEAD}[[use]]\nplugin = "parts.trace"\nname = "spans"\n',
    "a plugin of its distribution": f'{HEAD}[[use]]\nplugin = "agent-express-parts:parts.budget"\nconfig.limit = 1\n',
    "a secret": f'{HEAD}[[use]]\nplugin = "parts.budget"\nconfig = {{ limit = 1, key = {{ env = "KEY" }} }}\n',
    "a secret in the place of a text": f'{HEAD}[[use]]\nplugin = "parts.memory"\nconfig.path.file = "place"\n',
    "nested settings": f'{HEAD}[[use]]\nplugin = "parts.trace"\nconfig.to = {{ host = "h", port = 1 }}\n',
    "settings by free names": f'{HEAD}[[use]]\nplugin = "parts.trace"\nconfig.labels = {{ a = "b" }}\n',
    "own code in settings": f'{HEAD}[[use]]\nplugin = "parts.gate"\nconfig.ask = "shop.rules:ask"\n',
    "own code": f'{HEAD}[[use]]\nplugin = "shop.layers:Audit"\nconfig = {{ anything = [1] }}\n',
    "a disabled plugin without what it needs": f'{HEAD}[[use]]\nplugin = "parts.budget"\nenabled = false\n',
    "a bundle": (
        f'{HEAD}[[use]]\nbundle = "parts.deep"\nconfig.limit = 1\nwithout = ["trace"]\n'
        'override.budget = { plugin = "parts.budget", config = { limit = 1 } }\n'
    ),
    "profiles": f"{HEAD}[profile.dev.agent]\nlimits.max_steps = 1\n[profile.dev.use.x]\nconfig.limit = 1\n",
    "several agents": (
        '[[use]]\nplugin = "parts.trace"\n[agents.a]\nmodel = "scripted"\n[[agents.a.use]]\nplugin = "parts.memory"\n'
    ),
    "a policy": f'{HEAD}[plugins]\nallow = ["*"]\nblock = ["x"]\nstrict = true\n',
}

BAD = {
    "no agent": '[[use]]\nplugin = "parts.trace"\n',
    "no model": '[agent]\nname = "x"\n',
    "both agent and agents": f'{HEAD}[agents.a]\nmodel = "scripted"\n',
    "a typo in a key": f"{HEAD}modle = 1\n",
    "a typo in a plugin": f'{HEAD}[[use]]\nplugin = "parts.bugdet"\n',
    "a typo in a bundle": f'{HEAD}[[use]]\nbundle = "parts.dep"\n',
    "a typo in a setting": f'{HEAD}[[use]]\nplugin = "parts.budget"\nconfig = {{ limit = 1, pre = "turn" }}\n',
    "a typo in a provider": '[agent]\nmodel = "scriptd:x"\n',
    "a typo in a model's setting": '[agent]\nmodel = { plugin = "scripted", config = { temprature = 1 } }\n',
    "a setting of the wrong type": f'{HEAD}[[use]]\nplugin = "parts.budget"\nconfig.limit = "many"\n',
    "a setting out of range": f'{HEAD}[[use]]\nplugin = "parts.budget"\nconfig.limit = 0\n',
    "a setting out of a list": f'{HEAD}[[use]]\nplugin = "parts.budget"\nconfig = {{ limit = 1, per = "day" }}\n',
    "a setting that is missing": f'{HEAD}[[use]]\nplugin = "parts.budget"\n',
    "a nested setting of the wrong type": f'{HEAD}[[use]]\nplugin = "parts.trace"\nconfig.to.host = 1\n',
    "a secret as text": f'{HEAD}[[use]]\nplugin = "parts.budget"\nconfig = {{ limit = 1, key = "sk-123" }}\n',
    "a bundle's setting of the wrong type": f'{HEAD}[[use]]\nbundle = "parts.deep"\nconfig.limit = "x"\n',
    "an override that does not fit": f'{HEAD}[[use]]\nbundle = "parts.deep"\noverride.budget.plugin = "parts.budget"\n',
    "neither plugin nor bundle": f'{HEAD}[[use]]\nname = "x"\n',
    "both plugin and bundle": f'{HEAD}[[use]]\nplugin = "parts.trace"\nbundle = "parts.deep"\n',
    "a cut plugin": f'{HEAD}[[use]]\nplugin = "parts.trace"\nwithout = ["x"]\n',
    "a tool that is no reference": f'{HEAD}tools = ["shop.tools.refund"]\n',
    "a limit out of range": f"{HEAD}limits.timeout = 0\n",
    "a wrong flag": f'{HEAD}[[use]]\nplugin = "parts.trace"\nenabled = "no"\n',
    "a wrong profile": f"{HEAD}[profile.dev]\nmodel = 1\n",
}


@pytest.mark.parametrize("text", GOOD.values(), ids=GOOD)
def test_a_good_file_is_valid(described: Project, text: str) -> None:
    assert faults(described, text) == []


@pytest.mark.parametrize("text", BAD.values(), ids=BAD)
def test_a_bad_file_is_not_and_does_not_load_either(described: Project, text: str) -> None:
    assert faults(described, text)
    with pytest.raises(StackError):
        described.load(text)


def test_making_the_schema_imports_no_plugin(described: Project) -> None:
    assert stack_schema(described.registry)["$defs"]["middleware-agent-express-parts-parts.budget"]["required"] == [
        "limit"
    ]
    assert "agent_express_parts" not in sys.modules


def test_every_key_of_a_stack_file_is_explained(described: Project) -> None:
    schema = stack_schema(described.registry)
    bare = [
        f"{name}.{key}"
        for name, table in [("", schema), *schema["$defs"].items()]
        if not name.startswith(("middleware-", "bundles-", "models-"))
        for key, held in table.get("properties", {}).items()
        if "description" not in held and "$ref" not in held and "allOf" not in held
    ]
    assert not bare


def test_every_reference_in_the_schema_leads_somewhere(described: Project) -> None:
    schema = stack_schema(described.registry)

    def references(held: Any) -> set[str]:
        if isinstance(held, list):
            return set().union(*map(references, held))
        if not isinstance(held, dict):
            return set()
        own = {held["$ref"]} if isinstance(held.get("$ref"), str) else set()
        return own.union(*map(references, held.values()))

    assert references(schema) <= {f"#/$defs/{name}" for name in schema["$defs"]}


def test_a_plugin_without_a_manifest_takes_any_settings(project: Project) -> None:
    assert faults(project, f'{HEAD}[[use]]\nplugin = "parts.budget"\nconfig.anything = 1\n') == []


def test_a_plugin_whose_manifest_holds_no_schema_spoils_nothing(described: Project) -> None:
    odd = {"contract": 1, "entries": {"odd.x": {"group": "middleware", "config": {"properties": [], "$defs": 3}}}}
    points = {"middleware": {"odd.x": "odd:X"}}
    described.install("odd", entry_points=points, modules={"odd/__init__.py": ""}, manifest=odd)
    assert stack_schema(described.registry)["$defs"]["middleware-agent-express-parts-parts.budget"]["required"]


def test_what_may_not_be_used_is_not_offered(described: Project) -> None:
    described.environ["AGENT_EXPRESS_BLOCK"] = "parts.memory"
    described.install("other-parts", entry_points={"middleware": {"parts.budget": "x:Y"}}, modules={"x.py": ""})
    use = '[[use]]\nplugin = "{}"\nenabled = false\n'
    assert faults(described, HEAD + use.format("parts.memory"))
    assert faults(described, HEAD + use.format("parts.budget"))
    assert faults(described, HEAD + use.format("other-parts:parts.budget")) == []


def test_with_nothing_installed_a_stack_of_own_code_is_valid(project: Project) -> None:
    schema = stack_schema(Registry(path=[], environ={}))
    text = '[agent]\nmodel = { plugin = "shop.models:make" }\n[[use]]\nplugin = "shop.layers:Audit"\n'
    assert list(Draft202012Validator(schema).iter_errors(tomllib.loads(text))) == []
    read_stack(tomllib.loads(text), "agent.toml")
