"""The command line: what it takes to show, check and lock a stack of 30 layers, the start of Python included."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from agent_express.testing.distributions import write_distribution
from benchmarks.imports import MILLI
from benchmarks.rows import Effort, Group, Row, times

LAYERS = 30
PACKAGES = 6
QUIET_START = 180.0
"""Milliseconds that a Python which imports the framework takes, to its end, on the quiet machine of the bounds."""
MOST = 500.0
"""Milliseconds that a command may take on that machine."""
COMMANDS = ("show", "check", "lock")

LAYER = '''
class State{n}(BaseModel):
    count: int = 0
    names: list[str] = []

class Layer{n}(Middleware):
    """Do something to the turn that is worth a sentence."""

    name = "layer-{n}"
    state = State{n}

    def __init__(self, limit: int = 3, label: str = "") -> None:
        self.limit = limit

    async def turn(self, ctx, next):
        await next()

    async def model(self, ctx, next):
        async for event in next():
            yield event

    async def tool(self, ctx, next):
        return await next()
'''
ENTRY = {
    "group": "middleware",
    "summary": "Do something to the turn that is worth a sentence.",
    "hooks": ["turn", "model", "tool"],
    "streaming": True,
    "state": [{"name": "count", "type": "integer"}, {"name": "names", "type": "array"}],
    "permissions": ["network"],
}
ROLES = ("response-cache", "memory", "retry", "budget", "redactor", "rate-limit", "trace")
"""Every layer has one, in an order that breaks all rules."""


async def measure(effort: Effort) -> list[Row]:
    """The rows of the commands, beside a Python that imports the framework."""
    return _measure(1 + effort.samples // 4)


def _measure(samples: int) -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        site, stack = Path(folder, "site"), Path(folder, "agent.toml")
        for package in range(PACKAGES):
            _install(site, range(package, LAYERS, PACKAGES), package)
        stack.write_text(_stack(), encoding="utf-8")
        command = ["-m", "agent_express_cli", "stack"]
        works = [["-c", "import agent_express"], *([*command, name, str(stack)] for name in COMMANDS)]
        start, *taken = (seconds * MILLI for seconds in cpu_of_processes(works, site, samples))
    limit = times(MOST / QUIET_START, start, "start with import")
    what = f"`stack {{}}` of {LAYERS} layers from {PACKAGES} packages, CPU of the whole process"
    return [
        Row(f"stack-{name}", what.format(name), "ms", each, limit) for name, each in zip(COMMANDS, taken, strict=True)
    ]


def cpu_of_processes(works: Sequence[Sequence[str]], site: Path, samples: int) -> list[float]:
    """CPU seconds of a Python with each of these arguments, from its start to its end: the best of *samples*.

    A first run, which does not count, leaves the bytecode of all modules in a folder of its own.
    """
    best = [float("inf")] * len(works)
    with tempfile.TemporaryDirectory() as cache:
        environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        environment |= {"PYTHONPYCACHEPREFIX": cache, "PYTHONPATH": str(site)}
        for sample in range(-1, samples):
            for index, arguments in enumerate(works):
                before = _spent()
                subprocess.run([sys.executable, *arguments], capture_output=True, check=False, env=environment)
                if sample >= 0:
                    best[index] = min(best[index], _spent() - before)
    return best


def _spent() -> float:
    """CPU seconds of all processes that were started and have ended; Windows tells only how late it is."""
    times = os.times()
    return time.perf_counter() if os.name == "nt" else times.children_user + times.children_system


def _install(site: Path, numbers: range, package: int) -> None:
    module = f"acme_layers{package}"
    names = {number: f"acme{package}.layer{number}" for number in numbers}
    source = "from pydantic import BaseModel\nfrom agent_express import Middleware\n"
    write_distribution(
        site,
        f"acme-layers{package}",
        entry_points={"middleware": {name: f"{module}:Layer{number}" for number, name in names.items()}},
        modules={f"{module}/__init__.py": source + "".join(LAYER.format(n=number) for number in numbers)},
        requires=["agent-express>=0.1,<1"],
        manifest={
            "contract": 1,
            "entries": {name: ENTRY | {"roles": [ROLES[number % len(ROLES)]]} for number, name in names.items()},
        },
    )


def _stack() -> str:
    head = '[agent]\nname = "thirty"\nmodel = "offline:commands"\n'
    uses = (
        f'[[use]]\nplugin = "acme{number % PACKAGES}.layer{number}"\nconfig = {{ limit = {number} }}\n'
        for number in range(LAYERS)
    )
    return head + "".join(uses)


GROUP = Group(tuple(f"stack-{name}" for name in COMMANDS), measure)
