"""`scripts/release check`: it passes what is whole, and each check fails by what it is there to find."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from small_workspace import built, change, make, write

from releasing import contents, demo, entry_points, environments, installs, metadata, ranges, reproducible
from releasing.__main__ import main
from releasing.builds import Build
from releasing.workspace import Workspace

GUARDS = "packages/guards/src/agent_express_guards"
PYPROJECT = "packages/guards/pyproject.toml"


@pytest.fixture(scope="session")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A checkout with which all is well. It is not to be changed."""
    return make(tmp_path_factory.mktemp("whole"))


@pytest.fixture
def workspace(whole: Workspace, tmp_path: Path) -> Workspace:
    """A copy to break."""
    return Workspace(shutil.copytree(whole.root, tmp_path / "workspace"))


def test_a_whole_checkout_passes_every_step_and_nothing_is_left(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--root", str(workspace.root), "check", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    assert (report["ok"], report["version"]) == (True, "0.1.0")
    names = [step["name"] for step in report["steps"]]
    assert {"build", "all together", "agent-express-guards alone", "the demo, from wheels"} <= set(names)
    assert workspace.git("status", "--porcelain", "--ignored") == ""


def test_every_failure_is_listed_and_none_hides_another(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    change(workspace, PYPROJECT, ">=0.1,<0.2", ">=0.2,<0.3")
    (workspace.root / GUARDS / "py.typed").unlink()
    assert main(["--root", str(workspace.root), "check"]) == 1
    said = capsys.readouterr().out
    failed = [line.split("  ")[1] for line in said.splitlines() if line.startswith("FAILED")]
    assert "ranges between packages" in failed
    assert "typed markers" in failed
    assert "agent-express-guards alone" in failed
    assert "agent-express wants" not in said
    assert "agent-express-guards: the wheel has no agent_express_guards/py.typed" in said
    assert f"{len(failed)} failed" in said.splitlines()[-1]


def test_where_nothing_can_be_built_the_build_alone_fails(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    change(workspace, PYPROJECT, 'version = "0.1.0"', 'version = "one"')
    assert main(["--root", str(workspace.root), "check", "--json"]) == 1
    steps = {step["name"]: step for step in json.loads(capsys.readouterr().out)["steps"]}
    assert "one" in steps["build"]["problems"][0]
    assert [name for name, step in steps.items() if not step["ok"]] == ["build"]
    assert "contents" not in steps


def test_what_is_left_in_the_work_tree_is_a_failure(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    litter = workspace.root / "left.log"
    module = f"from pathlib import Path\nPath({str(litter)!r}).touch()\nclass Cap: ...\n"
    write(workspace.root, {f"{GUARDS}/__init__.py": module})
    assert main(["--root", str(workspace.root), "check", "--json"]) == 1
    failed = [step for step in json.loads(capsys.readouterr().out)["steps"] if not step["ok"]]
    assert [step["problems"] for step in failed] == [["!! left.log"]]


# --- each check ----------------------------------------------------------------------------------

Check = Callable[[Build], list[str]]


def problems(check: Check, workspace: Workspace, *, sdists: bool = False) -> list[str]:
    return check(built(workspace, sdists=sdists))


def test_a_range_wider_than_the_release_train_is_found(workspace: Workspace) -> None:
    change(workspace, PYPROJECT, ">=0.1,<0.2", ">=0.1,<0.3")
    (problem,) = problems(ranges.check_ranges, workspace)
    assert problem == (
        "agent-express-guards 0.1.0 wants agent-express >=0.1,<0.3, expected >=0.1,<0.2: its own release train"
    )


def test_a_range_that_no_wheel_here_fulfils_is_found(workspace: Workspace) -> None:
    change(workspace, PYPROJECT, ">=0.1,<0.2", ">=0.2,<0.3")
    assert "agent-express-guards wants agent-express >=0.2,<0.3, but 0.1.0 was built beside it" in problems(
        ranges.check_ranges, workspace
    )


def test_a_requirement_without_a_range_is_found(workspace: Workspace) -> None:
    change(workspace, PYPROJECT, "agent-express>=0.1,<0.2", "agent-express")
    (problem,) = problems(ranges.check_ranges, workspace)
    assert "wants agent-express any version" in problem


def test_a_package_with_another_version_is_found(workspace: Workspace) -> None:
    change(workspace, PYPROJECT, 'version = "0.1.0"', 'version = "0.1.1"')
    (problem,) = problems(ranges.check_versions, workspace)
    assert problem.startswith("agent-express-guards has version 0.1.1, the others have 0.1.0")


def test_a_wheel_without_a_typed_marker_is_found(workspace: Workspace) -> None:
    (workspace.root / GUARDS / "py.typed").unlink()
    (problem,) = problems(contents.check_typed, workspace)
    assert problem.startswith("agent-express-guards: the wheel has no agent_express_guards/py.typed")


def test_a_test_among_the_sources_is_found(workspace: Workspace) -> None:
    write(workspace.root, {f"{GUARDS}/tests/test_cap.py": ""})
    (problem,) = problems(contents.check_contents, workspace)
    assert "the wheel holds the test agent_express_guards/tests/test_cap.py" in problem


def test_what_git_ignores_is_found_in_both_kinds_of_file(workspace: Workspace) -> None:
    write(workspace.root, {f"{GUARDS}/trace.log": "a day in the life\n"})
    wheel, sdist = problems(contents.check_contents, workspace, sdists=True)
    assert wheel.startswith("agent-express-guards: the wheel holds agent_express_guards/trace.log")
    assert sdist.startswith("agent-express-guards: the source distribution holds src/agent_express_guards/trace.log")


def test_a_source_that_did_not_get_into_the_wheel_is_found(workspace: Workspace) -> None:
    write(
        workspace.root,
        {PYPROJECT: (workspace.root / PYPROJECT).read_text(encoding="utf-8") + 'wheel-exclude = ["x.py"]\n'},
    )
    write(workspace.root, {f"{GUARDS}/x.py": "X = 1\n"})
    (problem,) = problems(contents.check_contents, workspace)
    assert problem == "agent-express-guards: the wheel lacks agent_express_guards/x.py"


def test_a_missing_manifest_is_found(workspace: Workspace) -> None:
    (workspace.root / GUARDS / "agent_express.json").unlink()
    (problem,) = problems(contents.check_contents, workspace)
    assert "publishes entry points and has no agent_express_guards/agent_express.json" in problem


def test_another_licence_is_found(workspace: Workspace) -> None:
    write(workspace.root, {"packages/guards/LICENSE": "Pay first.\n"})
    change(workspace, PYPROJECT, 'license = "MIT"', 'license = "BSD-3-Clause"')
    text, name = problems(contents.check_licence, workspace)
    assert text == "agent-express-guards: the wheel does not hold the LICENSE of this repository"
    assert name == "agent-express-guards: the metadata names the licence BSD-3-Clause, expected MIT"


def test_an_entry_point_is_in_the_manifest_and_the_other_way_round(workspace: Workspace) -> None:
    change(workspace, PYPROJECT, '"guards.cap" =', '"guards.lid" =')
    untold, unpublished = problems(entry_points.check_entry_points, workspace)
    assert "'guards.lid' is an entry point of agent_express.middleware, but not in agent_express.json" in untold
    assert "'guards.cap' is in agent_express.json as one of middleware, but no entry point" in unpublished


def test_a_manifest_that_is_not_json_is_found(workspace: Workspace) -> None:
    write(workspace.root, {f"{GUARDS}/agent_express.json": "{"})
    (problem,) = problems(entry_points.check_entry_points, workspace)
    assert problem.startswith("agent-express-guards: agent_express.json is not JSON")


def test_a_package_that_is_not_built_is_found(whole: Workspace) -> None:
    build = Build(whole, whole.root, {}, {})
    assert contents.check_built(build)[0] == "agent-express: no wheel was built"


def test_metadata_without_a_description_is_found(workspace: Workspace) -> None:
    change(workspace, PYPROJECT, 'readme = "README.md"\n', "")
    assert any("long_description" in problem for problem in problems(metadata.check_metadata, workspace))


def test_the_same_module_twice_is_found(workspace: Workspace) -> None:
    module = "def twice() -> str:\n    return 'here'\n" * 40
    write(workspace.root, {f"{GUARDS}/one.py": module, f"{GUARDS}/two.py": module})
    told = problems(metadata.check_layout, workspace)
    assert told[0].startswith("agent_express_guards-0.1.0-py3-none-any.whl: W002")
    assert told[1:] == ["agent_express_guards/one.py", "agent_express_guards/two.py"]


def test_content_that_another_build_does_not_give_is_found(workspace: Workspace) -> None:
    build = built(workspace, sdists=True)
    assert reproducible.check_reproducible(build) == []
    write(workspace.root, {f"{GUARDS}/__init__.py": "BUILT = 1764547200\n"})
    later = Build(Workspace(workspace.root), build.folder, build.wheels, build.sdists)
    wheel, sdist = reproducible.check_reproducible(later)
    assert wheel.startswith("agent_express_guards-0.1.0-py3-none-any.whl is different in a second build: ")
    assert wheel.endswith("agent_express_guards-0.1.0.dist-info/RECORD, agent_express_guards/__init__.py")
    assert sdist.startswith("agent_express_guards-0.1.0.tar.gz is different in a second build: ")
    assert sdist.endswith("agent_express_guards-0.1.0/src/agent_express_guards/__init__.py")


def test_a_file_that_one_build_alone_gives_is_found(workspace: Workspace, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    assert reproducible.compare(built(workspace).folder, tmp_path / "other")[0] == (
        "agent_express-0.1.0-py3-none-any.whl came out of one build alone"
    )


# --- in an environment ----------------------------------------------------------------------------


def alone(workspace: Workspace) -> list[str]:
    return installs.check_alone(built(workspace), "agent-express-guards")


def test_a_package_installs_alone_with_core_and_nothing_else(workspace: Workspace) -> None:
    assert alone(workspace) == []


def test_an_entry_point_that_does_not_exist_is_found(workspace: Workspace) -> None:
    change(workspace, PYPROJECT, "agent_express_guards:Cap", "agent_express_guards:Lid")
    (problem,) = alone(workspace)
    assert "the entry point 'guards.cap' in agent_express.middleware names agent_express_guards:Lid: Attr" in problem


def test_a_module_that_needs_what_is_not_declared_is_found(workspace: Workspace) -> None:
    write(workspace.root, {f"{GUARDS}/__init__.py": "import pydantic\n"})
    (problem,) = alone(workspace)
    assert problem.startswith("agent-express-guards cannot be imported: ModuleNotFoundError")


def test_a_module_that_ends_the_program_is_found(workspace: Workspace) -> None:
    write(workspace.root, {f"{GUARDS}/__init__.py": "raise SystemExit(0)\n"})
    assert alone(workspace) == ["agent-express-guards cannot be imported: SystemExit: 0"]


def test_a_range_that_does_not_fit_stops_the_installation(workspace: Workspace) -> None:
    change(workspace, PYPROJECT, ">=0.1,<0.2", ">=0.2,<0.3")
    (problem,) = alone(workspace)
    assert "agent-express>=0.2,<0.3" in problem


def test_an_area_that_brings_another_area_along_is_found(workspace: Workspace) -> None:
    change(
        workspace, PYPROJECT, '"agent-express>=0.1,<0.2"', '"agent-express>=0.1,<0.2", "agent-express-cli>=0.1,<0.2"'
    )
    assert installs.check_reach(built(workspace), "agent-express-guards") == [
        "agent-express-guards needs agent-express-cli: an area needs agent-express and no other area"
    ]


def test_what_nobody_needs_and_what_is_missing_are_found(workspace: Workspace, tmp_path: Path) -> None:
    build = built(workspace)
    more = environments.bare(tmp_path / "more", build.wheels.values())
    assert installs.check_environment(more, ["agent-express-guards"]) == [
        "agent-express-cli is installed, and agent-express-guards do not need it"
    ]
    less = environments.bare(tmp_path / "less", [build.wheels["agent-express-guards"]])
    told = installs.check_environment(less, ["agent-express-guards"])
    assert "agent-express, which agent-express-guards need, is not installed" in told


def test_a_module_that_shadows_the_wheel_is_found(workspace: Workspace, tmp_path: Path) -> None:
    environment = environments.bare(tmp_path / "venv", [built(workspace).wheels["agent-express"]])
    write(tmp_path / "elsewhere", {"agent_express/__init__.py": ""})
    packages = next(environment.folder.rglob("site-packages"))
    (packages / "shadow.pth").write_text(
        f"import sys; sys.path.insert(0, {str(tmp_path / 'elsewhere')!r})\n", encoding="utf-8"
    )
    (problem,) = installs.check_environment(environment, ["agent-express"])
    assert problem.endswith("not from the wheel")


def test_needs_are_followed_through_extras_and_only_for_this_python() -> None:
    installed = {
        "a": ["B_b[fast]>=1", "old; python_version < '3'"],
        "b-b": ["c; extra == 'fast'", "d; extra == 'slow'"],
        "c": ["a"],
    }
    assert installs.needs(installed, ["a"]) == {"a", "b-b", "c"}


def test_a_demo_that_counts_wrongly_is_found(workspace: Workspace) -> None:
    change(workspace, "packages/cli/src/agent_express_cli/__init__.py", '"lines"', '"lines", file=open("said", "w")')
    (problem,) = problems(demo.check_demo, workspace)
    assert problem.startswith("the demo was to count 7 lines in README.md, and said")


def test_what_runs_in_the_environment_needs_nothing_but_python(whole: Workspace) -> None:
    text = environments.INSIDE.read_text(encoding="utf-8")
    imported = {line.split()[1] for line in text.splitlines() if line.startswith(("import ", "from "))}
    assert imported <= set(sys.stdlib_module_names)
