"""An agent of the user's own code: `--stack shop.agents:support`."""

from __future__ import annotations

import difflib
import importlib
import inspect
import sys
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from agent_express import Agent, ExpressError

from .exits import CommandError


def load_stack(spec: str, folder: Path) -> Agent:
    """Return the agent that *spec* names; modules are found in *folder*, too.

    Args:
        spec: "module:attribute"; the attribute is an `Agent`, or a function without arguments that makes one.
        folder: Where the user is.

    Raises:
        CommandError: There is no such module or attribute, it is no agent, or its code failed.
    """
    name, _, attribute = spec.partition(":")
    if not _is_dotted(name) or not _is_dotted(attribute) or name.endswith(".py"):
        raise CommandError(f"--stack {spec}: write it as module:attribute, such as {_suggestion(spec)}")
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    return _agent(spec, _attribute(spec, _module(spec, name), attribute))


def _is_dotted(name: str) -> bool:
    return bool(name) and all(part.isidentifier() for part in name.split("."))


def _suggestion(spec: str) -> str:
    """What was meant by "examples/demo.py:agent" or "examples.demo"."""
    path, _, attribute = spec.rpartition(":") if ":" in spec else (spec, "", "")
    dotted = path.replace("\\", "/").removesuffix(".py").strip("./").replace("/", ".")
    if not _is_dotted(dotted):
        return "shop.agents:support"
    return f"{dotted}:{attribute if _is_dotted(attribute) else 'agent'}"


def _module(spec: str, name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        missing = error.name or ""
        if name == missing or name.startswith(f"{missing}."):
            raise CommandError(
                f"--stack {spec}: there is no module {missing!r}; it is looked for in the current folder and among the "
                "installed packages, by its dotted name: examples.demo:agent"
            ) from error
        raise CommandError(
            f"--stack {spec}: {name} imports {missing!r}, which is not installed here: pip install it"
        ) from error
    except (Exception, SystemExit) as error:
        raise _failed(spec, f"importing {name}", error) from error


def _attribute(spec: str, module: ModuleType, path: str) -> Any:
    found: Any = module
    for part in path.split("."):
        try:
            found = getattr(found, part)
        except AttributeError:
            raise CommandError(f"--stack {spec}: {module.__name__} has no {path!r}; {_nearest(module, path)}") from None
    return found


def _nearest(module: ModuleType, path: str) -> str:
    near = difflib.get_close_matches(path, [name for name in vars(module) if not name.startswith("_")], 1)
    if near:
        return f"was {near[0]!r} meant?"
    agents = [name for name, value in vars(module).items() if isinstance(value, Agent)]
    return f"its agents are: {', '.join(agents)}" if agents else "it holds no Agent: assign one to a name"


def _agent(spec: str, found: Any) -> Agent:
    if isinstance(found, Agent):
        return found
    if inspect.isclass(found) or not callable(found):
        raise CommandError(f"--stack {spec} is {_kind(found)}, expected an Agent or a function that makes one")
    try:
        made = found()
    except (Exception, SystemExit) as error:
        raise _failed(spec, f"calling {spec.partition(':')[2]}()", error) from error
    if inspect.iscoroutine(made):
        made.close()
        raise CommandError(f"--stack {spec} is async, expected a plain function: open nothing in it, the agent does")
    if not isinstance(made, Agent):
        raise CommandError(f"--stack {spec} returned {_kind(made)}, expected an Agent")
    return made


def _kind(value: Any) -> str:
    if inspect.isclass(value):
        return f"the class {value.__name__}"
    if value is None:
        return "None"
    name = type(value).__name__
    return f"{'an' if name[0].lower() in 'aeiou' else 'a'} {name}"


def _failed(spec: str, doing: str, error: BaseException) -> CommandError:
    """Say what the user's code raised: what is wrong with an agent as it is, anything else with its place."""
    if isinstance(error, ExpressError):
        return CommandError(f"--stack {spec}: {error}")
    if isinstance(error, SyntaxError):
        place = f"{Path(error.filename or '').name}, line {error.lineno}"
    else:
        last = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{Path(last.filename).name}, line {last.lineno}"
    why = error.msg if isinstance(error, SyntaxError) else str(error)
    told = f"{type(error).__name__}: {why}".rstrip(": ")
    return CommandError(f"--stack {spec}: {doing} failed at {place}: {told}; --debug shows the traceback")
