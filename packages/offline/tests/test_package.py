"""The manifest, the README and the public names tell the truth."""

from __future__ import annotations

import ast
import json
import re
from importlib.metadata import entry_points
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest

import agent_express_offline
from agent_express.describe import describe_package
from agent_express_offline import FAULTS, OfflineModel, create, variants

SOURCE = files("agent_express_offline")
MANIFEST: dict[str, Any] = json.loads(SOURCE.joinpath("agent_express.json").read_text(encoding="utf-8"))
README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


def test_the_public_names_are_these() -> None:
    assert sorted(agent_express_offline.__all__) == ["FAULTS", "OfflineModel", "create", "respond", "variants"]
    assert all(hasattr(agent_express_offline, name) for name in agent_express_offline.__all__)


def test_the_manifest_is_as_the_code_is() -> None:
    (entry,) = entry_points(group="agent_express.models", name="offline")
    assert entry.load() is create
    assert describe_package({"models": {"offline": entry.value}}, MANIFEST) == MANIFEST
    told = MANIFEST["entries"]["offline"]
    assert frozenset(told["modalities"]) == OfflineModel.modalities
    assert [told[part] for part in ("permissions", "environment")] == [[], []]
    assert told["config"]["properties"]["faults"]["items"]["enum"] == list(FAULTS)


def test_it_needs_no_permission_because_it_opens_nothing() -> None:
    """No module for the network, for files or for processes is imported, and no clock and no chance is asked."""
    wanted = {"__future__", "agent_express", "asyncio", "collections", "dataclasses", "datetime", "difflib"}
    wanted |= {"functools", "itertools", "json", "math", "operator", "re", "typing", "warnings"}
    found: set[str] = set()
    for path in Path(str(SOURCE)).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and not node.level:
                found.add(str(node.module).partition(".")[0])
            elif isinstance(node, ast.Attribute):
                assert ast.unparse(node) not in ("date.today", "datetime.now"), path.name
    assert found == wanted


def test_a_layer_imports_only_those_below_it() -> None:
    layers = ["reading", "filling", "planning", "answering"]
    for path in Path(str(SOURCE)).rglob("*.py"):
        rank = layers.index(path.parent.name) if path.parent.name in layers else len(layers)
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.level == 2:
                assert layers.index(str(node.module).partition(".")[0]) < rank, f"{path.name} imports {node.module}"


def test_the_readme_lists_every_fault_with_what_it_does() -> None:
    rows = dict(re.findall(r"^\| `([a-z-]+)` \| (.+) \|$", README, re.MULTILINE))
    assert {name: rows.get(name) for name in FAULTS if name != "none"} == {
        name: does for name, does in FAULTS.items() if name != "none"
    }
    assert "commands" in variants()


@pytest.mark.parametrize("sample", re.findall(r"```python\n(.*?)```", README, re.DOTALL))
def test_a_sample_of_the_readme_runs_and_prints_what_stands_below_it(
    sample: str, capsys: pytest.CaptureFixture[str]
) -> None:
    exec(compile(sample, "README.md", "exec"), {"__name__": "__main__"})
    printed = capsys.readouterr().out
    assert f"```text\n{printed}```" in README
