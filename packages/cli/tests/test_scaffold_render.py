"""What the templates become: files that parse, for whatever name."""

from __future__ import annotations

import ast
import json
import re
import tomllib
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agent_express_cli.exits import CommandError
from agent_express_cli.scaffold.kinds import Kind
from agent_express_cli.scaffold.names import LONGEST, TAKEN, Names, package_names, project_names
from agent_express_cli.scaffold.render import About, about, render, train

ABOUT = About(">=0.1,<0.2", "Ada Lovelace", "ada@example.org")
every_kind = pytest.mark.parametrize("kind", list(Kind))
every_package = pytest.mark.parametrize("kind", [kind for kind in Kind if kind is not Kind.PROJECT])


def names_of(kind: Kind, name: str = "my-own") -> Names:
    return project_names(name) if kind is Kind.PROJECT else package_names(name, kind)


def rendered(kind: Kind, name: str = "my-own") -> dict[str, str]:
    return render(kind, names_of(kind, name), ABOUT)


def parsed(files: dict[str, str]) -> Iterator[tuple[str, ast.Module]]:
    for path, text in files.items():
        if path.endswith(".py"):
            yield path, ast.parse(text, path)


@every_package
def test_a_package_is_complete(kind: Kind) -> None:
    files = rendered(kind)
    wanted = {
        "pyproject.toml",
        "README.md",
        "LICENSE",
        ".gitignore",
        ".github/workflows/ci.yml",
        "agent.toml",
        "src/agent_express_my_own/__init__.py",
        "src/agent_express_my_own/py.typed",
        "src/agent_express_my_own/agent_express.json",
    }
    assert wanted - files.keys() == set()
    assert any(re.fullmatch(r"tests/test_\w+\.py", path) for path in files)


def test_a_project_is_complete() -> None:
    wanted = {
        "pyproject.toml",
        "README.md",
        ".gitignore",
        "agent.toml",
        "my_own/tools.py",
        "my_own/today.py",
        "tests/test_agent.py",
    }
    assert wanted - rendered(Kind.PROJECT).keys() == set()


@every_kind
def test_every_file_is_text_that_its_reader_can_parse(kind: Kind) -> None:
    files = rendered(kind)
    for path, text in files.items():
        assert text == "" or text.endswith("\n"), path
        assert "\r" not in text, path
        assert not re.search(r"MODULE|FILE|dot_|tmpl", path)
        assert not re.search(r"\$\w", text), path
        if path.endswith(".toml"):
            tomllib.loads(text)
        if path.endswith(".json"):
            json.loads(text)
    assert list(parsed(files))


@every_package
def test_the_entry_points_name_what_the_package_has(kind: Kind) -> None:
    files = rendered(kind)
    project = tomllib.loads(files["pyproject.toml"])["project"]
    public = next(
        ast.literal_eval(node.value)
        for node in ast.parse(files["src/agent_express_my_own/__init__.py"]).body
        if isinstance(node, ast.Assign)
    )
    targets = [target for group in project["entry-points"].values() for target in group.values()]
    assert {target.partition(":")[2] for target in targets} <= set(public)
    assert {target.partition(":")[0] for target in targets} == {"agent_express_my_own"}
    published = sorted(name for group in project["entry-points"].values() for name in group)
    assert sorted(json.loads(files["src/agent_express_my_own/agent_express.json"])["entries"]) == published


@every_package
def test_a_package_wants_the_release_train_of_the_core_that_is_installed(kind: Kind) -> None:
    told = about(version("agent-express"))
    project = tomllib.loads(render(kind, names_of(kind), told)["pyproject.toml"])
    major, minor, _ = version("agent-express").split(".")
    assert f"agent-express>={major}.{minor},<{major}.{int(minor) + 1}" in project["project"]["dependencies"]


@pytest.mark.parametrize(
    ("installed", "range_"),
    [("0.1.0", ">=0.1,<0.2"), ("0.12.3", ">=0.12,<0.13"), ("1.4.2", ">=1.4,<2"), ("2", ">=2.0,<3")],
)
def test_a_release_train_is_a_minor_version_before_the_first_major_one(installed: str, range_: str) -> None:
    assert train(installed) == range_


@every_kind
def test_no_name_hides_a_class_that_the_templates_use(kind: Kind) -> None:
    own = {names_of(kind).class_name}
    used: set[str] = set()
    for _, tree in parsed(rendered(kind)):
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom):
                used |= {alias.asname or alias.name for alias in node.names}
            elif isinstance(node, ast.ClassDef):
                used.add(node.name)
    tests = {name for name in used if name.startswith("Test")}  # no name may start with it
    assert {name for name in used if re.match(r"[A-Z][a-z]", name)} - own - tests - TAKEN == set()


def test_the_author_is_in_the_metadata_and_the_licence() -> None:
    files = rendered(Kind.MIDDLEWARE)
    project = tomllib.loads(files["pyproject.toml"])["project"]
    assert project["authors"] == [{"name": "Ada Lovelace", "email": "ada@example.org"}]
    assert "Copyright (c) Ada Lovelace" in files["LICENSE"]


@pytest.mark.parametrize(
    ("written", "name", "email"),
    [
        ("", "", ""),
        ("Ada Lovelace", "Ada Lovelace", ""),
        (" Ada Lovelace <ada@example.org> ", "Ada Lovelace", "ada@example.org"),
        ('O"Brien \\ Co $5', 'O"Brien \\ Co $5', ""),
        ("Zoë 王", "Zoë 王", ""),
    ],
)
def test_an_author_is_a_name_with_an_address_or_without(written: str, name: str, email: str) -> None:
    told = about("0.1.0", written)
    assert (told.author, told.email) == (name, email)
    project = tomllib.loads(render(Kind.MIDDLEWARE, names_of(Kind.MIDDLEWARE), told)["pyproject.toml"])["project"]
    assert project["authors"][0]["name"] == (name or "The authors of agent-express-my-own")


@pytest.mark.parametrize("written", ["Ada\nLovelace", "<ada@example.org>", "Ada <ada>", "Ada \x1b[31m"])
def test_what_is_no_author_is_refused(written: str) -> None:
    with pytest.raises(CommandError, match=r"--author .* expected a name, with an address or without"):
        about("0.1.0", written)


@every_kind
def test_the_same_name_gives_the_same_files(kind: Kind) -> None:
    assert rendered(kind) == rendered(kind)


kebab = st.from_regex(r"[a-z][a-z0-9]{0,9}(-[a-z0-9]{1,9}){0,3}", fullmatch=True)


@given(kebab | st.sampled_from(["a" * LONGEST, "a", "a2", "x-1"]), st.sampled_from(Kind))
def test_whatever_the_name_the_code_parses_and_no_line_is_too_long(name: str, kind: Kind) -> None:
    try:
        names = names_of(kind, name)
    except CommandError:
        return
    for path, text in render(kind, names, ABOUT).items():
        assert Path(path).as_posix() == path
        if path.endswith(".py"):
            ast.parse(text, path)
            assert max(map(len, text.splitlines()), default=0) <= 120, path
