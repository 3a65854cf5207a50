"""Templates and names in, files out. Pure: nothing is written here."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from string import Template

from ..exits import CommandError
from .kinds import Kind
from .names import Names

SUFFIX = ".tmpl"
"""Ends the name of every template, so that no tool takes one for Python."""

FOLDERS: dict[Kind, tuple[str, ...]] = {
    Kind.MIDDLEWARE: ("package", "middleware"),
    Kind.PROVIDER: ("package", "provider"),
    Kind.BUNDLE: ("package", "bundle"),
    Kind.PROJECT: ("project",),
}
"""Which folders of templates make a kind; paths within them are paths within what is made."""

PARTS: dict[Kind, dict[str, str]] = {
    Kind.MIDDLEWARE: {"src/MODULE/FILE.py": "repeats.py", "tests/test_FILE.py": "test_repeats.py"},
    Kind.PROVIDER: {},
    Kind.BUNDLE: {
        "src/MODULE/repeats.py": "repeats.py",
        "src/MODULE/today.py": "today.py",
        "tests/test_repeats.py": "test_repeats.py",
        "tests/test_today.py": "test_today.py",
    },
    Kind.PROJECT: {"MODULE/today.py": "today.py", "tests/test_today.py": "test_today.py"},
}
"""Files that several kinds have: path -> template in the folder "parts"."""

EVERYWHERE = {"dot_gitignore": "gitignore"}
"""Files that every kind has, likewise."""

SUMMARIES: dict[Kind, str] = {
    Kind.MIDDLEWARE: "Refuses tool calls that a model makes over and over again, for Agent Express",
    Kind.PROVIDER: "A model provider for Agent Express",
    Kind.BUNDLE: "A bundle of middleware for Agent Express",
    Kind.PROJECT: "",
}
"""The descriptions of the packages."""


@dataclass(frozen=True, slots=True)
class About:
    """What is not in the name.

    Attributes:
        core: The range of versions of Agent Express that fits, ">=0.1,<0.2".
        author: Who writes it, "Ada Lovelace"; empty where nobody said.
        email: Their address; may be empty.
    """

    core: str
    author: str = ""
    email: str = ""


def train(version: str) -> str:
    """The range that fits the installed *version* of core: all of its release train.

    "0.1.3" gives ">=0.1,<0.2", "1.4.0" gives ">=1.4,<2".
    """
    numbers = [int(number) for number in re.findall(r"\d+", version)[:2]]
    major, minor = numbers if len(numbers) == 2 else (*numbers, 0)
    return f">={major}.{minor},<{f'0.{minor + 1}' if major == 0 else major + 1}"


def about(core_version: str, author: str = "") -> About:
    """Read *author*, "Ada Lovelace <ada@example.org>" or a name alone.

    Raises:
        CommandError: It holds control characters, or nothing but an address.
    """
    found = re.fullmatch(r"\s*(.*?)\s*(?:<([^<>@\s]+@[^<>@\s]+)>)?\s*", author)
    if found is None or not author.isprintable() or "<" in found[1] or (author.strip() and not found[1]):
        raise CommandError(f'--author {author!r}: expected a name, with an address or without: "Ada <ada@example.org>"')
    return About(train(core_version), found[1], found[2] or "")


def render(kind: Kind, names: Names, about: About) -> dict[str, str]:
    """Render all files of a package or project: path with slashes -> text."""
    root = files("agent_express_cli") / "templates"
    templates = dict(each for folder in FOLDERS[kind] for each in _templates(root / folder, ""))
    parts = {path: root / "parts" / f"{part}{SUFFIX}" for path, part in (PARTS[kind] | EVERYWHERE).items()}
    words = _words(kind, names, about)
    of_parts = words | {"class_name": "Repeats", "name": "repeats", "file": "repeats"} if kind is Kind.BUNDLE else words
    made = {path: _filled(template, words) for path, template in templates.items()}
    made |= {path: _filled(template, of_parts) for path, template in parts.items()}
    return {_path(path, names): text for path, text in sorted(made.items())}


def _filled(template: Traversable, words: Mapping[str, str]) -> str:
    return Template(template.read_text(encoding="utf-8")).substitute(words)


def _templates(folder: Traversable, path: str) -> Iterator[tuple[str, Traversable]]:
    for each in folder.iterdir():
        if each.is_dir():
            yield from _templates(each, f"{path}{each.name}/")
        elif each.name.endswith(SUFFIX):
            yield f"{path}{each.name.removesuffix(SUFFIX)}", each


def _path(path: str, names: Names) -> str:
    """`dot_` begins a hidden file: what packs the templates would leave one out."""
    parts = [re.sub(r"^dot_", ".", part) for part in path.split("/")]
    return "/".join(parts).replace("MODULE", names.module).replace("FILE", names.file)


def _words(kind: Kind, names: Names, about: About) -> dict[str, str]:
    author = about.author or f"The authors of {names.distribution}"
    return {
        "name": names.name,
        "area": names.area,
        "entry": names.entry,
        "distribution": names.distribution,
        "module": names.module,
        "file": names.file,
        "function": names.file,
        "class_name": names.class_name,
        "variable": names.name.upper().replace("-", "_"),
        "core": about.core,
        "author": author,
        "authors": f"[{{ name = {_quoted(author)}{f', email = {_quoted(about.email)}' if about.email else ''} }}]",
        "summary": SUMMARIES[kind],
        "entry_points": _entry_points(kind, names),
    }


def _entry_points(kind: Kind, names: Names) -> str:
    """The tables of entry points in pyproject.toml."""
    points: dict[str, dict[str, str]] = {}
    match kind:
        case Kind.MIDDLEWARE:
            points["middleware"] = {names.entry: names.class_name}
        case Kind.PROVIDER:
            points["models"] = {names.entry: "create"}
        case Kind.BUNDLE:
            points["bundles"] = {names.entry: names.file}
            points["middleware"] = {f"{names.area}.repeats": "Repeats", f"{names.area}.today": "Today"}
        case Kind.PROJECT:
            pass
    return "\n\n".join(
        "\n".join(
            [
                f'[project.entry-points."agent_express.{group}"]',
                *(f'"{entry}" = "{names.module}:{target}"' for entry, target in targets.items()),
            ]
        )
        for group, targets in points.items()
    )


def _quoted(text: str) -> str:
    """*text* as a string of TOML; for what is printable JSON's rules are the same."""
    return json.dumps(text, ensure_ascii=False)
