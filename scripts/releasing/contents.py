"""What stands in the files: the sources with their types, manifest and licence, and nothing else."""

from __future__ import annotations

import re
import tarfile
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from releasing.builds import Build
from releasing.wheels import MANIFEST, Wheel
from releasing.workspace import Package

TEST = re.compile(r"(?:test_.*|.*_test|conftest)\.py")
BESIDE = frozenset({"PKG-INFO", "pyproject.toml", "pyproject.toml.orig", "README.md", "LICENSE"})
"""What a source distribution holds beside its sources; the builder leaves a copy of the untouched pyproject.toml."""


def check_built(build: Build) -> list[str]:
    """List the packages of which no wheel or no source distribution came out."""
    packages = build.workspace.packages.keys()
    return [
        *[f"{dist}: no wheel was built" for dist in sorted(packages - build.wheels.keys())],
        *[f"{dist}: no source distribution was built" for dist in sorted(packages - build.sdists.keys())],
    ]


def check_typed(build: Build) -> list[str]:
    """List the wheels whose types no checker would see."""
    return [
        f"{dist}: the wheel has no {wheel.module}/py.typed, without which type checkers ignore its types"
        for dist, wheel in build.wheels.items()
        if f"{wheel.module}/py.typed" not in wheel.names
    ]


def check_licence(build: Build) -> list[str]:
    """List the wheels without the text of the licence, or with another one in their metadata."""
    text = (build.workspace.root / "LICENSE").read_text(encoding="utf-8")
    problems = []
    for dist, wheel in build.wheels.items():
        if wheel.info("licenses/LICENSE") != text:
            problems.append(f"{dist}: the wheel does not hold the LICENSE of this repository")
        told, expected = wheel.metadata["License-Expression"], build.workspace.core.pyproject["project"]["license"]
        if told != expected:
            problems.append(f"{dist}: the metadata names the licence {told}, expected {expected}")
    return problems


def check_contents(build: Build) -> list[str]:
    """List what is missing in a wheel or source distribution, and what does not belong there."""
    return [
        *[problem for dist, wheel in build.wheels.items() for problem in _in_wheel(build, dist, wheel)],
        *[problem for dist, sdist in build.sdists.items() for problem in _in_sdist(build, dist, sdist)],
    ]


def _in_wheel(build: Build, dist: str, wheel: Wheel) -> Iterator[str]:
    package = build.workspace.packages[dist]
    yield from _compare(f"{dist}: the wheel", wheel.contents, set(_sources(build, package, package.folder / "src")))
    tests = sorted(name for name in wheel.contents if is_test(name))
    if tests and not any(need.name == "pytest" for need in wheel.requires):
        yield f"{dist}: the wheel holds the test {tests[0]}, although the package does not need pytest"
    published = any(group.startswith("agent_express.") for group in wheel.entry_points)
    if published and f"{wheel.module}/{MANIFEST}" not in wheel.names:
        yield f"{dist}: the wheel publishes entry points and has no {wheel.module}/{MANIFEST}"


def _in_sdist(build: Build, dist: str, sdist: Path) -> Iterator[str]:
    package = build.workspace.packages[dist]
    with tarfile.open(sdist) as archive:
        names = {member.name.partition("/")[2] for member in archive.getmembers() if member.isfile()}
    expected = {*BESIDE, *_sources(build, package, package.folder)}
    yield from _compare(f"{dist}: the source distribution", names | {"pyproject.toml.orig"}, expected)


def _sources(build: Build, package: Package, start: Path) -> Iterator[str]:
    """The files of the package's modules that git knows or would take, as paths from *start*."""
    for path in build.workspace.files:
        if path.is_relative_to(package.source):
            yield path.relative_to(start).as_posix()


def _compare(what: str, found: Iterable[str], expected: Iterable[str]) -> Iterator[str]:
    for name in sorted(set(found) - set(expected)):
        yield f"{what} holds {name}, which is no source of the package"
    for name in sorted(set(expected) - set(found)):
        yield f"{what} lacks {name}"


def is_test(name: str) -> bool:
    """Whether a path of a wheel is that of a test."""
    path = PurePosixPath(name)
    return path.suffix == ".py" and ("tests" in path.parts or TEST.fullmatch(path.name) is not None)
