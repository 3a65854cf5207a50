"""`agent-express plugins manifest`: written from the code, and compared with it."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

PROJECT = """
[project]
name = "acme-guards"
version = "1.0.0"

[project.entry-points."agent_express.middleware"]
"acme.cost-cap" = "acme_guards:CostCap"

[project.entry-points."agent_express.hooks"]
"acme.audit" = "acme_guards:Audit"
"""
SOURCE = '''
from agent_express import Middleware, ModelContext, ModelResponse, Next
from agent_express_cli import hookimpl

class CostCap(Middleware):
    """Stop what costs too much."""

    name = "cost-cap"

    def __init__(self, limit: float = 5.0) -> None:
        self.limit = limit

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        return await next()

class Audit:
    """Say who did what."""

    @hookimpl
    def doctor(self): return []

    @hookimpl
    def add_commands(self, app): ...
'''


@pytest.fixture
def package(tmp_path: Path) -> Path:
    folder = tmp_path / "guards"
    (folder / "src" / "acme_guards").mkdir(parents=True)
    (folder / "pyproject.toml").write_text(PROJECT, encoding="utf-8")
    (folder / "src" / "acme_guards" / "__init__.py").write_text(SOURCE, encoding="utf-8")
    return folder


def manifest(package: Path) -> Path:
    return package / "src" / "acme_guards" / "agent_express.json"


def test_it_is_written_from_the_code_that_is_not_even_installed(command: Any, package: Path) -> None:
    run = command("plugins", "manifest", ".", folder=package)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout == f"{manifest(package)} is written\n"
    written = json.loads(manifest(package).read_text(encoding="utf-8"))
    assert written["contract"] == 1
    assert written["entries"]["acme.cost-cap"]["hooks"] == ["model"]
    assert written["entries"]["acme.cost-cap"]["config"]["properties"]["limit"]["default"] == 5.0
    assert written["entries"]["acme.audit"]["implements"] == ["add_commands", "doctor"]
    assert command("plugins", "manifest", ".", "--check", folder=package).returncode == 0
    assert command("plugins", "manifest", ".", folder=package).stdout.endswith(" is as it was\n")


def test_what_the_author_declares_is_kept(command: Any, package: Path) -> None:
    command("plugins", "manifest", str(package))
    written = json.loads(manifest(package).read_text(encoding="utf-8"))
    written["entries"]["acme.cost-cap"] |= {"roles": ["budget"], "permissions": ["network"], "stability": "beta"}
    written["entries"]["acme.audit"]["commands"] = [{"name": "audit", "summary": "Say who did what."}]
    manifest(package).write_text(json.dumps(written), encoding="utf-8")
    command("plugins", "manifest", str(package))
    assert json.loads(manifest(package).read_text(encoding="utf-8")) == written


def test_check_says_each_difference_and_writes_nothing(command: Any, package: Path) -> None:
    command("plugins", "manifest", str(package))
    before = manifest(package).read_text(encoding="utf-8")
    source = SOURCE.replace("async def model", "async def tool").replace("def doctor", "def check_stack")
    (package / "src" / "acme_guards" / "__init__.py").write_text(source, encoding="utf-8")
    run = command("plugins", "manifest", str(package), "--check")
    assert run.returncode == 1
    assert 'acme-guards: acme.cost-cap: hooks: the manifest says ["model"], the code ["tool"]' in run.stdout
    assert "acme-guards: acme.audit: implements: " in run.stdout
    assert "writes it anew" in run.stderr
    assert manifest(package).read_text(encoding="utf-8") == before
    run = command("plugins", "manifest", str(package), "--check", "--json")
    assert {json.loads(line)["type"] for line in run.stdout.splitlines()} == {"difference"}


def test_entries_that_only_one_of_the_two_has_are_differences(command: Any, package: Path) -> None:
    assert "there is no " in command("plugins", "manifest", str(package), "--check").stdout
    command("plugins", "manifest", str(package))
    text = (package / "pyproject.toml").read_text(encoding="utf-8")
    (package / "pyproject.toml").write_text(text.replace("acme.cost-cap", "acme.price-cap"), encoding="utf-8")
    run = command("plugins", "manifest", str(package), "--check")
    assert "acme.price-cap: the code has it, the manifest does not" in run.stdout
    assert "acme.cost-cap: the manifest has it, the code does not" in run.stdout


def test_several_packages_are_compared_at_once(command: Any) -> None:
    run = command("plugins", "manifest", "agent-express-offline", "agent-express-cli", "--check")
    assert (run.returncode, run.stdout) == (0, "")


WRONG: dict[str, tuple[str, str, str]] = {
    "no entry points": ('[project]\nname = "acme-guards"\n', SOURCE, "acme-guards publishes nothing"),
    "no project": ("", SOURCE, "pyproject.toml cannot be read"),
    "no TOML": ("[project", SOURCE, "pyproject.toml cannot be read"),
    "an unknown group": (PROJECT.replace("express.hooks", "express.hoks"), SOURCE, "agent_express.hoks is no group"),
    "no such module": (PROJECT.replace("acme_guards", "acme_gards"), SOURCE, "there is no module 'acme_gards'"),
    "no such class": (PROJECT.replace(":CostCap", ":CostCup"), SOURCE, "was 'CostCap' meant?"),
    "code that exits": (PROJECT, "raise SystemExit(3)", "SystemExit: 3"),
    "a setting without an example": (
        PROJECT,
        SOURCE.replace(" = 5.0", ""),
        "acme.cost-cap cannot be made without limit",
    ),
    "a hook that does not exist": (PROJECT, SOURCE.replace("def doctor", "def doctr"), "was 'doctor' meant?"),
}


@pytest.mark.parametrize(("project", "source", "said"), list(WRONG.values()), ids=list(WRONG))
def test_what_cannot_be_described_is_said_in_one_sentence(
    command: Any, package: Path, project: str, source: str, said: str
) -> None:
    (package / "pyproject.toml").write_text(project, encoding="utf-8")
    (package / "src" / "acme_guards" / "__init__.py").write_text(source, encoding="utf-8")
    run = command("plugins", "manifest", str(package))
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.startswith("error: ")
    assert said in run.stderr
    assert run.stderr.count("\n") == 1
    assert not manifest(package).exists()


def test_a_manifest_that_is_no_json_is_not_overwritten(command: Any, package: Path) -> None:
    manifest(package).write_text("{", encoding="utf-8")
    run = command("plugins", "manifest", str(package))
    assert run.returncode == 2
    assert "is no JSON" in run.stderr
    assert manifest(package).read_text(encoding="utf-8") == "{"


def test_a_wheel_is_compared_but_not_written(command: Any, site: Any) -> None:
    site.add("acme.cost-cap", SOURCE, group="middleware", target="acme_cost_cap:CostCap")
    run = command("plugins", "manifest", "acme-cost-cap", env=site.env)
    assert run.returncode == 2
    assert "acme-cost-cap is installed as a wheel: write it in the folder of its sources" in run.stderr
    assert command("plugins", "manifest", "acme-cost-cap", "--check", env=site.env).returncode == 1


def test_a_package_that_is_not_there_is_told_apart_from_a_folder(command: Any) -> None:
    run = command("plugins", "manifest", "nowhere")
    assert run.returncode == 2
    assert re.match(r"error: 'nowhere' is neither a folder with a pyproject\.toml nor an installed", run.stderr)
