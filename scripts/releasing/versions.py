"""Version numbers and release trains."""

from __future__ import annotations

import re

NUMBERS = re.compile(r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)")


class VersionError(ValueError):
    """A text is no version that a package here can have, or comes too early."""


def numbers(version: str) -> tuple[int, int, int]:
    """Take "0.2.1" apart into three numbers.

    Raises:
        VersionError: It is something else. A pre-release, say: no range between the packages would take it.
    """
    found = NUMBERS.fullmatch(version)
    if found is None:
        raise VersionError(f"{version!r} is no version: expected three numbers, such as 0.2.0")
    major, minor, patch = map(int, found.groups())
    return major, minor, patch


def train(version: str) -> str:
    """Return the range that the packages of a release want of each other: ">=0.2,<0.3" of "0.2.1".

    Raises:
        VersionError: *version* is none.
    """
    major, minor, _ = numbers(version)
    return f">={major}.{minor},<{major}.{minor + 1}"


def following(version: str, wanted: str) -> str:
    """Return the version to come after *version*: *wanted* itself, or the next "minor" or "patch" one.

    Raises:
        VersionError: *wanted* is none, or does not come after *version*.
    """
    major, minor, patch = numbers(version)
    named = {"minor": f"{major}.{minor + 1}.0", "patch": f"{major}.{minor}.{patch + 1}"}
    new = named.get(wanted, wanted)
    if numbers(new) <= (major, minor, patch):
        raise VersionError(f"{new} does not come after {version}: the next ones are {' and '.join(named.values())}")
    return new
