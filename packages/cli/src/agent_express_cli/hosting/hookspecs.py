"""The hooks of the command line: what a plugin of the group "agent_express.hooks" may implement.

They are for what is rare, synchronous and said by many: never for what happens in a turn, which is middleware.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

import pluggy

if TYPE_CHECKING:
    import typer

    from agent_express import Agent, App
    from agent_express.models import Model
    from agent_express.plugins import Plugin
    from agent_express.registry import Registry
    from agent_express.secrets import Secrets
    from agent_express.stack import Models, Stack, StackProblem

    from .cases import Case
    from .checks import Check

PROJECT = "agent_express"

F = TypeVar("F")

hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)
"""Marks a function of a plugin as the implementation of the hook of its name.

A plugin is a module, an object, or a class that is made without arguments; its entry point names it:

    [project.entry-points."agent_express.hooks"]
    "acme.audit" = "acme_audit.hooks:Audit"

An implementation takes as many of the hook's parameters as it needs, by name. `@hookimpl(tryfirst=True)` and
`trylast=True` move it among the others. There are no wrappers: what one plugin says, no other changes.
"""


class Hooks:
    """The specifications. An implementation that raises is reported by its plugin's name and left out."""

    @hookspec
    def add_commands(self, app: typer.Typer) -> None:
        """Add commands to *app*, as `@app.command("audit")` does, or `app.add_typer(...)`.

        The manifest entry says which, so that `--help` lists them without importing the plugin:
        `"commands": [{"name": "audit", "summary": "Say who did what."}]`.
        """

    @hookspec(firstresult=True)
    def resolve_model(self, name: str, registry: Registry) -> Model | None:
        """Make the model called *name*; None where it is not yours.

        Raises:
            UseError: It is yours, and cannot be made: what is missing, and what to do.
        """

    @hookspec(firstresult=True)
    def resolve_secret(self, ref: str) -> str | None:
        """Look up the secret *ref*, "scheme:where"; None where the scheme is not yours.

        Raises:
            SecretError: The scheme is yours, and there is no such secret.
        """

    @hookspec(firstresult=True)
    def load_stack(
        self, path: str, profile: str, registry: Registry, secrets: Secrets, models: Models, locked: bool
    ) -> Agent | App | Stack | None:
        """Load what `--stack` names: a stack file, or the agent itself; None where it is of a kind that is not yours.

        Args:
            path: As the user wrote it; relative to the current folder where it is a file.
            profile: What `--profile` named; "" for none.
            registry: Where plugins are found and made.
            secrets: Turns references into secrets, by the hook `resolve_secret`.
            models: Makes models that no installed provider makes, by the hook `resolve_model`.
            locked: Whether what is installed must be what the lock says.

        Raises:
            UseError: It is yours, and cannot be loaded; a StackError where the file is at fault.
        """

    @hookspec
    def check_stack(self, stack: Stack) -> Sequence[StackProblem]:  # type: ignore[empty-body]
        """Say what is unwise in *stack*, which is loaded and whose order rules hold."""

    @hookspec
    def doctor(self, registry: Registry) -> Sequence[Check]:  # type: ignore[empty-body]
        """Look after what you need: a server that answers, a file that can be read, a licence."""

    @hookspec
    def plugin_state_changed(self, info: Plugin) -> None:
        """Take note that a plugin was loaded, or failed: *info* holds its new state and the reason."""

    @hookspec
    def conformance_cases(self, info: Plugin) -> Sequence[Case]:  # type: ignore[empty-body]
        """Name further forms in which the plugin *info* is to pass the conformance kit; of others' plugins, none."""


NAMES = tuple(name for name, value in vars(Hooks).items() if hasattr(value, f"{PROJECT}_spec"))
"""The hooks there are."""
