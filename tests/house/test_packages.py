"""What every folder in `packages/` holds, and what its pyproject.toml says."""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

import pytest
from checkout import CORE, OTHERS, PACKAGES, ROOT, Package

every_package = pytest.mark.parametrize("package", list(PACKAGES.values()), ids=list(PACKAGES))
every_other_package = pytest.mark.parametrize("package", OTHERS, ids=[package.area for package in OTHERS])

GROUPS = {"middleware", "models", "stores", "bundles", "adapters", "skills", "hooks"}
OFFERED_TO_OTHERS = {"pytest11"}
WORKSPACE: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def entry_points(package: Package) -> dict[str, list[str]]:
    """The names that a package publishes, by group without "agent_express."; what it offers others is left out."""
    groups: dict[str, dict[str, str]] = package.pyproject["project"].get("entry-points", {})
    own = {group: sorted(names) for group, names in groups.items() if group not in OFFERED_TO_OTHERS}
    return {group.removeprefix("agent_express."): names for group, names in own.items()}


@every_package
def test_a_package_is_whole(package: Package) -> None:
    parts = ["README.md", "LICENSE", f"src/{package.module}/__init__.py", f"src/{package.module}/py.typed"]
    assert [part for part in parts if not (package.folder / part).is_file()] == []
    assert list(package.folder.glob("tests/test_*.py")), "it has no tests"
    assert not list(package.folder.glob("tests/**/__init__.py")), "tests are no package"


@every_package
def test_the_licence_of_a_package_is_that_of_the_repository(package: Package) -> None:
    assert (package.folder / "LICENSE").read_bytes() == (ROOT / "LICENSE").read_bytes()


@every_package
def test_a_readme_says_what_it_is_how_to_install_it_and_how_to_use_it(package: Package) -> None:
    text = (package.folder / "README.md").read_text(encoding="utf-8")
    headings = re.findall(r"^(#+ .*)$", re.sub(r"```.*?```", "", text, flags=re.DOTALL), re.MULTILINE)
    assert headings[0] == f"# {package.dist}"
    assert {"## Install", "## Use"} <= set(headings)
    assert f"pip install {package.dist}" in text


@every_package
def test_the_samples_in_a_readme_are_python(package: Package) -> None:
    text = (package.folder / "README.md").read_text(encoding="utf-8")
    samples = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert samples or package.area == "cli"
    for sample in samples:
        compile(sample, str(package.folder / "README.md"), "exec")


@every_package
def test_a_package_writes_down_its_public_names(package: Package) -> None:
    names = package.modules[package.module].public
    assert names, "say them in __all__"
    assert not [name for name in names if name.startswith("_")]


@every_other_package
def test_the_manifest_lists_the_entry_points(package: Package) -> None:
    published = entry_points(package)
    assert set(published) <= GROUPS
    manifest = package.source / "agent_express.json"
    if not published:
        assert not manifest.exists()
        return
    content = json.loads(manifest.read_text(encoding="utf-8"))
    assert content["contract"] == 1
    assert sorted(content["entries"]) == sorted(name for names in published.values() for name in names)
    assert all(entry["summary"].endswith(".") for entry in content["entries"].values())


@every_package
def test_a_package_is_described_as_its_siblings_are(package: Package) -> None:
    told, core = package.pyproject["project"], CORE.pyproject["project"]
    same = ["version", "requires-python", "license", "license-files", "authors", "classifiers", "readme"]
    assert {key: told.get(key) for key in same} == {key: core[key] for key in same}
    assert package.dist == ("agent-express" if package is CORE else f"agent-express-{package.area}")
    assert package.pyproject["build-system"] == CORE.pyproject["build-system"]


@every_package
def test_a_package_wants_siblings_of_its_own_release_train(package: Package) -> None:
    major, minor, _ = CORE.pyproject["project"]["version"].split(".")
    train = f">={major}.{minor},<{major}.{int(minor) + 1}"
    siblings = [need for need in package.pyproject["project"]["dependencies"] if need.startswith("agent-express")]
    assert [need for need in siblings if not need.endswith(train)] == []
    assert siblings or package is CORE


@every_package
def test_what_the_tests_of_a_package_need_is_in_the_workspace_too(package: Package) -> None:
    needs = package.pyproject["dependency-groups"]["test"]
    assert set(needs) <= set(WORKSPACE["dependency-groups"]["test"])


def test_the_workspace_knows_every_package() -> None:
    names = {package.dist for package in PACKAGES.values()}
    assert set(WORKSPACE["tool"]["uv"]["sources"]) == names
    assert names <= {need for need in WORKSPACE["dependency-groups"]["dev"] if isinstance(need, str)}
