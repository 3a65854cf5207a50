"""From what was typed to files on the disk: names are derived, clashes looked for, templates rendered and written."""

from __future__ import annotations

from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution, version
from importlib.util import find_spec
from pathlib import Path

from ..exits import CommandError
from .kinds import Kind
from .names import Names, package_names, project_names
from .render import about, render
from .write import Written, check_folder, write


@dataclass(frozen=True, slots=True)
class Made:
    """A new package or project.

    Attributes:
        kind: What it is.
        names: What its parts are called.
        written: Where it is, and its files.
        steps: Commands to go on with.
    """

    kind: Kind
    names: Names
    written: Written
    steps: tuple[str, ...]


def make_package(given: str, kind: Kind, into: Path, author: str, *, force: bool) -> Made:
    """Write a package that offers a middleware, a provider or a bundle.

    Args:
        given: Its name, "my-guard" or "acme.my-guard".
        kind: What it offers.
        into: The folder in which the package's own folder is made.
        author: "Ada Lovelace <ada@example.org>"; may be empty.
        force: Whether files that are there may be replaced.

    Raises:
        CommandError: The name or the author will not do, or the folder is taken.
    """
    names = package_names(given, kind)
    folder = into / names.distribution
    files = render(kind, names, about(version("agent-express"), author))
    check_folder(folder, force=force)
    if not force:
        _refuse_installed(names)
    question = "one two three" if kind is Kind.PROVIDER else "What can you do?"
    steps = (f"cd {folder}", "uv sync", "uv run pytest", f'uv run agent-express run --stack agent.toml "{question}"')
    return Made(kind, names, write(files, folder, force=force), steps)


def make_project(given: str, into: Path, *, force: bool) -> Made:
    """Write a project: a stack file, tools and a middleware of its own, tests.

    Args:
        given: Its name, "my-shop".
        into: The folder in which the project's own folder is made.
        force: Whether files that are there may be replaced.

    Raises:
        CommandError: The name will not do, or the folder is taken.
    """
    names = project_names(given)
    folder = into / names.name
    files = render(Kind.PROJECT, names, about(version("agent-express")))
    check_folder(folder, force=force)
    if _is_installed(names.module):
        raise CommandError(
            f"name {given!r}: {names.module} is an installed module, which the project's own would hide; choose "
            f"another one: my-{names.name}"
        )
    steps = (f"cd {folder}", 'agent-express run "Look up the opening hours of tomorrow"', "uv run pytest")
    return Made(Kind.PROJECT, names, write(files, folder, force=force), steps)


def _is_installed(module: str) -> bool:
    """Whether there is a module of that name; a folder without `__init__.py` in the current one is none."""
    found = find_spec(module)
    return found is not None and found.origin is not None


def _refuse_installed(names: Names) -> None:
    try:
        installed = distribution(names.distribution)
    except PackageNotFoundError:
        return
    raise CommandError(
        f"{names.distribution} {installed.version} is installed already; choose another name, or write its files anew "
        "with --force"
    )
