"""Whether the wheels work where they are installed: each alone, and all together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from releasing.builds import Build
from releasing.commands import CommandError
from releasing.environments import Environment, install
from releasing.wheels import requirements
from releasing.workspace import CORE, RIM


def check_alone(build: Build, dist: str) -> list[str]:
    """Install one package alone, and list what is wrong there."""
    with TemporaryDirectory() as place:
        return [*check_reach(build, dist), *_installed(build, [dist], Path(place, "venv"))]


def check_together(build: Build) -> list[str]:
    """Install all packages into one environment, and list what is wrong there."""
    with TemporaryDirectory() as place:
        return _installed(build, sorted(build.wheels), Path(place, "venv"))


def check_reach(build: Build, dist: str) -> list[str]:
    """List the packages of this repository, beside core, that an area's package brings along."""
    if build.workspace.packages[dist].area in RIM:
        return []
    others = sorted(need.name for need in build.wheels[dist].siblings if need.name != CORE)
    return [f"{dist} needs {other}: an area needs {CORE} and no other area" for other in others]


def _installed(build: Build, dists: Sequence[str], folder: Path) -> list[str]:
    try:
        environment = install(build, dists, folder)
    except CommandError as error:
        return [str(error)]
    return check_environment(environment, dists)


def check_environment(environment: Environment, dists: Sequence[str]) -> list[str]:
    """List what is wrong in an environment that should hold *dists* and what they declare.

    Something is missing, too old or not needed by anybody; a module or an entry point cannot be imported; what is
    imported stands elsewhere.
    """
    problems: list[str] = []
    try:
        environment.pip("check")
    except CommandError as error:
        problems.append(error.output.strip())
    inside = environment.look(*dists)
    problems += inside.failures
    problems += compare(inside.installed, dists)
    problems += [
        f"{dist} was imported from {path}, not from the wheel"
        for dist, path in inside.places.items()
        if not Path(path).resolve().is_relative_to(environment.folder.resolve())
    ]
    return problems


def compare(installed: Mapping[str, Sequence[str]], dists: Sequence[str]) -> list[str]:
    """List what an environment lacks of what *dists* declare, directly or not, and what it holds beyond that.

    Args:
        installed: Each distribution and the texts of its Requires-Dist.
        dists: What was asked for.
    """
    needed = needs(installed, dists)
    asked = " and ".join(dists) if len(dists) < 3 else "the packages"
    return [
        *[f"{name}, which {asked} need, is not installed" for name in sorted(needed - installed.keys())],
        *[f"{name} is installed, and {asked} do not need it" for name in sorted(installed.keys() - needed)],
    ]


def needs(installed: Mapping[str, Sequence[str]], dists: Sequence[str]) -> set[str]:
    """The normalised names of *dists* and of what they need, directly or not, as far as it is *installed*."""
    waiting = [Requirement(dist) for dist in dists]
    seen: dict[str, frozenset[str]] = {}
    while waiting:
        need = waiting.pop()
        name, extras = canonicalize_name(need.name), frozenset(need.extras)
        if name in seen and extras <= seen[name]:
            continue
        seen[name] = seen.get(name, frozenset()) | extras
        waiting += requirements(list(installed.get(name, ())), seen[name])
    return set(seen)
