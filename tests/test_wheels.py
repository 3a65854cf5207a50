"""The wheels, each in a fresh environment with what it declares and nothing else; `scripts/release check` goes further.
Nothing is downloaded: the pinned dependencies come from uv's cache, which `scripts/test` has filled.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from checkout import CORE, PACKAGES, ROOT, Package
from packaging.requirements import Requirement

from releasing.builds import Build, build
from releasing.contents import check_contents, check_licence, check_typed
from releasing.entry_points import check_entry_points
from releasing.environments import install
from releasing.installs import check_environment
from releasing.ranges import check_ranges, check_versions
from releasing.workspace import RIM, Workspace

# Distributions that core may bring along, itself included. Three of them serve Pythons below 3.13 alone.
LARGEST_CLOSURE = 8

every_package = pytest.mark.parametrize("package", list(PACKAGES.values()), ids=list(PACKAGES))


@pytest.fixture(scope="session")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Build:
    return build(Workspace(ROOT), tmp_path_factory.mktemp("wheels"), sdists=False)


@every_package
def test_a_wheel_brings_what_it_declares_and_nothing_else_and_works_with_that(
    wheels: Build, package: Package, tmp_path: Path
) -> None:
    environment = install(wheels, [package.dist], tmp_path / "venv")
    assert check_environment(environment, [package.dist]) == []
    installed = environment.look().installed.keys()
    assert {
        Requirement(need).name for need in package.pyproject["project"]["dependencies"] if applies(need)
    } <= installed
    ours = installed & {other.dist for other in PACKAGES.values()}
    assert package.area in RIM or ours == {CORE.dist, package.dist}


def applies(need: str) -> bool:
    marker = Requirement(need).marker
    return marker is None or marker.evaluate()


def test_core_brings_pydantic_and_little_else(wheels: Build, tmp_path: Path) -> None:
    needs = {need.name for need in wheels.wheels[CORE.dist].requires}
    assert needs <= {"pydantic", "importlib-metadata", "typing-extensions"}
    assert len(install(wheels, [CORE.dist], tmp_path / "venv").look().installed) <= LARGEST_CLOSURE


def test_all_wheels_work_together(wheels: Build, tmp_path: Path) -> None:
    environment = install(wheels, sorted(wheels.wheels), tmp_path / "venv")
    assert check_environment(environment, sorted(wheels.wheels)) == []


def test_every_package_is_built(wheels: Build) -> None:
    assert set(wheels.wheels) == {package.dist for package in PACKAGES.values()}


@pytest.mark.parametrize(
    "check",
    [check_typed, check_licence, check_contents, check_entry_points, check_versions, check_ranges],
    ids=["types", "licence", "contents", "entry points", "versions", "ranges"],
)
def test_the_wheels_pass(wheels: Build, check: Callable[[Build], list[str]]) -> None:
    assert check(wheels) == []
