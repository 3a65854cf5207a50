"""What installing and importing the framework costs."""

from __future__ import annotations

import re
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import agent_express
from benchmarks.measure import cpu_of_imports
from benchmarks.rows import Effort, Group, Limit, Row, times

# pydantic imports its parts when they are first asked for: the bare `import pydantic` is not what using it costs.
BESIDE = "import asyncio; from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError"
QUIET_IMPORT = 100.0
"""Milliseconds that `BESIDE` takes on the quiet machine on which the bounds were written down."""
MILLI = 1e3
MEGA = 1e6


async def measure(effort: Effort) -> list[Row]:
    """The rows of import and installation."""
    taken = cpu_of_imports(["pass", BESIDE, f"{BESIDE}; import agent_express"], samples=1 + effort.samples // 4)
    nothing, beside, ours = (seconds * MILLI for seconds in taken)
    sizes = installed("agent-express")
    return [
        Row(
            "import",
            "import, CPU beside asyncio and pydantic",
            "ms",
            ours - beside,
            times(50 / QUIET_IMPORT, beside - nothing, "import of asyncio and pydantic"),
        ),
        Row("distributions", "distributions that are installed", "", float(len(sizes)), Limit(8)),
        Row("megabytes", "what is installed, without bytecode", "MB", sum(sizes.values()) / MEGA, Limit(12)),
    ]


def installed(name: str) -> dict[str, int]:
    """Bytes on disk of the distribution *name* and of all that it needs, by name; compiled files do not count."""
    sizes: dict[str, int] = {}
    waiting = [name]
    while waiting:
        each = waiting.pop()
        if each in sizes:
            continue
        try:
            found = distribution(each)
        except PackageNotFoundError:  # needed on another platform or Python only
            continue
        sizes[each] = sum(file.stat().st_size for file in _files(each) if file.suffix != ".pyc")
        waiting += [_name(line) for line in found.requires or () if "extra ==" not in line]
    return sizes


def _files(name: str) -> list[Path]:
    if name == "agent-express":  # in a checkout the distribution is only a pointer to the sources
        found = Path(agent_express.__file__).parent.rglob("*")
    else:
        found = (Path(str(file.locate())) for file in distribution(name).files or ())
    return [path for path in found if path.is_file()]


def _name(requirement: str) -> str:
    """ "typing_extensions>=4.12" -> "typing-extensions"."""
    return re.split(r"[^\w.-]", requirement, maxsplit=1)[0].lower().replace("_", "-")


GROUP = Group(("import", "distributions", "megabytes"), measure)
