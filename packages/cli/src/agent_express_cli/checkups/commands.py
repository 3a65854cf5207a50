"""Whether two plugins want the same command."""

from __future__ import annotations

from collections.abc import Iterator

from agent_express.registry import Registry

from ..hosting.checks import Check
from ..hosting.peek import declared_commands, published


def check(registry: Registry) -> Iterator[Check]:
    """Tell of commands that several plugins declare, or that are built in already."""
    from ..app import built_in

    having: dict[str, list[str]] = {}
    for each in declared_commands(published()):
        having.setdefault(each.name, []).append(each.plugin)
    taken = built_in()
    for name, plugins in sorted(having.items()):
        if name in taken:
            yield Check(f"command {name}", "warn", f"{', '.join(plugins)} wants it, and it is built in")
        elif len(plugins) > 1:
            advice = f"block one: AGENT_EXPRESS_BLOCK={plugins[-1]}"
            yield Check(f"command {name}", "warn", f"{' and '.join(plugins)} both have it", advice)
