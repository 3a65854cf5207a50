"""Which versions are at work."""

from __future__ import annotations

import platform
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version

from agent_express.registry import Registry

from ..hosting.checks import Check


def check(registry: Registry) -> Iterator[Check]:
    """Name Python, the core and the command line."""
    yield Check("python", "ok", f"{platform.python_implementation()} {platform.python_version()}")
    for name in ("agent-express", "agent-express-cli"):
        try:
            yield Check(name, "ok", version(name))
        except PackageNotFoundError:
            yield Check(name, "warn", "it runs from a folder that is not installed", f"pip install {name}")
