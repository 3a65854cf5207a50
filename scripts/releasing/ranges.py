"""Whether the wheels fit each other. A workspace ignores the ranges between its members; whoever installs does not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from releasing.builds import Build
from releasing.versions import VersionError, train
from releasing.wheels import Wheel


def check_versions(build: Build) -> list[str]:
    """List the wheels that have another version than the others: all are released together."""
    versions = {dist: wheel.version for dist, wheel in build.wheels.items()}
    usual = Counter(versions.values()).most_common(1)[0][0]
    return [
        f"{dist} has version {version}, the others have {usual}: set all by scripts/release bump"
        for dist, version in versions.items()
        if version != usual
    ]


def check_ranges(build: Build) -> list[str]:
    """List the requirements between the wheels that are not of their release train, or that no wheel here fulfils."""
    return [problem for wheel in build.wheels.values() for problem in _problems(build, wheel)]


def _problems(build: Build, wheel: Wheel) -> Iterator[str]:
    try:
        wanted = train(wheel.version)
    except VersionError as error:
        yield f"{wheel.dist}: {error}"
        return
    for need in wheel.siblings:
        found = ",".join(sorted(map(str, need.specifier), reverse=True)) or "any version"
        built = build.wheels.get(need.name)
        if found != wanted:
            yield f"{wheel.dist} {wheel.version} wants {need.name} {found}, expected {wanted}: its own release train"
        if built is None:
            yield f"{wheel.dist} wants {need.name}, which is no package here"
        elif not need.specifier.contains(built.version, prereleases=True):
            yield f"{wheel.dist} wants {need.name} {found}, but {built.version} was built beside it"
