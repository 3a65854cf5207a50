"""Telling whether a plugin of the command line is what it should be, before pluggy gets it."""

from __future__ import annotations

import difflib
import inspect
from typing import Any

import pluggy

from .hookspecs import NAMES, PROJECT


class UnfitError(Exception):
    """A plugin is no plugin of the command line; its text says why, without the plugin's name."""


def fit(manager: pluggy.PluginManager, loaded: Any) -> Any:
    """The object to register: *loaded* itself, or an instance of it where it is a class.

    Raises:
        UnfitError: It implements no hook, one that does not exist, or a wrapper around the others.
    """
    thing = loaded() if inspect.isclass(loaded) else loaded
    found = 0
    for attribute in dir(thing):
        options = manager.parse_hookimpl_opts(thing, attribute)
        if options is None:
            continue
        found += 1
        name = options.get("specname") or attribute
        if name not in NAMES and not options.get("optionalhook"):
            raise UnfitError(f"it implements the hook {name!r}, which does not exist; {_meant(name)}")
        if options.get("wrapper") or options.get("hookwrapper"):
            raise UnfitError(
                f"it wraps the hook {name!r}, but what one plugin says no other changes: implement it without wrapper="
            )
    if not found:
        raise UnfitError("it implements no hook: mark its functions with `hookimpl` of agent_express_cli")
    return thing


def implemented(thing: Any) -> list[str]:
    """The hooks that *thing*, which fits, implements, in the order of `NAMES`."""
    manager = pluggy.PluginManager(PROJECT)
    having = ((attribute, manager.parse_hookimpl_opts(thing, attribute)) for attribute in dir(thing))
    found = {options.get("specname") or attribute for attribute, options in having if options is not None}
    return [name for name in NAMES if name in found]


def _meant(name: str) -> str:
    near = difflib.get_close_matches(name, NAMES, 1)
    return f"was {near[0]!r} meant?" if near else f"there are: {', '.join(NAMES)}"


def one_line(error: BaseException) -> str:
    """*error* in one line; what pluggy says of arguments takes three."""
    told = " ".join(str(error).split())
    if isinstance(error, UnfitError | pluggy.PluginValidationError):
        return told
    return f"{type(error).__name__}: {told}".rstrip(": ")
