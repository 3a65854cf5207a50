"""What the index and the tools that read a wheel will say of it."""

from __future__ import annotations

import os
import sys

from releasing.builds import Build
from releasing.commands import CommandError, run


def check_metadata(build: Build) -> list[str]:
    """List what `twine check --strict` finds in the metadata of each file, the README as it will be shown included."""
    return _said(build, "twine", "check", "--strict", *map(str, build.files))


def check_layout(build: Build) -> list[str]:
    """List what `check-wheel-contents` finds in the wheels: stray files, a RECORD that does not fit, twice the same."""
    return _said(build, "check_wheel_contents", *[str(wheel.path) for wheel in build.wheels.values()])


def _said(build: Build, module: str, *arguments: str) -> list[str]:
    """The lines with which a tool failed, without the folder that nobody knows."""
    try:
        run(sys.executable, "-m", module, *arguments, cwd=build.workspace.root, env={"NO_COLOR": "1", "COLUMNS": "200"})
    except CommandError as error:
        lines = error.output.replace(f"{build.folder}{os.sep}", "").splitlines()
        return [line.strip() for line in lines if line.strip() and not line.rstrip().endswith(("PASSED", ": OK"))]
    return []
