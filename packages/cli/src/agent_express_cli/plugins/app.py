"""The commands `plugins list`, `show`, `schema`, `doctor` and `manifest`, as typer shows them."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, TypeAlias

import typer

from ..scaffold import package_command
from ..talking.options import Debug

ABOUT = "See what is installed, how it is set up, and whether it works."

EPILOG = """\b
Examples:
  agent-express plugins list
  agent-express plugins show guards.cost-cap
  agent-express plugins schema > agent.schema.json
  agent-express plugins doctor
"""


class Group(StrEnum):
    """What a plugin is for."""

    middleware = "middleware"
    models = "models"
    stores = "stores"
    bundles = "bundles"
    adapters = "adapters"
    skills = "skills"
    hooks = "hooks"


class State(StrEnum):
    """Where a plugin stands."""

    available = "available"
    loaded = "loaded"
    blocked = "blocked"
    incompatible = "incompatible"
    ambiguous = "ambiguous"
    failed = "failed"


def names(incomplete: str) -> list[str]:
    """The names of plugins that *incomplete* may become, for a shell."""
    from ..hosting.peek import published

    return sorted({each.name for each in published() if each.name.startswith(incomplete)})


Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Write JSON, one object per line.")]
Name: TypeAlias = Annotated[
    str,
    typer.Argument(metavar="NAME", autocompletion=names, help="Its name, or distribution:name.", show_default=False),
]
OneGroup: TypeAlias = Annotated[
    Group | None, typer.Option("--group", "-g", help="Only plugins of this group.", show_choices=True)
]


def add_to(app: typer.Typer) -> None:
    """Add the commands to *app*."""
    plugins = typer.Typer(help=ABOUT, epilog=EPILOG, no_args_is_help=True, rich_markup_mode=None)
    for add in (_list, _show, _schema, _doctor, _manifest):
        add(plugins)
    package_command.add_to(plugins)
    app.add_typer(plugins, name="plugins")


def _list(app: typer.Typer) -> None:
    @app.command("list")
    def list_(
        group: OneGroup = None,
        state: Annotated[State | None, typer.Option("--state", "-s", help="Only plugins in this state.")] = None,
        all_: Annotated[
            bool, typer.Option("--all", "-a", help="Also the plugins of the command line, group hooks.")
        ] = False,
        load: Annotated[
            bool, typer.Option("--load", "-l", help="Import each, to see which fail; without it nothing is imported.")
        ] = False,
        json: Json = False,
        debug: Debug = False,
    ) -> int:
        """List the installed plugins: name, group, distribution, version, state, summary.

        Nothing is imported for it, unless you ask: by --load, or for those in the state failed or loaded.
        """
        from ..page import perform
        from .list import show_list

        return perform(
            lambda page: show_list(page, group and group.value, state and state.value, everything=all_, load=load),
            as_json=json,
            debug=debug,
        )


def _show(app: typer.Typer) -> None:
    @app.command("show")
    def show(name: Name, group: OneGroup = None, json: Json = False, debug: Debug = False) -> int:
        """Show all that is known of a plugin: what it does, its settings, where it comes from, how to use it."""
        from ..page import perform
        from .show import show_plugin

        return perform(lambda page: show_plugin(page, name, group and group.value), as_json=json, debug=debug)


def _schema(app: typer.Typer) -> None:
    @app.command("schema")
    def schema(
        name: Annotated[
            str | None,
            typer.Argument(
                metavar="[NAME]",
                autocompletion=names,
                help="A plugin; without one the schema is that of stack files.",
                show_default=False,
            ),
        ] = None,
        group: OneGroup = None,
        json: Json = False,
        debug: Debug = False,
    ) -> int:
        """Print the JSON Schema of a plugin's settings, or of stack files with all that is installed.

        An editor that knows it completes and checks agent.toml.
        """
        from ..page import perform
        from .schema import show_schema

        return perform(lambda page: show_schema(page, name, group and group.value), as_json=json, debug=debug)


def _doctor(app: typer.Typer) -> None:
    @app.command("doctor")
    def doctor(
        all_: Annotated[bool, typer.Option("--all", "-a", help="Also show what is well.")] = False,
        details: Annotated[bool, typer.Option("--details", help="Show tracebacks of what is broken.")] = False,
        json: Json = False,
        debug: Debug = False,
    ) -> int:
        """Check the installation: versions, requirements, each plugin, keys, the policy.

        Each plugin is imported for it. The exit code is 1 where something cannot work.
        """
        from ..page import perform
        from .doctor import show_doctor

        return perform(lambda page: show_doctor(page, everything=all_, details=details), as_json=json, debug=debug)


def _manifest(app: typer.Typer) -> None:
    @app.command("manifest")
    def manifest(
        packages: Annotated[
            list[str],
            typer.Argument(metavar="PACKAGE...", help="A folder with a pyproject.toml, or an installed distribution."),
        ],
        check: Annotated[bool, typer.Option("--check", help="Write nothing; say what is not as in the code.")] = False,
        json: Json = False,
        debug: Debug = False,
    ) -> int:
        """Write agent_express.json, which says what the plugins of a package are, from the package's code.

        What only its author knows is kept: roles, permissions, environment, stability, examples, exemptions.
        """
        from ..page import perform
        from .manifest import write_manifests

        return perform(lambda page: write_manifests(page, packages, check=check), as_json=json, debug=debug)
