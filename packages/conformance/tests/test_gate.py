"""What the registry keeps from being used is not checked, and nothing of it is imported."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent_express.errors import (
    AmbiguousPluginError,
    BlockedPluginError,
    BrokenPluginError,
    IncompatiblePluginError,
    PluginError,
)
from agent_express.plugins import Policy
from agent_express.registry import Registry
from agent_express.testing.distributions import write_distribution
from agent_express_conformance import Verdict, run_conformance

GROUPS = ("middleware", "models")


@pytest.fixture
def seen(tmp_path: Path) -> Path:
    """What a module that is imported writes to."""
    return tmp_path / "seen"


@pytest.fixture
def offer(tmp_path: Path, seen: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Install a distribution of a middleware and a provider of one name; return the registry of all of them."""
    folder = tmp_path / "site"
    monkeypatch.syspath_prepend(str(folder))

    def write(name: str, dist: str, source: str = "", **options: Any) -> Registry:
        module = f"gate_{dist.replace('-', '_')}"
        write_distribution(
            folder,
            dist,
            entry_points={group: {name: f"{module}:It"} for group in GROUPS},
            modules={f"{module}.py": f"open({str(seen)!r}, 'w').close()\n{source}"},
            **options,
        )
        return Registry(path=[str(folder)], environ={})

    return write


@pytest.mark.parametrize("kind", GROUPS)
def test_a_plugin_for_another_core_is_not_imported(offer: Any, seen: Path, kind: str) -> None:
    found = offer("gate.old", "old", requires=["agent-express<0.0.1"])
    with pytest.raises(IncompatiblePluginError, match=r"^gate\.old cannot be used: old 1\.0\.0 requires agent-express"):
        run_conformance("gate.old", kind=kind, registry=found)
    assert not seen.exists()


@pytest.mark.parametrize("kind", GROUPS)
def test_a_plugin_that_a_policy_blocks_is_not_imported(offer: Any, seen: Path, kind: str) -> None:
    found = offer("gate.fine", "fine").with_policy(Policy(block=("gate.*",)))
    with pytest.raises(BlockedPluginError, match=r"gate\.fine is blocked by 'gate\.\*'"):
        run_conformance("fine:gate.fine", kind=kind, registry=found)
    assert not seen.exists()


@pytest.mark.parametrize("kind", GROUPS)
def test_a_name_that_two_have_is_not_imported(offer: Any, seen: Path, kind: str) -> None:
    offer("gate.twice", "one")
    with pytest.raises(AmbiguousPluginError, match=r"write one:gate\.twice or two:gate\.twice"):
        run_conformance("gate.twice", kind=kind, registry=offer("gate.twice", "two"))
    assert not seen.exists()


def test_a_strict_policy_keeps_everything_from_being_checked(offer: Any, seen: Path) -> None:
    offer("gate.old", "old", requires=["agent-express<0.0.1"])
    found = offer("gate.fine", "fine").with_policy(Policy(strict=True))
    with pytest.raises(PluginError, match="every plugin must be usable"):
        run_conformance("gate.fine", registry=found)
    assert not seen.exists()


def test_a_plugin_whose_import_failed_before_is_checked_again(offer: Any, seen: Path) -> None:
    found = offer("gate.broken", "broken", "1 / 0")
    with pytest.raises(PluginError, match="ZeroDivisionError"):
        found.load("gate.broken")
    [failed] = run_conformance("gate.broken", registry=found).of(Verdict.FAILED)
    assert failed.name == "light-import"
    assert "ZeroDivisionError" in failed.reason


@pytest.mark.parametrize("kind", GROUPS)
@pytest.mark.parametrize("source", ["raise SystemExit(3)", "raise KeyboardInterrupt", "import os; os._exit(3)"])
def test_a_module_that_ends_the_interpreter_is_a_failed_check_and_ends_another(
    offer: Any, kind: str, source: str
) -> None:
    report = run_conformance("gate.ends", kind=kind, registry=offer("gate.ends", "ends", source))
    assert [each.name for each in report.of(Verdict.FAILED)] == ["light-import"]
    assert {each.reason for each in report.of(Verdict.NOT_RUN)} == {"light-import has to pass first"}


@pytest.mark.parametrize("kind", GROUPS)
def test_an_entry_point_that_names_nothing_is_an_error(offer: Any, kind: str) -> None:
    with pytest.raises(BrokenPluginError, match="gate_lacks has no 'It'"):
        run_conformance("gate.lacks", kind=kind, registry=offer("gate.lacks", "lacks"))
