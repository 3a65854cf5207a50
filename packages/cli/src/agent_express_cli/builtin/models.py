"""Models of installed providers, "openai:gpt-5", and of the project's own code, "shop.models:router"."""

from __future__ import annotations

import inspect
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from ..choose import PROVIDERS
from ..exits import CommandError
from ..hookspecs import hookimpl
from ..local import a, find_modules_in, is_dotted

if TYPE_CHECKING:
    from agent_express.models import Model


@hookimpl(trylast=True)
def resolve_model(name: str) -> Model:
    """Make the model: by its provider where one of that name is installed, else from the project's own code.

    Raises:
        UseError: There is neither.
        CommandError: The code holds no model.
    """
    from agent_express.models import resolve_model as resolve

    return _own(name) if _is_own(name) else resolve(name)


def _is_own(name: str) -> bool:
    """Whether it is "module:attribute". A provider goes before a module of its name, such as "openai"."""
    from agent_express.registry import registry

    module, colon, attribute = name.partition(":")
    if not colon or not is_dotted(module) or not is_dotted(attribute):
        return False
    if module in {each.name for each in PROVIDERS} | {each.name for each in registry().plugins("models")}:
        return False
    find_modules_in(Path.cwd())
    try:
        return find_spec(module.partition(".")[0]) is not None
    except (ImportError, ValueError):
        return False


def _own(name: str) -> Model:
    from agent_express.models import Model
    from agent_express.settings import import_attr

    found: Any = import_attr(name)
    if inspect.isclass(found) or not isinstance(found, Model):
        if not callable(found):
            raise CommandError(f"--model {name} is {a(found)}, expected a model, or a function that makes one")
        found = found()
    if not isinstance(found, Model):
        raise CommandError(f"--model {name} made {a(found)}, expected a model: an object with name and stream(request)")
    return cast("Model", found)
