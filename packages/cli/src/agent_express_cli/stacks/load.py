"""The stack that a command of `stack` is about: found, loaded without its secrets, and looked at."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from agent_express import Agent, App
from agent_express.errors import PluginError
from agent_express.secrets import resolve_secret

from ..exits import CommandError
from ..hosting.hookspecs import hookimpl
from ..hosting.host import Host
from ..talking.assemble import make_host
from .view import StackView
from .views import view_of

if TYPE_CHECKING:
    from agent_express.stack import Stack

DEFAULTS = ("agent.toml", "pyproject.toml")
TABLE = "agent-express"


class NoSecrets:
    """Answers for every secret, so that a stack can be looked at where they are not at hand.

    Attributes:
        asked: The references, "env:NAME".
    """

    def __init__(self) -> None:
        self.asked: list[str] = []

    @hookimpl(tryfirst=True)
    def resolve_secret(self, ref: str) -> str:
        """Take note that *ref* is wanted."""
        self.asked.append(ref)
        return "not-read"

    def missing(self, *, others: bool) -> list[str]:
        """Why a secret that is wanted cannot be had, as far as that shows without asking anybody's store.

        Args:
            others: Whether plugins that are not of the command line itself know secrets: of which kinds, only they say.
        """
        found: list[str] = []
        for ref in dict.fromkeys(self.asked):
            scheme = ref.partition(":")[0]
            try:
                known = resolve_secret(ref) is not None or others
            except PluginError as error:
                found.append(str(error))
                continue
            if scheme == "keyring" and find_spec("keyring") is None:
                found.append("keyring is not installed: pip install keyring")
            elif scheme != "keyring" and not known:
                found.append(f"no plugin knows secrets of the kind {scheme!r}")
        return found


@dataclass(frozen=True, slots=True)
class Loaded:
    """A stack that was loaded.

    Attributes:
        spec: What it is called.
        view: What is shown of it.
        stack: The stack file; None where it is Python code.
        host: The plugins of the command line.
        secrets: Which secrets it wants.
    """

    spec: str
    view: StackView
    stack: Stack | None
    host: Host
    secrets: NoSecrets = field(default_factory=NoSecrets)


def load(spec: str | None, profile: str, note: Callable[[str], None]) -> Loaded:
    """Load what *spec* names, or what lies in the current folder.

    Args:
        spec: A stack file or "module:attribute"; None for the default.
        profile: Which profile to apply; "" for none.
        note: Told of plugins that are left out.

    Raises:
        CommandError: There is no such stack.
        UseError: It cannot be put together; a `StackError` says all that is wrong with its file.
    """
    name = spec or default()
    host, secrets = make_host(note), NoSecrets()
    host.register(secrets, "agent-express-cli:no-secrets")
    loaded = host.load_stack(name, profile=profile)
    view = view_of(loaded, name, host.registry, profile)
    return Loaded(name, view, None if isinstance(loaded, Agent | App) else loaded, host, secrets)


def load_file(spec: str | None, profile: str, note: Callable[[str], None]) -> tuple[Loaded, Stack]:
    """Load a stack file.

    Raises:
        CommandError: It is Python code, or there is no such file.
        UseError: See `load`.
    """
    loaded = load(spec, profile, note)
    if loaded.stack is None:
        raise CommandError(f"{loaded.spec} is code of your own, and a lock is for stack files: write one, agent.toml")
    return loaded, loaded.stack


def default() -> str:
    """The stack file of the current folder.

    Raises:
        CommandError: There is none.
    """
    own, project = DEFAULTS
    if Path(own).is_file():
        return own
    if Path(project).is_file() and _has_table(Path(project)):
        return project
    raise CommandError(
        f"there is no stack here: no {own}, and no [tool.{TABLE}] in a {project}; name one, such as "
        "path/agent.toml or shop.agents:support"
    )


def _has_table(file: Path) -> bool:
    try:
        return TABLE in tomllib.loads(file.read_text(encoding="utf-8")).get("tool", {})
    except (OSError, ValueError):
        return True  # loading it says what is wrong


def known_agent(view: StackView, agent: str) -> str:
    """*agent*, if the stack has it.

    Raises:
        CommandError: It has not.
    """
    names = [each.name for each in view.agents]
    if agent and agent not in names:
        near = difflib.get_close_matches(agent, names, 1)
        hint = f"was {near[0]!r} meant?" if near else f"there are: {', '.join(names)}"
        raise CommandError(f"--agent {agent}: {view.path} has no agent of that name; {hint}")
    return agent
