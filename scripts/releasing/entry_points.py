"""Whether the entry points of a wheel are those of its manifest."""

from __future__ import annotations

from collections.abc import Iterator

from releasing.builds import Build
from releasing.wheels import MANIFEST, Wheel

PREFIX = "agent_express."


def check_entry_points(build: Build) -> list[str]:
    """List the entry points that the manifest does not tell of, and the other way round."""
    return [f"{dist}: {problem}" for dist, wheel in build.wheels.items() for problem in _problems(wheel)]


def _problems(wheel: Wheel) -> Iterator[str]:
    try:
        manifest = wheel.manifest or {}
    except ValueError as error:
        yield f"{MANIFEST} is not JSON: {error}"
        return
    told = {(str(entry.get("group")), str(name)) for name, entry in manifest.get("entries", {}).items()}
    for group, name in sorted(_published(wheel) - told):
        yield f"{name!r} is an entry point of {PREFIX}{group}, but not in {MANIFEST}"
    for group, name in sorted(told - _published(wheel)):
        yield f"{name!r} is in {MANIFEST} as one of {group}, but no entry point of {PREFIX}{group}"


def _published(wheel: Wheel) -> set[tuple[str, str]]:
    """(group without "agent_express.", name) of each entry point that a manifest has to tell of."""
    groups = {group: names for group, names in wheel.entry_points.items() if group.startswith(PREFIX)}
    return {(group.removeprefix(PREFIX), name) for group, names in groups.items() for name in names}
