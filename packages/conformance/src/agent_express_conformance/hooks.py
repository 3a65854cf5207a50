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

FAILED, NOT_FOUND = 1, 2
"""Exit codes: a check has failed; nothing could be checked."""


class Commands:
    """Check an installed middleware or provider: `agent-express conformance NAME`."""

    @hookimpl
    def add_commands(self, app: typer.Typer) -> None:
        """Add `conformance` to *app*."""
        import typer  # the host has it

        @app.command("conformance")
        def conformance(
            name: str = typer.Argument(
                metavar="NAME", help="The plugin, guards.cost-cap or distribution:guards.cost-cap."
            ),
            kind: str = typer.Option("middleware", help="Its kind: middleware, or models for a provider."),
            as_json: bool = typer.Option(False, "--json", help="Print the result as JSON."),  # noqa: FBT003
            report: Path | None = typer.Option(None, metavar="FILE", help="Write the result as JSON."),  # noqa: B008
            badge: Path | None = typer.Option(  # noqa: B008
                None, metavar="FILE", help="Write a badge: .svg a picture, .json what a drawing service reads."
            ),
        ) -> None:
            """Check that an installed middleware keeps what core and its manifest promise.

            Each check is one line; where it failed, a sentence says what to do. Exit code: 0 all passed or exempt,
            1 a check failed, 2 there is nothing of that name that could be checked.
            """
            code = check(name, kind, as_json=as_json, report=report, badge=badge)
            if code:
                raise typer.Exit(code)


def check(name: str, kind: str, *, as_json: bool, report: Path | None, badge: Path | None) -> int:
    """Run the kit, say how it went, and return the exit code."""
    from agent_express.errors import PluginError

    from .badge import write_badge, write_report
    from .report import end, line
    from .run import run_conformance

    colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
    _utf8(sys.stdout)

    def told(result: Any) -> None:
        if not as_json:
            _say(line(result, colour=colour))

    try:
        found = run_conformance(name, kind=kind, told=told)
    except PluginError as error:
        sys.stderr.write(f"Error: {error}\n")
        return NOT_FOUND
    if report is not None:
        write_report(found, report)
    if badge is not None:
        write_badge(found, badge)
    _say(json.dumps(found.to_json(), ensure_ascii=False, indent=2) if as_json else end(found, colour=colour))
    return 0 if found.passed else FAILED


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _utf8(stream: Any) -> None:
    """Let a console of another encoding show what it can, in place of an error."""
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")
