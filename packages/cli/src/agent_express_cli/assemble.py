"""The agent that is asked, from the options: its own code or a bare one, its model, its limits."""

from __future__ import annotations

import os
from collections.abc import Callable
from importlib.metadata import entry_points
from pathlib import Path

from agent_express import Agent
from agent_express.models import resolve_model

from .choose import choose
from .exits import CommandError
from .options import Options
from .stack import load_stack


def assemble(options: Options, note: Callable[[str], None]) -> Agent:
    """Make the agent.

    A stack keeps the model it names, unless `--model` names another; a bare agent gets the one that `choose` finds.

    Args:
        options: What was asked for.
        note: Told what the user should know of the model.

    Raises:
        CommandError: The stack cannot be loaded, or a limit is none.
        UseError: There is no such model, or its package is missing.
    """
    if options.stack is not None:
        agent = load_stack(options.stack, Path.cwd())
        if options.model is not None:
            agent.model = resolve_model(options.model)
    else:
        choice = choose(options.model, os.environ, _providers())
        if choice.note:
            note(choice.note)
        agent = Agent(choice.model)
    if options.system is not None:
        agent.instructions = options.system
    _limit(agent, options)
    return agent


def _providers() -> set[str]:
    return {entry.name for entry in entry_points(group="agent_express.models")}


def _limit(agent: Agent, options: Options) -> None:
    if options.timeout is not None and not options.timeout > 0:
        raise CommandError(f"--timeout must be more than 0 seconds, got {options.timeout:g}")
    if options.max_steps is not None:
        agent.limits = agent.limits.replace(max_steps=options.max_steps)
    if options.timeout is not None:
        agent.limits = agent.limits.replace(timeout=options.timeout)
