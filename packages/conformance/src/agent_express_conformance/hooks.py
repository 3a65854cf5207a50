"""The command `agent-express conformance NAME`, for the host of the command line."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pluggy import HookimplMarker

if TYPE_CHECKING:
    import typer

hookimpl = HookimplMarker("agent_express")

FAILED = 1
"""The exit code where a check has failed; where nothing can be checked, the host says why and ends with 2."""


def names(ctx: Any, incomplete: str) -> list[str]:
    """The plugins of the chosen kind that may be used and begin so, for a shell; none of them is imported.

    Args:
        ctx: What is typed before, typer's `Context`.
        incomplete: What is typed so far.
    """
    from agent_express.errors import PluginError
    from agent_express.registry import registry

    try:
        plugins = registry().plugins(ctx.params.get("kind") or "middleware")
    except PluginError:
        return []
    return sorted({each.name for each in plugins if each.usable and each.name.startswith(incomplete)})


def kinds(incomplete: str) -> list[str]:
    """The kinds that begin so, for a shell."""
    return [each for each in ("middleware", "models") if each.startswith(incomplete)]


class Commands:
    """Check an installed middleware or provider: `agent-express conformance NAME`."""

    @hookimpl
    def add_commands(self, app: typer.Typer) -> None:
        """Add `conformance` to *app*."""
        import typer  # the host has it

        @app.command("conformance")
        def conformance(
            name: str = typer.Argument(
                metavar="NAME",
                help="The plugin, guards.cost-cap or distribution:guards.cost-cap.",
                autocompletion=names,
            ),
            kind: str = typer.Option(
                "middleware", help="Its kind: middleware, or models for a provider.", autocompletion=kinds
            ),
            as_json: bool = typer.Option(False, "--json", help="Print the result as JSON."),  # noqa: FBT003
            report: Path | None = typer.Option(None, metavar="FILE", help="Write the result as JSON."),  # noqa: B008
            badge: Path | None = typer.Option(  # noqa: B008
                None, metavar="FILE", help="Write a badge: .svg a picture, .json what a drawing service reads."
            ),
        ) -> None:
            """Check that an installed middleware keeps what core and its manifest promise.

            Each check is one line; where it failed, a sentence says what to do. Exit code: 0 all passed or exempt,
            1 a check failed, a module that cannot be imported included, 2 nothing was checked: the plugin is unknown,
            may not be used, or names what is not there, or a file cannot be written.
            """
            code = check(name, kind, as_json=as_json, report=report, badge=badge)
            if code:
                raise typer.Exit(code)


def check(name: str, kind: str, *, as_json: bool, report: Path | None, badge: Path | None) -> int:
    """Run the kit, say how it went, and return the exit code.

    Raises:
        UseError: Nothing can be checked, or a file cannot be written; the host tells it.
        ExpressError: There is no room for the output.
    """
    from .badge import write_badge, write_report
    from .files import PIPE_CLOSED, ReaderGone, badge_fits, say, writable
    from .report import end, line
    from .run import run_conformance

    badge_fits(badge, report)
    writable("--report", report)
    writable("--badge", badge)
    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    _utf8(sys.stdout)

    def told(result: Any) -> None:
        if not as_json:
            say(line(result, colour=colour))

    try:
        found = run_conformance(name, kind=kind, told=told)
        if report is not None:
            write_report(found, report)
        if badge is not None:
            write_badge(found, badge)
        say(json.dumps(found.to_json(), ensure_ascii=False, indent=2) if as_json else end(found, colour=colour))
    except ReaderGone:
        return PIPE_CLOSED
    return 0 if found.passed else FAILED


def _utf8(stream: Any) -> None:
    """Let a console of another encoding show what it can, in place of an error."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")
