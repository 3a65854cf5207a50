"""Whether each distribution has what it requires."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, distribution, version

from agent_express.registry import Registry

from ..hosting.checks import Check


def check(registry: Registry) -> Iterator[Check]:
    """Compare what distributions of plugins require with what is installed."""
    names = sorted({plugin.distribution for plugin in registry.plugins()})
    broken = 0
    for name in names:
        for lacking in _lacking(name):
            broken += 1
            yield Check(f"requirements of {name}", "fail", lacking, f"pip install --upgrade {name}")
    if not broken:
        yield Check("requirements", "ok", f"those of {len(names)} distributions are met")


def _lacking(name: str) -> Iterator[str]:
    from packaging.requirements import InvalidRequirement, Requirement

    try:
        lines = distribution(name).requires or []
    except PackageNotFoundError:  # it is on no path of this process
        return
    for line in lines:
        try:
            wanted = Requirement(line)
        except InvalidRequirement:
            yield f"{line!r} cannot be read"
            continue
        if wanted.marker is not None and not wanted.marker.evaluate({"extra": ""}):
            continue
        try:
            found = version(wanted.name)
        except PackageNotFoundError:
            yield f"it requires {wanted.name}{wanted.specifier}, which is not installed"
            continue
        if not wanted.specifier.contains(found, prereleases=True):
            yield f"it requires {wanted.name}{wanted.specifier}, and {found} is installed"
