"""`agent-express conformance` and `pytest --middleware` as processes: what they refuse, and how they end."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from agent_express.testing.distributions import write_distribution

PASSES_ON = """
from agent_express import Middleware

class Pass(Middleware):
    async def turn(self, ctx, next):
        await next()
"""
SEEN = 'import os, pathlib\npathlib.Path(os.environ["SEEN"]).write_text(__name__, encoding="utf-8")\n'
OTHER_CONTRACT: Mapping[str, Any] = {"contract": 99, "entries": {}}
OFFERED: Mapping[str, Mapping[str, Any]] = {
    "shop.fine": {"entry": {"group": "middleware", "summary": "Pass on.", "hooks": ["turn"]}},
    "shop.old": {"requires": ["agent-express<0.0.1"]},
    "shop.later": {"manifest": OTHER_CONTRACT},
    "shop.raises": {"source": "raise RuntimeError('no licence')"},
    "shop.exits": {"source": "raise SystemExit(3)"},
    "shop.lacks": {"source": "Past = 1"},
}
WHY = {
    "shop.old": "shop.old cannot be used: shop-old 1.0.0 requires agent-express<0.0.1",
    "shop.later": "shop.later cannot be used: shop-later 1.0.0 was built for contract 99",
    "shop.twice": "'shop.twice' is offered by several packages: write shop-a:shop.twice or shop-b:shop.twice",
    "shop.fien": "no middleware 'shop.fien' is installed; nearest: shop.fine",
}


class Site:
    """A folder of distributions made for the tests; each module leaves a file behind where it is imported.

    Attributes:
        seen: That file.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self.seen, self.work = folder / "site", folder / "seen", folder / "work"
        self.work.mkdir()
        for name, offered in OFFERED.items():
            self._offer(name, name.replace(".", "-"), **offered)
        for dist in ("shop-a", "shop-b"):
            self._offer("shop.twice", dist)
        self._offer("shopmodel", "shop-model", group="models", requires=["agent-express<0.0.1"])

    def _offer(
        self,
        name: str,
        dist: str,
        source: str = PASSES_ON,
        group: str = "middleware",
        entry: Any = None,
        **options: Any,
    ) -> None:
        module = dist.replace("-", "_")
        if entry is not None:
            options["manifest"] = {"contract": 1, "entries": {name: {**entry, "module": f"{module}:Pass"}}}
        write_distribution(
            self._folder,
            dist,
            entry_points={group: {name: f"{module}:Pass"}},
            modules={f"{module}/__init__.py": SEEN + source},
            **options,
        )

    def run(self, *args: str, env: Mapping[str, str] = {}, **options: Any) -> subprocess.CompletedProcess[str]:
        """Run Python in an empty folder."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(("AGENT_EXPRESS", "_AGENT"))}
        path = os.pathsep.join([str(self._folder), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
        return subprocess.run(
            [sys.executable, *args],
            cwd=self.work,
            env={**kept, "PYTHONPATH": path, "SEEN": str(self.seen), **env},
            stdin=subprocess.DEVNULL,
            stdout=options.pop("stdout", subprocess.PIPE),
            stderr=subprocess.PIPE,
            encoding="utf-8",
            check=False,
        )

    def conformance(self, *args: str, **options: Any) -> subprocess.CompletedProcess[str]:
        """Run the command."""
        return self.run("-m", "agent_express_cli", "conformance", *args, **options)

    def pytest(self, *args: str, **options: Any) -> subprocess.CompletedProcess[str]:
        """Run the kit under pytest."""
        return self.run(
            *("-m", "pytest", "-q", "-p", "no:cacheprovider", "--pyargs"),
            *("agent_express_conformance", *args),
            **options,
        )


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


def sentence(run: subprocess.CompletedProcess[str]) -> str:
    """The one sentence of a command that was refused."""
    assert (run.returncode, run.stdout) == (2, ""), run
    [line] = run.stderr.splitlines()
    assert line.startswith("error: ")
    return line.removeprefix("error: ")


# --- what may not be used -------------------------------------------------------------------------


@pytest.mark.parametrize("name", WHY)
def test_what_may_not_be_used_is_one_sentence_and_not_imported(site: Site, name: str) -> None:
    assert sentence(site.conformance(name)).startswith(WHY[name])
    assert not site.seen.exists()


def test_what_the_policy_blocks_is_not_imported_by_any_process(site: Site) -> None:
    run = site.conformance("shop.fine", env={"AGENT_EXPRESS_BLOCK": "shop.*"})
    assert sentence(run) == "shop.fine is blocked by 'shop.*' in AGENT_EXPRESS_BLOCK"
    run = site.conformance("shop.fine", env={"AGENT_EXPRESS_ALLOW": "conformance.*"})
    assert sentence(run) == "shop.fine is not allowed: AGENT_EXPRESS_ALLOW names only conformance.*"
    assert not site.seen.exists()


def test_a_provider_that_may_not_be_used_is_not_imported_either(site: Site) -> None:
    assert sentence(site.conformance("shopmodel", "--kind", "models")).startswith("shopmodel cannot be used: ")
    assert not site.seen.exists()


def test_one_of_two_that_share_a_name_is_checked_by_its_distribution(site: Site) -> None:
    run = site.conformance("shop-a:shop.twice")
    assert run.returncode == 1
    assert site.seen.read_text(encoding="utf-8") == "shop_a"


@pytest.mark.parametrize(
    ("name", "raised"), [("shop.raises", "RuntimeError: no licence"), ("shop.exits", "SystemExit: 3")]
)
def test_a_module_that_cannot_be_imported_is_a_failed_check(site: Site, name: str, raised: str) -> None:
    run = site.conformance(name, "--json")
    assert (run.returncode, run.stderr) == (1, "")
    [failed] = [each for each in json.loads(run.stdout)["checks"] if each["outcome"] == "failed"]
    assert failed["name"] == "light-import"
    assert raised in failed["reason"]


def test_an_entry_point_that_names_nothing_is_one_sentence(site: Site) -> None:
    assert "shop_lacks has no 'Pass'; was 'Past' meant?" in sentence(site.conformance("shop.lacks"))


# --- how it ends ----------------------------------------------------------------------------------


def test_with_json_an_error_is_an_object_as_of_any_command(site: Site) -> None:
    run = site.conformance("shop.old", "--json")
    assert (run.returncode, run.stdout) == (2, "")
    told = json.loads(run.stderr)
    assert told.pop("message").startswith(WHY["shop.old"])
    assert told == {"type": "error", "error": "IncompatiblePluginError", "exit_code": 2}


@pytest.mark.parametrize(
    ("options", "why"),
    [
        (["--report", "no/report.json"], f"--report {Path('no/report.json')} cannot be written: there is no folder no"),
        (["--badge", "no/badge.svg"], f"--badge {Path('no/badge.svg')} cannot be written: there is no folder no"),
        (["--report", "."], "--report . cannot be written: "),
        (["--badge", "badge.txt"], "--badge badge.txt ends in .txt, expected .svg for a picture, or .json"),
        (["--badge", "badge"], "--badge badge has no ending, expected .svg"),
        (["--report", "a.json", "--badge", "a.json"], "--report and --badge both name a.json"),
        (["--report", "a.json", "--badge", "no/b.svg"], f"--badge {Path('no/b.svg')} cannot be written"),
    ],
)
def test_a_file_that_cannot_be_written_is_refused_before_the_checks(site: Site, options: list[str], why: str) -> None:
    assert sentence(site.conformance("shop.fine", *options)).startswith(why)
    assert not site.seen.exists()
    assert list(site.work.iterdir()) == []


def test_what_a_refused_run_would_have_written_over_stays(site: Site) -> None:
    report = site.work / "report.json"
    report.write_text("mine", encoding="utf-8")
    assert site.conformance("shop.old", "--report", "report.json", "--badge", "new.svg").returncode == 2
    assert report.read_text(encoding="utf-8") == "mine"
    assert list(site.work.iterdir()) == [report]


def test_report_and_badge_are_written(site: Site) -> None:
    run = site.conformance("shop.fine", "--json", "--report", "report.json", "--badge", "badge.JSON")
    assert run.stderr == ""
    assert json.loads((site.work / "report.json").read_text(encoding="utf-8")) == json.loads(run.stdout)
    assert json.loads((site.work / "badge.JSON").read_text(encoding="utf-8"))["label"] == "conformance"


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_it_ends_quietly_where_nobody_reads_on(site: Site, options: list[str]) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        run = site.conformance("shop.fine", *options, stdout=writing)
    finally:
        os.close(writing)
    assert (run.returncode, run.stderr) == (141, "")


def test_names_and_kinds_are_completed_without_an_import(site: Site) -> None:
    def completed(line: str) -> list[str]:
        words = line.split(" ")
        asked = {"COMP_WORDS": line, "COMP_CWORD": str(len(words) - 1)}
        run = site.run("-m", "agent_express_cli", env={"_AGENT_EXPRESS_COMPLETE": "complete_bash", **asked})
        assert run.stderr == ""
        return run.stdout.split()

    assert completed("agent-express conformance shop.") == ["shop.exits", "shop.fine", "shop.lacks", "shop.raises"]
    assert "offline" in completed("agent-express conformance --kind models o")
    assert completed("agent-express conformance --kind mo") == ["models"]
    assert not site.seen.exists()


# --- under pytest ---------------------------------------------------------------------------------


def test_names_that_cannot_be_checked_are_a_usage_error_with_a_line_for_each(site: Site) -> None:
    names = [option for name in WHY for option in ("--middleware", name)]
    run = site.pytest(*names, "--provider", "shopmodel")
    assert run.returncode == pytest.ExitCode.USAGE_ERROR
    lines = [line.removeprefix("ERROR: ") for line in run.stderr.splitlines() if line.startswith("ERROR: ")]
    expected = [*WHY.values(), "shopmodel cannot be used"]
    assert len(lines) == len(expected)
    assert all(line.startswith(why) for line, why in zip(lines, expected, strict=True)), lines
    assert not site.seen.exists()


def test_a_broken_entry_point_is_a_usage_error_and_a_broken_module_a_failed_test(site: Site) -> None:
    run = site.pytest("--middleware", "shop.lacks")
    assert run.returncode == pytest.ExitCode.USAGE_ERROR
    assert "shop_lacks has no 'Pass'" in run.stderr
    run = site.pytest("--middleware", "shop.raises")
    assert run.returncode == pytest.ExitCode.TESTS_FAILED
    assert "importing shop_raises raised RuntimeError: no licence" in run.stdout
