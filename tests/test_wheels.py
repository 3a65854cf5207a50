"""The wheels, each in a fresh environment with what it declares and nothing else. Nothing is downloaded: the pinned
dependencies come from uv's cache, which `scripts/test` has filled, the packages from the wheels just built.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from email.message import Message
from email.parser import Parser
from pathlib import Path

import pytest
from checkout import CORE, PACKAGES, ROOT, Package
from packaging.requirements import Requirement

LARGEST_CLOSURE = 8  # distributions that core may bring along, itself included


def run(*command: str | Path, env: Mapping[str, str] | None = None) -> str:
    done = subprocess.run(
        [str(part) for part in command],
        cwd=ROOT,
        env={**os.environ, **(env or {})},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, f"{' '.join(map(str, command))}\n{done.stdout}{done.stderr}"
    return done.stdout


@pytest.fixture(scope="session")
def uv() -> str:
    found = os.environ.get("UV") or shutil.which("uv")
    assert found, "no uv on the PATH: run the tests by scripts/test"
    return found


@pytest.fixture(scope="session")
def wheels(uv: str, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Distribution -> its wheel."""
    folder = tmp_path_factory.mktemp("wheels")
    run(uv, "build", "--quiet", "--offline", "--all-packages", "--wheel", "--out-dir", folder)
    return {wheel.name.split("-")[0].replace("_", "-"): wheel for wheel in folder.glob("*.whl")}


def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        return Parser().parsestr(archive.read(name).decode("utf-8"))


def needs(wheel: Path) -> set[str]:
    """The distributions a wheel requires on this Python, by name."""
    parsed = [Requirement(text) for text in metadata(wheel).get_all("Requires-Dist", [])]
    return {need.name for need in parsed if need.marker is None or need.marker.evaluate({"extra": ""})}


def siblings(wheels: Mapping[str, Path], dist: str) -> set[str]:
    """*dist* and the packages of this repository that it needs, directly or not."""
    own = {dist}
    for need in needs(wheels[dist]) & wheels.keys():
        own |= siblings(wheels, need)
    return own


def install(uv: str, wheels: Mapping[str, Path], package: Package, folder: Path) -> Path:
    """Make an environment that holds *package* from its wheel and what it declares; return its Python."""
    place = {"UV_PROJECT_ENVIRONMENT": str(folder)}
    pinned = ["--offline", "--locked", "--no-default-groups", "--no-install-workspace", "--package", package.dist]
    run(uv, "sync", "--quiet", "--python", sys.executable, *pinned, env=place)
    python = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    own = [wheels[dist] for dist in sorted(siblings(wheels, package.dist))]
    run(uv, "pip", "install", "--quiet", "--offline", "--no-deps", "--python", python, *own)
    return python


def installed(uv: str, python: Path) -> set[str]:
    return {dist["name"] for dist in json.loads(run(uv, "pip", "list", "--format", "json", "--python", python))}


@pytest.mark.parametrize("package", list(PACKAGES.values()), ids=list(PACKAGES))
def test_a_wheel_works_with_nothing_but_what_it_declares(
    uv: str, wheels: dict[str, Path], package: Package, tmp_path: Path
) -> None:
    python = install(uv, wheels, package, tmp_path / "venv")
    run(uv, "pip", "check", "--python", python)
    where = run(python, "-I", "-c", f"import {package.module}; print({package.module}.__file__)")
    assert Path(where.strip()).is_relative_to(tmp_path)
    assert needs(wheels[package.dist]) <= installed(uv, python)


def test_core_brings_pydantic_and_little_else(uv: str, wheels: dict[str, Path], tmp_path: Path) -> None:
    assert needs(wheels[CORE.dist]) <= {"pydantic", "importlib-metadata", "typing-extensions"}
    assert len(installed(uv, install(uv, wheels, CORE, tmp_path / "venv"))) <= LARGEST_CLOSURE


def test_every_package_is_built(wheels: dict[str, Path]) -> None:
    assert set(wheels) == {package.dist for package in PACKAGES.values()}


@pytest.mark.parametrize("package", list(PACKAGES.values()), ids=list(PACKAGES))
def test_a_wheel_holds_its_types_its_manifest_and_its_licence_and_no_tests(
    wheels: dict[str, Path], package: Package
) -> None:
    with zipfile.ZipFile(wheels[package.dist]) as archive:
        names = {name for name in archive.namelist() if not name.endswith("/")}
    sources = {
        path.relative_to(package.folder / "src").as_posix()
        for path in package.source.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert {name for name in names if ".dist-info/" not in name} == sources
    assert f"{package.module}/py.typed" in sources
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in names)
    assert metadata(wheels[package.dist])["License-Expression"] == "MIT"
