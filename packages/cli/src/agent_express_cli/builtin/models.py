"""Models of installed providers, "openai:gpt-5", and of the project's own code, "shop.models:router"."""

from __future__ import annotations

import inspect
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from agent_express.errors import BrokenPluginError, UnknownModelError, UnknownPluginError
from agent_express.models import Model, make_model
from agent_express.references import import_attr, told
from agent_express.registry import Registry

from ..exits import CommandError
from ..hosting.hookspecs import hookimpl
from ..local import a, find_modules_in, is_dotted
from ..talking.choose import PROVIDERS


class Models:
    """Make models of installed providers, "openai:gpt-5", and of the project's own code, "shop.models:router"."""

    @hookimpl(trylast=True)
    def resolve_model(self, name: str, registry: Registry) -> Model:
        """Make the model: by its provider where one of that name is installed, else from the project's own code.

        Raises:
            UseError: There is neither.
            CommandError: The code holds no model.
        """
        if not _is_own(name, registry):
            return make_model(registry, name)
        try:
            found = import_attr(name)
        except UnknownPluginError as error:  # a module of the provider's name may be there by chance
            raise UnknownModelError(f"{error}; nor is a model provider {name.partition(':')[0]!r} installed") from error
        return _made(name, found)


def _is_own(name: str, registry: Registry) -> bool:
    """Whether it is "module:attribute". A provider goes before a module of its name, such as "openai"."""
    module, colon, attribute = name.partition(":")
    if not colon or not is_dotted(module) or not is_dotted(attribute):
        return False
    if module in {each.name for each in PROVIDERS} | {each.name for each in registry.plugins("models")}:
        return False
    find_modules_in(Path.cwd())
    try:
        return find_spec(module.partition(".")[0]) is not None
    except (ImportError, ValueError):
        return False


def _made(name: str, found: Any) -> Model:
    """*found*, or what it makes.

    Raises:
        BrokenPluginError: The function failed.
        CommandError: It is no model, nor makes one.
    """
    if inspect.isclass(found) or not isinstance(found, Model):
        if not callable(found):
            raise CommandError(f"--model {name} is {a(found)}, expected a model, or a function that makes one")
        try:
            found = found()
        except (Exception, SystemExit) as error:
            attribute = name.partition(":")[2]
            raise BrokenPluginError(told(f"--model {name}", f"calling {attribute}()", error)) from error
    if not isinstance(found, Model):
        raise CommandError(f"--model {name} made {a(found)}, expected a model: an object with name and stream(request)")
    return found
