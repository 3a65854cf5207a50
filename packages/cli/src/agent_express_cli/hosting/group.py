"""The group of commands: those built in, and those of plugins, which are imported when one of them is called."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup

from .peek import Declared, declared_commands, published


class CommandGroup(TyperGroup):
    """Lists the commands that plugins declare in their manifests, without importing the plugins.

    A plugin that declares none is imported only where a command is called that nobody else has.
    """

    _is_listing = False

    def list_commands(self, ctx: typer.Context) -> list[str]:  # type: ignore[override]
        """The commands that are built in, then those that plugins declare."""
        return [*self.commands, *self._declared]

    def get_command(self, ctx: typer.Context, cmd_name: str) -> Any:  # type: ignore[override]
        """The command of that name; while commands are listed, of a plugin's command only what is listed."""
        if cmd_name in self.commands:
            return self.commands[cmd_name]
        declared = self._declared.get(cmd_name)
        if self._is_listing:
            return declared and TyperCommand(cmd_name, help=declared.summary, rich_markup_mode=None)
        from .plugin_commands import declared_command, undeclared_command

        return declared_command(declared) if declared else undeclared_command(cmd_name)

    def resolve_command(self, ctx: typer.Context, args: list[str]) -> Any:  # type: ignore[override]
        """Find the command; what is near to a name that is mistyped may be a plugin's."""
        try:
            return super().resolve_command(ctx, args)
        except Exception as error:
            _suggest(error, args[0], self.list_commands(ctx))
            raise

    def format_commands(self, ctx: typer.Context, formatter: Any) -> None:  # type: ignore[override]
        """List them, for --help."""
        with self._listing():
            super().format_commands(ctx, formatter)

    def shell_complete(self, ctx: typer.Context, incomplete: str) -> Any:  # type: ignore[override]
        """List them, for the completion of a shell."""
        with self._listing():
            return super().shell_complete(ctx, incomplete)

    @contextmanager
    def _listing(self) -> Generator[None]:
        self._is_listing = True
        try:
            yield
        finally:
            self._is_listing = False

    @cached_property
    def _declared(self) -> Mapping[str, Declared]:
        """By name; a command that is built in goes before, and of two plugins the first that is found is listed."""
        found: dict[str, Declared] = {}
        for each in declared_commands(published()):
            if each.name not in self.commands:
                found.setdefault(each.name, each)
        return found


def _suggest(error: Exception, name: str, known: list[str]) -> None:
    """Add what is near, where typer knew of the built-in commands alone and said nothing."""
    from difflib import get_close_matches

    message = getattr(error, "message", "")
    near = get_close_matches(name, known)
    if near and "Did you mean" not in message:
        error.message = f"{message.rstrip('.')}. Did you mean {', '.join(map(repr, near))}?"  # type: ignore[attr-defined]
