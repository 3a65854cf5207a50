"""The commands of plugins: imported when one is called, and answered for by the plugin's name."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

import typer

from agent_express import ExpressError
from agent_express.plugins import Plugin
from agent_express.registry import registry

from ..exits import CommandError, Exit
from .host import Host
from .isolation import one_line
from .peek import Declared, declared_commands, normal, published


def declared_command(declared: Declared) -> Any:
    """Import the plugin that declares a command, and take the command from it.

    Raises:
        CommandError: Two plugins declare it, the plugin cannot be imported, or does not add it.
        PluginError: The plugin may not be used.
    """
    others = [each.plugin for each in declared_commands(published()) if each.name == declared.name]
    if len(others) > 1:
        raise CommandError(
            f"{' and '.join(others)} have both a command {declared.name!r}: block one, AGENT_EXPRESS_BLOCK={others[-1]}"
        )
    installed = registry()
    plugin = installed.find(declared.plugin, "hooks")
    installed.load(plugin)
    host = Host(installed)
    found = commands_of(host, plugin.qualified).get(declared.name)
    if found is None:
        why = (
            "; ".join(map(str, host.problems)) or "its manifest says it has it, but add_commands() adds no such command"
        )
        raise CommandError(f"no command {declared.name!r} of plugin {declared.plugin}: {why}")
    return found


def undeclared_command(name: str) -> Any | None:
    """Look for a command among the plugins whose manifest declares none; broken ones are noted on stderr."""
    installed = registry()
    host = Host(installed, _note)
    declaring = {each.plugin for each in declared_commands(published())}
    known = {each.qualified for each in installed.plugins("hooks") if peeked(each) in declaring}
    for plugin in host.implementers("add_commands", without=known):
        found = commands_of(host, plugin).get(name)
        if found is not None:
            return found
    return None


def peeked(plugin: Plugin) -> str:
    """*plugin* as `peek` names it."""
    return f"{normal(plugin.distribution)}:{plugin.name}"


def _note(problem: str) -> None:
    sys.stderr.write(f"note: {problem}\n")


def commands_of(host: Host, plugin: str) -> dict[str, Any]:
    """The commands that *plugin* adds, by name; none where it fails, which the host then has among its problems."""
    app = typer.Typer(add_completion=False, rich_markup_mode=None, pretty_exceptions_enable=False)
    app.callback()(_nothing)  # so that one command is a group, too
    host.add_commands(app, plugin)
    try:
        commands: dict[str, Any] = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    except Exception as error:  # typer looks at the functions only now
        host.leave_out(plugin, f"add_commands added what is no command: {one_line(error)}", error)
        return {}
    for command in commands.values():
        _answer_for(command, plugin)
    return commands


def _nothing() -> None:
    """Hold for all commands: nothing."""


def _answer_for(command: Any, plugin: str) -> None:
    """Let what *command* raises be told as the plugin's, in one sentence."""
    for inner in getattr(command, "commands", {}).values():
        _answer_for(inner, plugin)
    if command.callback is not None:
        command.callback = _told(command.callback, plugin)


def _told(callback: Callable[..., Any], plugin: str) -> Callable[..., Any]:
    @functools.wraps(callback)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return callback(*args, **kwargs)
        except (CommandError, ExpressError, typer.Abort):
            raise
        except Exception as error:
            if hasattr(error, "exit_code"):  # what typer ends a command with
                raise
            raise CommandError(f"plugin {plugin}: its command failed: {one_line(error)}", Exit.FAILED) from error

    return call
