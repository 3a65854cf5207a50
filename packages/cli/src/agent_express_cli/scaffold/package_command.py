"""The command `plugins new`, as typer shows it."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from ..talking.options import Debug

EPILOG = """\b
Examples:
  agent-express plugins new my-guard
  agent-express plugins new acme.my-guard --author "Ada <ada@example.org>"
  agent-express plugins new my-model --kind provider --into packages
"""


class Offers(StrEnum):
    """What the new package offers."""

    middleware = "middleware"
    provider = "provider"
    bundle = "bundle"
    store = "store"


def add_to(plugins: typer.Typer) -> None:
    """Add the command to the group `plugins`."""

    @plugins.command("new", epilog=EPILOG)
    def new(
        name: Annotated[
            str, typer.Argument(metavar="NAME", help="Such as my-guard, or area.my-guard.", show_default=False)
        ],
        kind: Annotated[Offers, typer.Option("--kind", "-k", help="What the package offers.")] = Offers.middleware,
        into: Annotated[
            Path, typer.Option("--into", metavar="FOLDER", help="Where the package's folder is made.")
        ] = Path(),
        author: Annotated[
            str, typer.Option("--author", metavar="NAME", help="Who writes it: a name, or name <address>.")
        ] = "",
        force: Annotated[bool, typer.Option("--force", help="Replace files that are there.")] = False,
        json: Annotated[bool, typer.Option("--json", help="Write a JSON object.")] = False,
        debug: Debug = False,
    ) -> int:
        """Write a package of your own: a plugin that works, its manifest, tests, README and CI file."""
        from ..exits import CommandError
        from ..page import Page, perform
        from .kinds import Kind
        from .make import make_package
        from .show import show_made

        def work(page: Page) -> None:
            if kind is Offers.store:
                raise CommandError(
                    "--kind store: the package that stores are written against, agent-express-checkpoint, is not out "
                    "yet; there are middleware, provider and bundle"
                )
            show_made(page, make_package(name, Kind(kind.value), into, author, force=force))

        return perform(work, as_json=json, debug=debug)
