"""What `plugins new` and `new` write, outside of the workspace: checked, built, installed without a network, used."""

from __future__ import annotations

import json
import re
import sys
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from checkout import CORE, PACKAGES, ROOT
from environments import User, build, build_ours, make_user, ok, run

from agent_express_cli.scaffold.kinds import Kind
from agent_express_cli.scaffold.names import LONGEST, OURS, package_names, project_names
from agent_express_cli.scaffold.render import about, render
from releasing.builds import Build
from releasing.commands import uv

QUESTION = "Look up the opening hours on 2026-03-02"


@dataclass(frozen=True)
class Rendered:
    """A package as `plugins new` has written it."""

    kind: str
    folder: Path
    entry: str

    @property
    def project(self) -> Mapping[str, Any]:
        held: Mapping[str, Any] = tomllib.loads((self.folder / "pyproject.toml").read_text(encoding="utf-8"))
        return held

    @property
    def published(self) -> list[str]:
        groups: Mapping[str, Mapping[str, str]] = self.project["project"]["entry-points"]
        return sorted(name for names in groups.values() for name in names)


KINDS = {"middleware": "my-guard", "provider": "my-ai", "bundle": "acme.my-desk"}
every_kind = pytest.mark.parametrize("kind", KINDS)
every_form = pytest.mark.parametrize("form", ["wheel", "editable"])


@pytest.fixture(scope="session")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Build:
    return build_ours(tmp_path_factory.mktemp("ours"))


@pytest.fixture(scope="session")
def author(ours: Build, tmp_path_factory: pytest.TempPathFactory) -> User:
    """What the author has before there is a package."""
    return make_user(tmp_path_factory.mktemp("author") / "venv", ours)


@pytest.fixture(scope="session")
def packages(author: User, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Rendered]:
    """By kind a package that the command has written, outside of the checkout."""
    into = tmp_path_factory.mktemp("packages")
    made: dict[str, Rendered] = {}
    for kind, name in KINDS.items():
        (told,) = author.json("plugins", "new", name, "--kind", kind, "--author", "Ada <a@b.org>", folder=into)
        folder = into / told["folder"]
        assert sorted(told["files"]) == sorted(
            path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()
        )
        made[kind] = Rendered(kind, folder, told["entry"])
    return made


@pytest.fixture(scope="session")
def installed(ours: Build, packages: dict[str, Rendered], tmp_path_factory: pytest.TempPathFactory) -> dict[str, User]:
    """By form an environment in which all of them are installed, from a wheel or as editable."""
    made: dict[str, User] = {}
    for form in ("wheel", "editable"):
        environment = make_user(tmp_path_factory.mktemp(form) / "venv", ours)
        for package in packages.values():
            if form == "wheel":
                environment.install(build(package.folder, tmp_path_factory.mktemp("built")))
            else:
                environment.install("--editable", package.folder)
        made[form] = environment
    return made


# --- as the author checks it ------------------------------------------------------------------


@every_kind
def test_a_new_package_passes_ruff(packages: dict[str, Rendered], kind: str) -> None:
    assert_ruff_is_content(packages[kind].folder)


@pytest.mark.parametrize("name", ["a", "x-1", "a" * LONGEST, "-".join(["ab"] * 10)])
@pytest.mark.parametrize("kind", list(Kind))
def test_ruff_is_content_with_long_and_with_short_names(tmp_path: Path, kind: Kind, name: str) -> None:
    names = project_names(name) if kind is Kind.PROJECT else package_names(name, kind)
    for path, text in render(kind, names, about("0.1.0")).items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    assert_ruff_is_content(tmp_path)


def assert_ruff_is_content(folder: Path) -> None:
    ok(run(sys.executable, "-m", "ruff", "format", "--no-cache", "--check", "--diff", ".", folder=folder))
    ok(run(sys.executable, "-m", "ruff", "check", "--no-cache", ".", folder=folder))


@every_kind
def test_a_new_package_passes_mypy(installed: dict[str, User], packages: dict[str, Rendered], kind: str) -> None:
    python = installed["editable"].python
    done = run(sys.executable, "-m", "mypy", "--python-executable", python, folder=packages[kind].folder)
    assert "Success: no issues found" in ok(done)


@every_kind
def test_a_new_package_passes_basedpyright(
    installed: dict[str, User], packages: dict[str, Rendered], kind: str
) -> None:
    python = installed["editable"].python
    done = run(sys.executable, "-m", "basedpyright", "--pythonpath", python, folder=packages[kind].folder)
    assert "0 errors, 0 warnings" in ok(done)


@every_form
@every_kind
def test_the_tests_of_a_new_package_pass(
    installed: dict[str, User], packages: dict[str, Rendered], kind: str, form: str
) -> None:
    told = ok(installed[form].pytest("-k", "not own_time", folder=packages[kind].folder))
    assert "passed" in told
    assert "skipped" not in told


# --- as a user has it -------------------------------------------------------------------------


@every_form
@every_kind
def test_a_new_package_is_listed(
    installed: dict[str, User], packages: dict[str, Rendered], tmp_path: Path, kind: str, form: str
) -> None:
    package = packages[kind]
    listed = {row["name"]: row for row in installed[form].json("plugins", "list", folder=tmp_path)}
    assert [name for name in package.published if listed[name]["state"] != "available"] == []
    assert listed[package.entry]["distribution"] == package.project["project"]["name"]


@every_form
def test_the_doctor_finds_nothing_wrong_with_new_packages(
    installed: dict[str, User], tmp_path: Path, form: str
) -> None:
    assert installed[form].express("plugins", "doctor", folder=tmp_path).returncode == 0


@every_form
@pytest.mark.parametrize("name", ["my-guard.my-guard", "acme.repeats", "acme.today"])
def test_new_middleware_passes_the_conformance_kit(
    installed: dict[str, User], tmp_path: Path, name: str, form: str
) -> None:
    done = installed[form].express("conformance", name, "--json", folder=tmp_path)
    outcomes = {row["name"]: row["outcome"] for row in json.loads(done.stdout)["checks"]}
    del outcomes["own-time"]  # how busy the machine is decides nothing here
    assert set(outcomes.values()) == {"passed"}


@every_kind
def test_the_samples_in_the_readme_of_a_new_package_run(
    installed: dict[str, User], packages: dict[str, Rendered], tmp_path: Path, kind: str
) -> None:
    readme = (packages[kind].folder / "README.md").read_text(encoding="utf-8")
    (sample,) = re.findall(r"^```python\n(.*?)^```", readme, re.DOTALL | re.MULTILINE)
    assert ok(run(installed["wheel"].python, "-W", "error", "-c", sample, folder=tmp_path))
    (table,) = re.findall(r"^```toml\n(.*?)^```", readme, re.DOTALL | re.MULTILINE)
    agent = "" if "[agent]" in table else '[agent]\nmodel = "offline:commands"\n'
    (tmp_path / "agent.toml").write_text(f"{agent}{table}", encoding="utf-8")
    assert ok(installed["wheel"].express("run", "Hello", folder=tmp_path))


@every_form
@every_kind
def test_the_example_of_a_new_package_runs(
    installed: dict[str, User], packages: dict[str, Rendered], kind: str, form: str
) -> None:
    folder = packages[kind].folder
    done = installed[form].express("run", "--stack", "agent.toml", "What can you do?", folder=folder)
    assert ("What can you do?" if kind == "provider" else "offline model") in ok(done)


@every_form
@every_kind
def test_the_example_of_a_new_package_is_shown_checked_and_locked(
    installed: dict[str, User], packages: dict[str, Rendered], tmp_path: Path, kind: str, form: str
) -> None:
    package, environment = packages[kind], installed[form]
    (tmp_path / "agent.toml").write_bytes((package.folder / "agent.toml").read_bytes())
    ok(environment.express("stack", "check", "agent.toml", folder=tmp_path))
    assert package.entry in ok(environment.express("stack", "show", "agent.toml", folder=tmp_path))
    ok(environment.express("stack", "lock", "agent.toml", folder=tmp_path))
    lock = (tmp_path / "agent.lock").read_text(encoding="utf-8")
    assert f"{package.project['project']['name']}==0.1.0" in lock
    ok(environment.express("run", "--stack", "agent.toml", "--locked", "Hello", folder=tmp_path))


def test_a_name_that_is_installed_is_not_given_again(installed: dict[str, User], tmp_path: Path) -> None:
    done = installed["wheel"].express("plugins", "new", "my-guard", folder=tmp_path)
    assert (done.returncode, list(tmp_path.iterdir())) == (2, [])
    assert "agent-express-my-guard 0.1.0 is installed already; choose another name" in done.stderr


# --- the project ------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def project(author: User, tmp_path_factory: pytest.TempPathFactory) -> Path:
    into = tmp_path_factory.mktemp("projects")
    told = ok(author.express("new", "my-shop", folder=into))
    assert "agent-express run" in told
    return into / "my-shop"


def test_a_new_project_answers_at_once(author: User, project: Path) -> None:
    done = author.express("run", QUESTION, folder=project)
    assert "Monday, 2026-03-02: open from 9 to 18" in ok(done)


def test_a_new_project_is_shown_and_checked(author: User, project: Path) -> None:
    ok(author.express("stack", "check", folder=project))
    assert "today" in ok(author.express("stack", "show", folder=project))


def test_the_tests_of_a_new_project_pass(author: User, project: Path) -> None:
    place = {"UV_PROJECT_ENVIRONMENT": str(author.folder), "UV_OFFLINE": "1"}
    done = run(uv(), "run", "--no-sync", "pytest", "-p", "no:cacheprovider", folder=project, env=place)
    assert "passed" in ok(done)


def test_a_new_project_passes_ruff_and_mypy(author: User, project: Path) -> None:
    assert_ruff_is_content(project)
    strict = [sys.executable, "-m", "mypy", "--strict", "--python-executable", author.python]
    assert "Success" in ok(run(*strict, "my_shop", "tests", folder=project))


# --- as the project has it itself -------------------------------------------------------------


@every_kind
def test_a_new_package_is_built_as_ours_are(packages: dict[str, Rendered], kind: str) -> None:
    told = packages[kind].project
    assert told["build-system"] == CORE.pyproject["build-system"]
    assert told["project"]["requires-python"] == CORE.pyproject["project"]["requires-python"]
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["dependency-groups"]
    own = [need for need in told["dependency-groups"]["dev"] if not need.startswith("agent-express")]
    assert set(own) <= {*groups["test"], *groups["lint"]}
    pydantic = next(need for need in CORE.pyproject["project"]["dependencies"] if need.startswith("pydantic"))
    assert pydantic in told["project"]["dependencies"]


def test_no_name_of_ours_is_given_away() -> None:
    assert set(PACKAGES) - OURS == set()


def test_what_a_project_is_made_of_is_written_down(project: Path) -> None:
    readme = (project / "README.md").read_text(encoding="utf-8")
    assert [path for path in ("agent.toml", "my_shop/tools.py", "my_shop/today.py") if path not in readme] == []
    assert json.dumps(QUESTION.partition(" on ")[0])[1:-1] in readme
