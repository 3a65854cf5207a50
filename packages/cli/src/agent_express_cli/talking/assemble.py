"""The agent that is asked, from the options: its own code, a stack file or a bare one, its model, its limits."""

from __future__ import annotations

import difflib
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from agent_express import Agent, App
from agent_express.registry import registry

from ..exits import CommandError
from ..hosting.host import Host
from ..hosting.notes import StateNotes
from .choose import choose
from .options import Options

if TYPE_CHECKING:
    from agent_express.stack import Stack

DEFAULT = "agent.toml"
"""The stack file that is taken where it lies in the current folder and nobody names another."""


@dataclass(frozen=True, slots=True)
class Assembled:
    """Who is asked.

    Attributes:
        agent: The agent.
        whole: What is opened for it: itself, or the App it is mounted in.
    """

    agent: Agent
    whole: Agent | App


def assemble(options: Options, note: Callable[[str], None]) -> Assembled:
    """Make the agent.

    A stack keeps the model it names, unless `--model` names another; a bare agent gets the one that `choose` finds.

    Args:
        options: What was asked for.
        note: Told what the user should know: which stack and model were taken, which plugins are left out.

    Raises:
        CommandError: The stack cannot be loaded, or a limit is none.
        UseError: There is no such model, or its package is missing.
    """
    host = make_host(note, verbose=options.verbose)
    spec = _stack(options, note)
    made = _loaded(host, spec, options) if spec else _bare(host, options, note)
    agent = made.agent
    if spec and options.model is not None:
        agent.model = host.resolve_model(options.model)
    if options.system is not None:
        agent.instructions = options.system
    _limit(agent, options)
    return made


def make_host(note: Callable[[str], None], *, verbose: bool = False) -> Host:
    """The plugins of the command line, as they are installed; with *verbose* each change of a plugin is noted."""
    host = Host(registry(), note)
    if verbose:
        host.register(StateNotes(note), "agent-express-cli:notes")
    return host


def _stack(options: Options, note: Callable[[str], None]) -> str:
    """What to load; "" for a bare agent."""
    if options.stack is not None:
        return options.stack
    if Path(DEFAULT).is_file():
        note(f"the agent is that of {DEFAULT}, which lies here; --stack names another")
        return DEFAULT
    for given, option in ((options.profile, "--profile"), (options.agent, "--agent"), (options.locked, "--locked")):
        if given:
            raise CommandError(f"{option} is for a stack, and there is none: name one with --stack, or write {DEFAULT}")
    return ""


def _bare(host: Host, options: Options, note: Callable[[str], None]) -> Assembled:
    choice = choose(options.model, os.environ, {each.name for each in host.registry.plugins("models") if each.usable})
    if choice.note:
        note(choice.note)
    agent = Agent(host.resolve_model(choice.model))
    return Assembled(agent, agent)


def _loaded(host: Host, spec: str, options: Options) -> Assembled:
    loaded = host.load_stack(spec, profile=options.profile or "", locked=options.locked)
    match loaded:
        case Agent():
            return Assembled(_only(loaded, spec, options), loaded)
        case App():
            return Assembled(_one_of(loaded.agents, spec, options), loaded)
        case _:
            return _of_stack(loaded, spec, options)


def _of_stack(stack: Stack, spec: str, options: Options) -> Assembled:
    agent = _one_of(stack.agents, spec, options)
    return Assembled(agent, stack.app or agent)


def _only(agent: Agent, spec: str, options: Options) -> Agent:
    if options.agent and options.agent != agent.name:
        raise CommandError(f"--agent {options.agent}: {spec} holds one agent alone, {agent.name!r}")
    return agent


def _one_of(agents: Mapping[str, Agent], spec: str, options: Options) -> Agent:
    """The agent that `--agent` names; the only one where it names none."""
    names = ", ".join(agents) or "none"
    if options.agent:
        if options.agent in agents:
            return agents[options.agent]
        near = difflib.get_close_matches(options.agent, agents, 1)
        hint = f"was {near[0]!r} meant?" if near else f"there are: {names}"
        raise CommandError(f"--agent {options.agent}: {spec} has no agent of that name; {hint}")
    if len(agents) != 1:
        raise CommandError(f"{spec} holds several agents, say which with --agent: {names}")
    return next(iter(agents.values()))


def _limit(agent: Agent, options: Options) -> None:
    if options.timeout is not None and not options.timeout > 0:
        raise CommandError(f"--timeout must be more than 0 seconds, got {options.timeout:g}")
    if options.max_steps is not None:
        agent.limits = agent.limits.replace(max_steps=options.max_steps)
    if options.timeout is not None:
        agent.limits = agent.limits.replace(timeout=options.timeout)
