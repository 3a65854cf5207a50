"""Which of the names that pytest is given can be checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agent_express.errors import PluginError
from agent_express.registry import Registry, registry

from .reach import unreached
from .run import further
from .subject import installed


def wrong(named: Mapping[str, Sequence[str]]) -> list[str]:
    """Why something cannot be checked, a sentence for each; empty where all can.

    Args:
        named: Names by kind, "middleware" and "models".
    """
    try:
        found = registry()
    except PluginError as error:
        return [str(error)]
    told = (_wrong(kind, name, found) for kind, names in named.items() for name in names)
    return list(dict.fromkeys(problem for problem in told if problem))


def _wrong(kind: str, name: str, found: Registry) -> str:
    try:
        if kind == "models":
            from .provider import Provider  # it takes a while

            unreached(Provider.installed(name, found).subject)
        else:
            further(installed(name, found))
    except PluginError as error:
        return str(error)
    return ""
