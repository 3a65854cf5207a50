"""From "module:attr" to the object, with every way in which that fails told in one sentence."""

from __future__ import annotations

import difflib
import importlib
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from .errors import BrokenPluginError, ExpressError, UnknownPluginError


def is_reference(text: str) -> bool:
    """Whether *text* is written "module:attr", both dotted names."""
    module, colon, attribute = text.partition(":")
    return bool(colon) and _is_dotted(module) and _is_dotted(attribute)


def import_attr(reference: str) -> Any:
    """Import what *reference*, "module:attr", names.

    Raises:
        UnknownPluginError: It is not written so, or there is no such module or attribute.
        BrokenPluginError: The module's code failed, `SystemExit` included; the cause is what it raised.
    """
    module, _, attribute = reference.partition(":")
    if not is_reference(reference):
        raise UnknownPluginError(f"{reference!r} is not written as module:attribute, such as shop.tools:refund")
    found: Any = _import(reference, module)
    for part in attribute.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            near = _near(part, found)
            hint = f"was {near!r} meant?" if near else "check the name"
            raise UnknownPluginError(f"{reference}: {module} has no {attribute!r}; {hint}") from None
        except (Exception, SystemExit) as error:  # a module may import what it offers when it is asked for it
            raise BrokenPluginError(told(reference, f"looking up {attribute!r}", error)) from error
    return found


def import_target(reference: str) -> Any:
    """Import what an entry point names: "module:attr", or a module as a whole.

    Raises:
        UnknownPluginError: See `import_attr`.
        BrokenPluginError: See `import_attr`.
    """
    return import_attr(reference) if ":" in reference else _import(reference, reference)


def _import(reference: str, module: str) -> ModuleType:
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name and (module == error.name or module.startswith(f"{error.name}.")):
            raise UnknownPluginError(f"{reference}: there is no module {error.name!r}; {_where_to_look()}") from None
        raise BrokenPluginError(told(reference, f"importing {module}", error)) from error
    except (Exception, SystemExit) as error:
        raise BrokenPluginError(told(reference, f"importing {module}", error)) from error


def told(who: str, doing: str, error: BaseException) -> str:
    """What the code of *who* raised: what is wrong with an agent as it is, anything else with its place."""
    if isinstance(error, ExpressError):
        return f"{who}: {error}"
    why = f"{type(error).__name__}: {error.msg if isinstance(error, SyntaxError) else error}".rstrip(": ")
    return f"{who}: {doing} failed at {_place(error)}: {why}"


def _place(error: BaseException) -> str:
    if isinstance(error, SyntaxError):
        return f"{Path(error.filename or 'unknown').name}, line {error.lineno}"
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if "importlib" not in frame.filename]
    last = (frames or traceback.extract_tb(error.__traceback__))[-1]
    return f"{Path(last.filename).name}, line {last.lineno}"


def _is_dotted(name: str) -> bool:
    return bool(name) and all(part.isidentifier() for part in name.split("."))


def _near(name: str, holder: Any) -> str:
    public = [each for each in dir(holder) if not each.startswith("_")]
    return next(iter(difflib.get_close_matches(name, public, 1)), "")


def _where_to_look() -> str:
    folders = [folder for folder in sys.path if folder and "site-packages" not in folder and Path(folder).is_dir()]
    return f"looked in the installed packages and in {folders[0]}" if folders else "looked in the installed packages"
