"""The command `new`, as typer shows it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..talking.options import Debug

EPILOG = """\b
Examples:
  agent-express new my-shop
  cd my-shop
  agent-express run "Look up the opening hours of tomorrow"
A package with a plugin for others is made by: agent-express plugins new
"""


def add_to(app: typer.Typer) -> None:
    """Add the command to *app*."""

    @app.command("new", epilog=EPILOG)
    def new(
        name: Annotated[str, typer.Argument(metavar="NAME", help="Such as my-shop.", show_default=False)],
        into: Annotated[
            Path, typer.Option("--into", metavar="FOLDER", help="Where the project's folder is made.")
        ] = Path(),
        force: Annotated[bool, typer.Option("--force", help="Replace files that are there.")] = False,
        json: Annotated[bool, typer.Option("--json", help="Write a JSON object.")] = False,
        debug: Debug = False,
    ) -> int:
        """Write a small project that runs offline: a stack file, tools, a middleware, tests."""
        from ..page import Page, perform
        from .make import make_project
        from .show import show_made

        def work(page: Page) -> None:
            show_made(page, make_project(name, into, force=force))

        return perform(work, as_json=json, debug=debug)
