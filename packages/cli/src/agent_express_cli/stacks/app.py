"""The commands `stack show`, `check`, `lock` and `schema`, as typer shows them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from ..talking.options import Debug

ABOUT = "See what stands around an agent, check it, lock it."

EPILOG = """\b
FILE is a stack file, or module:attribute of your own code; without it agent.toml
of this folder is taken, else [tool.agent-express] of pyproject.toml.

\b
Examples:
  agent-express stack show
  agent-express stack show --svg onion.svg
  agent-express stack check --strict
  agent-express stack check --explain budget-outside-response-cache
  agent-express stack lock
"""

CHECK_EPILOG = """\b
A finding is an error (something gets past a guard, leaks, or cannot work), a
warning (it works, and costs more or tells less than it seems to) or a note.

\b
Exit codes:
  0   no errors; with --strict no warnings either
  1   errors, or warnings with --strict; also where the stack cannot be put together
  2   an option, or there is no such stack
"""

LOCK_EPILOG = """\b
Exit codes:
  0   written; with --check: all is as it was locked
  1   with --check: something has changed, or nothing is locked
  2   an option, or the stack cannot be put together
"""

Stack: TypeAlias = Annotated[
    str | None,
    typer.Argument(metavar="FILE", help="A stack file, or module:attribute.", show_default=False),
]
File: TypeAlias = Annotated[
    str | None, typer.Argument(metavar="FILE", help="A stack file such as agent.toml.", show_default=False)
]
Profile: TypeAlias = Annotated[
    str | None, typer.Option("--profile", metavar="NAME", help="Apply this profile of the stack file.")
]
Which: TypeAlias = Annotated[
    str | None, typer.Option("--agent", metavar="NAME", help="Only this agent, where there are several.")
]
Json: TypeAlias = Annotated[bool, typer.Option("--json", help="Write one JSON object.")]
Picture: TypeAlias = Path | None


def add_to(app: typer.Typer) -> None:
    """Add the commands to *app*."""
    stack = typer.Typer(help=ABOUT, epilog=EPILOG, no_args_is_help=True, rich_markup_mode=None)
    for add in (_show, _check, _lock, _schema):
        add(stack)
    app.add_typer(stack, name="stack")


def _show(app: typer.Typer) -> None:
    @app.command("show")
    def show(
        file: Stack = None,
        profile: Profile = None,
        agent: Which = None,
        svg: Annotated[
            Picture, typer.Option("--svg", metavar="FILE", help='Draw the onion; "-" is stdout.', show_default=False)
        ] = None,
        mermaid: Annotated[
            Picture, typer.Option("--mermaid", metavar="FILE", help="Draw it as a Mermaid flowchart.")
        ] = None,
        json: Json = False,
        debug: Debug = False,
    ) -> int:
        """Show the layers around an agent.

        For each hook from the outermost in: layer, package, version, streaming or not; then what each layer brings
        along: state, events, tools, order rules. No secret is read, and nothing is opened.
        """
        from ..page import perform
        from .show import show_stack

        return perform(
            lambda page: show_stack(page, file, profile or "", agent or "", svg, mermaid), as_json=json, debug=debug
        )


def _check(app: typer.Typer) -> None:
    @app.command("check", epilog=CHECK_EPILOG)
    def check(
        file: Stack = None,
        profile: Profile = None,
        strict: Annotated[bool, typer.Option("--strict", help="Let warnings fail, too.")] = False,
        explain: Annotated[
            str | None, typer.Option("--explain", metavar="RULE", help='Tell of a rule; "all" lists them.')
        ] = None,
        json: Json = False,
        debug: Debug = False,
    ) -> int:
        """Check order and house rules.

        What is wrong, why, and an order that would do. Also: what is not as it was locked, what is missing, what
        clashes, and which permissions the layers want.
        """
        from ..page import perform
        from .check import check_file, explain_rule

        if explain is not None:
            return perform(lambda page: explain_rule(page, explain), as_json=json, debug=debug)
        return perform(lambda page: check_file(page, file, profile or "", strict=strict), as_json=json, debug=debug)


def _lock(app: typer.Typer) -> None:
    @app.command("lock", epilog=LOCK_EPILOG)
    def lock(
        file: File = None,
        profile: Profile = None,
        check: Annotated[bool, typer.Option("--check", help="Write nothing; say what has changed.")] = False,
        json: Json = False,
        debug: Debug = False,
    ) -> int:
        """Write down the versions, in agent.lock.

        Which distribution and version each plugin is, and the digests of your own code; `run --locked` then refuses
        anything else.
        """
        from ..page import perform
        from .lock import lock_file

        return perform(lambda page: lock_file(page, file, profile or "", check=check), as_json=json, debug=debug)


def _schema(app: typer.Typer) -> None:
    @app.command("schema")
    def schema(json: Json = False, debug: Debug = False) -> int:
        """Print the JSON Schema of stack files.

        It knows the settings of all that is installed. With `#:schema agent.schema.json` in its first line an editor
        completes and checks agent.toml.
        """
        from ..page import perform
        from ..plugins.schema import show_schema

        return perform(lambda page: show_schema(page, None, None), as_json=json, debug=debug)
