"""Who may import whom. What a test lists is each place that breaks the rule, as path:line."""

from __future__ import annotations

import ast
import graphlib
import json
import subprocess
import sys
from collections.abc import Iterator

import pytest
from checkout import CORE, OTHERS, PACKAGES, Import, Module, Package, is_third_party
from packaging.requirements import Requirement

from releasing.workspace import RIM

# Each module of core imports only what stands above it; a folder counts as one.
ORDER = [
    "errors",
    "parts",
    "messages",
    "approval",
    "texts",
    "event",
    "events",
    "docstrings",
    "parameters",
    "plugins",
    "versions",
    "distributions",
    "order",
    "origins",
    "manifest",
    "scan",
    "references",
    "secrets",
    "forms",
    "settings",
    "suggestions",
    "registry",
    "threads",
    "slices",
    "state",
    "log",
    "stream",
    "lifecycle",
    "contexts",
    "answer",
    "inputs",
    "layers",
    "streaming",
    "onion",
    "outputs",
    "results",
    "signature",
    "tools",
    "middleware",
    "checks",
    "explain",
    "describe",
    "stores",
    "models",
    "model_call",
    "normalise",
    "tool_call",
    "batch",
    "loop",
    "chains",
    "turn",
    "turn_stream",
    "asks",
    "nested",
    "runtime",
    "live",
    "session",
    "sync",
    "agent",
    "app",
    "stack",
    "typing",
    "testing",
]

FACE = {
    "run": "Agent App Session Answer Limits",
    "write": "Middleware Next Events Order named reduce scope private",
    "contexts": "AgentContext SessionContext TurnContext ModelContext ToolContext",
    "stream": "Event End TextDelta ReasoningDelta ToolCalled ToolReturned Restarted TurnEnded",
    "say": "Message ModelRequest ModelResponse ToolCall ToolResult Usage",
    "tools": "tool Tool",
    "errors": "ExpressError TurnAbortedError TurnParkedError ToolError",
}

# What a package may import with its modules; everything else from outside waits for `init` or the factory. The kits
# that providers run are pytest suites, so modules of `testing`, which nobody imports by the way, need pytest.
PYDANTIC = {"pydantic", "pydantic_core", "typing_extensions"}
PYTEST = {"pytest", "pytest_asyncio"}
LIGHT = {
    "core": PYDANTIC | {"importlib_metadata"} | PYTEST,
    "cli": PYDANTIC | {"typer", "rich", "click", "pluggy"},
    "conformance": PYDANTIC | {"pytest", "pluggy"},
}
LOADED = {"core": PYDANTIC | {"importlib_metadata", "zipp"}, "cli": LIGHT["cli"]}

# The module of a provider in which it ships what core's kit needs of it.
KIT = "conformance"

# Imported under another name than that of the distribution which brings it.
BROUGHT_BY = {"pydantic_core": "pydantic", "click": "typer"}

# Imported only where whoever calls has it: the command line hands its own typer app to a plugin's `add_commands`.
HAD_BY_THE_CALLER = {"conformance": {"typer"}}


every_package = pytest.mark.parametrize("package", list(PACKAGES.values()), ids=list(PACKAGES))
every_other_package = pytest.mark.parametrize("package", OTHERS, ids=[package.area for package in OTHERS])


def room(module: str) -> str:
    """The module of core that a dotted name lies in: "testing" of "agent_express.testing.plain"."""
    return module.split(".")[1]


def inner_imports(module: Module) -> Iterator[Import]:
    return (found for found in module.imports if found.top == CORE.module)


def test_the_order_of_the_house_names_every_module_of_core() -> None:
    modules = {room(name) for name in CORE.modules if name != CORE.module}
    assert modules - set(ORDER) == set(), "say in ORDER, and in the house's list, where the module stands"


def test_a_module_of_core_imports_only_what_stands_before_it() -> None:
    rank = {name: place for place, name in enumerate(ORDER)}
    wrong = [
        f"{found.at} imports {found.module}"
        for name, module in CORE.modules.items()
        if name != CORE.module
        for found in inner_imports(module)
        if found.module == CORE.module
        or not (rank.get(room(found.module), 99) < rank.get(room(name), 99) or in_one_folder(found.module, name))
    ]
    assert not wrong, "\n".join(wrong)


def in_one_folder(one: str, other: str) -> bool:
    """Whether both stand in the same folder of core, whose own order is only that nothing is a cycle."""
    return room(one) == room(other) and CORE.modules[f"{CORE.module}.{room(one)}"].path.name == "__init__.py"


def test_no_module_of_core_imports_itself_by_a_detour() -> None:
    graph = {name: {found.module for found in inner_imports(module)} for name, module in CORE.modules.items()}
    assert set(graphlib.TopologicalSorter(graph).static_order()) >= set(graph)


def test_core_imports_no_sibling_no_provider_and_no_telemetry() -> None:
    wrong = [
        f"{found.at} imports {found.module}"
        for found in CORE.imports
        if (found.top.startswith("agent_express") and found.top != CORE.module)
        or (is_third_party(found) and found.top not in LIGHT["core"])
        or (found.top in PYTEST and not is_kit(found))
    ]
    assert not wrong, "\n".join(wrong)


@every_other_package
def test_a_package_imports_no_other_package_than_core(package: Package) -> None:
    wrong = [
        f"{found.at} imports {found.module}"
        for found in package.imports
        if found.top.startswith("agent_express")
        and found.top not in {CORE.module, package.module}
        and (package.area not in RIM or found.top in {PACKAGES[area].module for area in RIM if area in PACKAGES})
    ]
    assert not wrong, "\n".join(wrong)


@every_other_package
def test_a_package_imports_the_public_names_of_core_alone(package: Package) -> None:
    wrong = [
        f"{found.at} imports {found.name or 'the module'} of {found.module}"
        for found in package.imports
        if found.top == CORE.module and not is_public(found)
    ]
    assert not wrong, "\n".join(wrong)


def is_public(found: Import) -> bool:
    if f"{found.module}.{found.name}" in CORE.modules:
        return not found.name.startswith("_")
    module = CORE.modules.get(found.module)
    private = any(part.startswith("_") for part in found.module.split("."))
    return module is not None and not private and (not found.name or found.name in module.public)


@every_other_package
def test_a_package_touches_no_private_attribute_of_others(package: Package) -> None:
    own = {name for module in package.modules.values() for name in private_names(module.tree)}
    wrong = [
        f"{module.relative}:{node.lineno} .{node.attr}"
        for module in package.modules.values()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Attribute) and is_private(node.attr) and node.attr not in own
    ]
    assert not wrong, "\n".join(wrong)


def is_private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def private_names(tree: ast.Module) -> Iterator[str]:
    """The private names a module defines: functions, classes, assigned names and attributes, slots."""
    for node in ast.walk(tree):
        match node:
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store()) | ast.Attribute(attr=name, ctx=ast.Store()):
                yield name
            case ast.Constant(value=str(name)):
                yield name


@every_package
def test_a_package_imports_what_is_heavy_in_functions_only(package: Package) -> None:
    light = LIGHT.get(package.area, PYDANTIC)
    wrong = [
        f"{found.at} imports {found.module}"
        for found in package.imports
        if found.where == "module" and is_third_party(found) and found.top not in light
    ]
    assert not wrong, "\n".join(wrong)


@every_package
def test_a_package_imports_a_heavy_module_in_one_place_only(package: Package) -> None:
    light = LIGHT.get(package.area, PYDANTIC)
    places: dict[str, set[str]] = {}
    for found in package.imports:
        if found.where != "typing" and is_third_party(found) and found.top not in light:
            places.setdefault(found.top, set()).add(found.at.partition(":")[0])
    assert {top: sorted(where) for top, where in places.items() if len(where) > 1} == {}


@pytest.mark.parametrize("module", [*(package.module for package in PACKAGES.values()), "agent_express.testing"])
def test_importing_a_package_loads_nothing_heavy(module: str) -> None:
    area = next(area for area, package in PACKAGES.items() if module in package.modules)
    allowed = LOADED.get(area, PYDANTIC)
    # Python's own that cost as much as a third party's.
    dear = {"unittest", "http", "xml", "sqlite3", "multiprocessing", "doctest", "pdb", "tkinter", "smtplib"}
    script = (
        "import asyncio, json, sys\n"
        f"for name in {sorted(allowed)}:\n"
        "    try: __import__(name)\n"
        "    except ImportError: pass\n"
        f"before = set(sys.modules); import {module}\n"
        "print(json.dumps(sorted({name.partition('.')[0] for name in set(sys.modules) - before})))"
    )
    run = subprocess.run([sys.executable, "-c", script], check=True, capture_output=True, encoding="utf-8")
    loaded = {name for name in json.loads(run.stdout) if not name.startswith(("agent_express", "_"))}
    outside = loaded - set(sys.stdlib_module_names) - allowed - {"annotated_types"}
    assert (outside, loaded & dear) == (set(), set())


@every_package
def test_a_package_declares_what_it_imports(package: Package) -> None:
    needs = {Requirement(text).name for text in package.pyproject["project"]["dependencies"]}
    tests = {Requirement(text).name for text in package.pyproject["dependency-groups"]["test"]}
    wrong = [
        f"{found.at} imports {found.top}"
        for found in package.imports
        if is_third_party(found)
        and found.top not in HAD_BY_THE_CALLER.get(package.area, ())
        and BROUGHT_BY.get(found.top, found.top).replace("_", "-") not in needs | (tests if is_kit(found) else set())
    ]
    assert not wrong, "\n".join(wrong)


def is_kit(found: Import) -> bool:
    """Whether it stands among the tools for tests, which need pytest where they are used and nowhere else."""
    return found.at.startswith(f"{CORE.modules['agent_express.testing'].folder}/")


@every_other_package
def test_nobody_imports_the_kit_that_a_provider_ships(package: Package) -> None:
    """It needs pytest, which is not among the requirements of a provider: who runs the kit has it."""
    kit = f"{package.module}.{KIT}"
    assert [found.at for found in package.imports if found.module == kit] == []
    groups = package.pyproject["project"].get("entry-points", {}).values()
    assert [target for group in groups for target in group.values() if target.partition(":")[0] == kit] == []


def test_the_public_names_are_those_of_the_house() -> None:
    face = {name for names in FACE.values() for name in names.split()}
    module = CORE.modules[CORE.module]
    assert module.public == face
    taken = subprocess.run(
        [sys.executable, "-c", "from agent_express import *; print(*sorted(n for n in dir() if n[0] != '_'))"],
        check=True,
        capture_output=True,
        encoding="utf-8",
    )
    assert set(taken.stdout.split()) == face
