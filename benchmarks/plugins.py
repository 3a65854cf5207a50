"""Plugins: what it takes to list those that are installed, none of which is imported."""

from __future__ import annotations

import importlib
import tempfile
import time
from pathlib import Path

from agent_express.registry import Registry
from agent_express.testing.distributions import write_distribution
from benchmarks.imports import MILLI
from benchmarks.rows import Effort, Group, Limit, Row

INSTALLED = 200
ENTRY = {
    "group": "middleware",
    "summary": "Do something to the turn that is worth a sentence.",
    "hooks": ["model", "tool"],
    "state": [{"name": "tokens", "type": "integer", "scope": "session", "description": "Tokens so far."}],
    "permissions": ["network"],
    "config": {
        "type": "object",
        "properties": {
            f"setting{n}": {"type": "integer", "minimum": 1, "description": "One of them."} for n in range(6)
        },
        "additionalProperties": False,
    },
}


async def measure(effort: Effort) -> list[Row]:
    """The row of a list with a sentence on each plugin, over that of an empty registry."""
    with tempfile.TemporaryDirectory() as folder:
        nothing, full = Path(folder, "nothing"), Path(folder, "full")
        for number in range(INSTALLED):
            _install(full, number)
        ours = min(_listed(full) - _listed(nothing) for _ in range(1 + effort.samples // 4))
    what = f"listing {INSTALLED} installed plugins with a sentence on each, over an empty registry"
    return [Row("plugins", what, "ms", ours * MILLI, Limit(30))]


def _install(site: Path, number: int) -> None:
    name, module = f"acme.plugin{number}", f"acme_plugin{number}"
    write_distribution(
        site,
        f"agent-express-acme{number}",
        entry_points={"middleware": {name: f"{module}:Plugin"}},
        modules={f"{module}/__init__.py": "raise SystemExit('a list imports nothing')"},
        requires=["agent-express>=0.1,<1", "pydantic>=2"],
        manifest={"contract": 1, "entries": {name: ENTRY}},
    )


def _listed(site: Path) -> float:
    """CPU seconds that a new registry takes for all sentences."""
    importlib.invalidate_caches()
    registry = Registry(path=[str(site)], environ={})
    begun = time.process_time()
    for plugin in registry.plugins():
        registry.manifest(plugin)
    return time.process_time() - begun


GROUP = Group(("plugins",), measure)
