"""The command `conformance`, in an app as the host of the command line hands it in."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

import agent_express.registry
from agent_express.errors import UnknownPluginError
from agent_express.registry import Registry
from agent_express_conformance.hooks import Commands


@pytest.fixture
def app(shop: Registry, monkeypatch: pytest.MonkeyPatch) -> Iterator[typer.Typer]:
    monkeypatch.setattr("agent_express_conformance.run.of_this_process", lambda: shop)
    made = typer.Typer()
    made.callback()(lambda: None)
    Commands().add_commands(made)
    yield made
    agent_express.registry.registry.cache_clear()


def test_a_middleware_that_passes_ends_with_0_and_a_line_for_each_check(app: typer.Typer) -> None:
    done = CliRunner().invoke(app, ["conformance", "shop.retry"])
    assert done.exit_code == 0, done.output
    assert "✓ it calls next at most once" in done.output
    assert "19 passed, 1 exempt" in done.output
    assert "exempt: it waits before it tries again" in done.output
    assert "\x1b" not in done.output


def test_a_flaw_ends_with_1_and_the_sentence(app: typer.Typer) -> None:
    done = CliRunner().invoke(app, ["conformance", "shop.asks-again"])
    assert done.exit_code == 1
    assert "shop.asks-again.model ran what is further in 2 times in one model call" in done.output


def test_json_is_the_report_and_nothing_else_and_files_are_written(app: typer.Typer, tmp_path: Path) -> None:
    report, badge = tmp_path / "report.json", tmp_path / "badge.svg"
    options = ["--json", "--report", str(report), "--badge", str(badge)]
    done = CliRunner().invoke(app, ["conformance", "shop.shouts", *options])
    assert done.exit_code == 1
    told = json.loads(done.stdout)
    assert "result-passes" in [each["name"] for each in told["checks"] if each["outcome"] == "failed"]
    assert json.loads(report.read_text(encoding="utf-8")) == told
    assert " of 20" in badge.read_text(encoding="utf-8")


def test_what_is_not_installed_is_left_for_the_host_to_tell(app: typer.Typer) -> None:
    done = CliRunner().invoke(app, ["conformance", "shop.hury"])
    assert isinstance(done.exception, UnknownPluginError)
    assert "nearest: shop.hurry" in str(done.exception)
    assert done.output == ""
