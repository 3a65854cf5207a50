"""An agent of the user's own code: `--stack shop.agents:support`."""

from __future__ import annotations

import difflib
import importlib
import inspect
import traceback
from pathlib import Path
from types import ModuleType
from typing import Any

from agent_express import Agent, App, ExpressError

from ..exits import CommandError
from ..hosting.hookspecs import hookimpl
from ..local import a, find_modules_in, is_dotted


class PythonStacks:
    """Load agents of the project's own code, `--stack shop.agents:support`."""

    @hookimpl(trylast=True)
    def load_stack(self, path: str, profile: str, locked: bool) -> Agent | App | None:
        """Return the agent that *path* names, "module:attribute": an `Agent`, an `App`, or a function that makes one.

        Raises:
            CommandError: There is no such module or attribute, it is no agent, or its code failed.
        """
        if Path(path).is_file() and not path.endswith(".py"):
            return None
        name, _, attribute = path.partition(":")
        if not is_dotted(name) or not is_dotted(attribute) or name.endswith(".py"):
            raise CommandError(
                f"--stack {path}: write it as module:attribute, such as {_suggestion(path)}{_or_a_file(path)}"
            )
        if profile or locked:
            raise CommandError(
                f"{'--profile' if profile else '--locked'} is for stack files; {path} is code of your own"
            )
        find_modules_in(Path.cwd())
        return _agent(path, _attribute(path, _module(path, name), attribute))


def _or_a_file(path: str) -> str:
    """Where somebody meant a file of a kind that nobody loads."""
    return "; a stack file ends in .toml" if Path(path).suffix in (".yaml", ".yml", ".json", ".tml") else ""


def _suggestion(spec: str) -> str:
    """What was meant by "examples/demo.py:agent" or "examples.demo"."""
    path, _, attribute = spec.rpartition(":") if ":" in spec else (spec, "", "")
    dotted = path.replace("\\", "/").removesuffix(".py").strip("./").replace("/", ".")
    if not is_dotted(dotted):
        return "shop.agents:support"
    return f"{dotted}:{attribute if is_dotted(attribute) else 'agent'}"


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
    agents = [name for name, value in vars(module).items() if isinstance(value, Agent | App)]
    return f"its agents are: {', '.join(agents)}" if agents else "it holds no Agent: assign one to a name"


def _agent(spec: str, found: Any) -> Agent | App:
    if isinstance(found, Agent | App):
        return found
    if inspect.isclass(found) or not callable(found):
        raise CommandError(f"--stack {spec} is {a(found)}, expected an Agent or a function that makes one")
    try:
        made = found()
    except (Exception, SystemExit) as error:
        raise _failed(spec, f"calling {spec.partition(':')[2]}()", error) from error
    if inspect.iscoroutine(made):
        made.close()
        raise CommandError(f"--stack {spec} is async, expected a plain function: open nothing in it, the agent does")
    if not isinstance(made, Agent | App):
        raise CommandError(f"--stack {spec} returned {a(made)}, expected an Agent")
    return made


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
