"""The onion as text: per hook, which layer of which package stands where."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from functools import lru_cache

from .middleware import HOOKS, Entry


def explain(entries: Sequence[Entry]) -> str:
    """Per hook, the layers from the outermost in, with package and version."""
    lines: list[str] = []
    for hook in HOOKS:
        layers = [entry for entry in entries if hook in entry.hooks]
        if layers:
            lines.append(hook)
            lines += [f"  {'  ' * depth}{_line(entry, hook)}" for depth, entry in enumerate(layers)]
    tools = [f"  {tool.name}  ({entry.name})" for entry in entries for tool in entry.tools]
    if tools:
        lines += ["tools", *tools]
    return "\n".join(lines) if lines else "no middleware"


def _line(entry: Entry, hook: str) -> str:
    streaming = "  streaming" if inspect.isasyncgenfunction(entry.hooks[hook]) else ""
    return f"{entry.name}  {_origin(entry)}{streaming}"


def _origin(entry: Entry) -> str:
    thing = entry.thing
    module = thing.__module__ if inspect.isfunction(thing) else type(thing).__module__
    return _distribution(module.partition(".")[0])


@lru_cache(maxsize=256)
def _distribution(package: str) -> str:
    """Name and version of the distribution that a package came with; one of its own name is found without a search."""
    from importlib.metadata import PackageNotFoundError, packages_distributions, version

    name = package.replace("_", "-")
    try:
        return f"{name} {version(name)}"
    except PackageNotFoundError:
        names = packages_distributions().get(package)
        return f"{names[0]} {version(names[0])}" if names else f"local {package}"
