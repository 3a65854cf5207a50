"""Measure what the framework costs beside plain Python: `scripts/bench`, or `python -m benchmarks`."""

from __future__ import annotations

import argparse
import asyncio
import gc
import platform
import sys
from collections.abc import Sequence
from pathlib import Path

from benchmarks import commands, hooks, imports, memory, plugins, report, sessions, state, streams, tools, turns
from benchmarks.rows import FULL, QUICK, Effort, Group, Row

GROUPS: tuple[Group, ...] = (
    turns.GROUP,
    hooks.GROUP,
    sessions.GROUP,
    tools.GROUP,
    streams.DELTAS,
    streams.CALLS,
    state.GROUP,
    memory.GROUP,
    imports.GROUP,
    plugins.GROUP,
    commands.GROUP,
)
NAMES = tuple(name for group in GROUPS for name in group.names)

OK, OVER, WRONG = 0, 1, 2
"""Exit codes: all bounds hold; one does not; the command was not understood."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print, and say whether all bounds hold."""
    options = _options(arguments)
    wanted = frozenset(options.row or NAMES)
    rows = asyncio.run(measure(wanted, QUICK if options.quick else FULL))
    if options.write:
        try:
            report.write(rows, options.write)
        except (ValueError, OSError) as error:
            print(error, file=sys.stderr)
            return WRONG
    print(report.as_json(rows) if options.json else f"{_heading()}\n\n{report.as_table(rows)}")
    return OK if options.quick or all(row.holds for row in rows) else OVER


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="scripts/bench",
        description="Measure what the framework costs beside plain Python, in this run and on this machine.",
        epilog="Exit code 1: a row is over its bound.",
    )
    parser.add_argument(
        "--row", action="append", choices=NAMES, metavar="NAME", help=f"only this row: {', '.join(NAMES)}"
    )
    parser.add_argument("--json", action="store_true", help="all figures as JSON")
    parser.add_argument("--quick", action="store_true", help="show that all rows run; the figures say nothing")
    parser.add_argument(
        "--write", nargs="+", type=Path, metavar="FILE", help="put the table between the marks <!-- costs --> of FILE"
    )
    return parser.parse_args(arguments)


async def measure(wanted: frozenset[str], effort: Effort) -> list[Row]:
    """The rows that are wanted, in the order of the table."""
    gc.collect()
    gc.freeze()  # what was imported is not looked at by each collection between two samples
    rows: list[Row] = []
    for group in GROUPS:
        names = [name for name in group.names if name in wanted]
        if names:
            tell(", ".join(names))
            rows += [row for row in await group.measure(effort) if row.name in wanted]
    tell("")
    return rows


def tell(what: str) -> None:
    """Show people what is being measured, in one line that goes away."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{'measuring ' if what else ''}{what}", end="", file=sys.stderr, flush=True)


def _heading() -> str:
    return f"CPython {platform.python_version()}, CPU time, best of several samples"


if __name__ == "__main__":
    sys.exit(main())
