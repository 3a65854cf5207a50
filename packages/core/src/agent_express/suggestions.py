"""What to say where no plugin has the name that was asked for."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from .plugins import Plugin, normal

ONE = {
    "middleware": "middleware",
    "models": "model provider",
    "stores": "store",
    "bundles": "bundle",
    "adapters": "adapter",
    "skills": "skill",
    "hooks": "plugin of the command line",
}
"""What one plugin of a group is called."""


def unknown(name: str, group: str, plugins: Sequence[Plugin]) -> str:
    """Say that no plugin of *group* is called *name*: what is near, what else it is, and what to install.

    Args:
        name: What was asked for.
        group: Where it was looked for.
        plugins: All that are installed.
    """
    said = f"no {ONE[group]} {name!r} is installed"
    other = next((plugin for plugin in plugins if plugin.name == name and plugin.group != group), None)
    if other is not None:
        return f"{said}; {name!r} is a {ONE[other.group]} of {other.distribution}"
    distribution = normal(name.rpartition(":")[0])
    own = {plugin.name: plugin for plugin in plugins if plugin.group == group}
    of_that = {each: plugin for each, plugin in own.items() if normal(plugin.distribution) == distribution}
    own = of_that or own
    near = [own[each] for each in _near(name, list(own))]
    if near:
        return f"{said}; nearest: {', '.join(map(str, near))}"
    area, point, _ = name.rpartition(":")[2].partition(".")
    if point and area not in {plugin.area for plugin in plugins}:
        return f"{said}, nor anything of its area: pip install agent-express-{area}"
    return f"{said}; there are: {', '.join(sorted(own)) or 'none'}"


def _near(name: str, known: Sequence[str]) -> list[str]:
    """The known names that *name* was probably meant to be, at most three, the nearest first; one part will do."""
    asked = name.rpartition(":")[2].lower()
    score = {each: max(_alike(asked, part) for part in _parts(each, asked)) for each in known}
    least = max(0.72, max(score.values(), default=0.0) - 0.1)
    return [each for each in sorted(score, key=lambda each: -score[each]) if score[each] >= least][:3]


def _parts(name: str, asked: str) -> set[str]:
    return {name} if "." in asked else {name, name.partition(".")[0], name.rpartition(".")[2]}


def _alike(one: str, other: str) -> float:
    return difflib.SequenceMatcher(None, one, other.lower()).ratio()
