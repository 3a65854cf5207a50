"""Whether the module of a plugin can be imported here, as a process of its own has found out before."""

from __future__ import annotations

from .checks import Stage
from .checks.importing import survives, watched
from .judge import Trouble
from .subject import Subject

UNREACHED = Trouble(Stage.FOUND, "light-import")
"""The module cannot be imported: the check says why, and what needs the module is not run."""


def unreached(subject: Subject) -> Trouble | None:
    """`UNREACHED` where the module ends an interpreter, or raises whatever; it is not imported here then.

    Raises:
        PluginError: The module can be imported, and has not what the entry point names.
    """
    published = subject.published
    if published is None:
        return None
    if not survives(published) or watched(published)["error"]:
        return UNREACHED
    published.registry.load(published.plugin)
    return None
