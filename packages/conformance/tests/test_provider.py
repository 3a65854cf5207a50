"""The kit for providers: the same face as that for middleware."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

import pytest
from packages.conformance.tests.test_cases import KIT, run_pytest
from packages.core.tests import test_provider_kit as of_core

from agent_express.messages import Text, ToolCall, Usage
from agent_express.registry import Registry
from agent_express.testing.distributions import write_distribution
from agent_express.testing.provider_kit import USAGE, Refusal, Spoken
from agent_express.testing.stand_in import Reply
from agent_express_conformance import ConformanceError, ProviderConformance, Verdict, run_conformance


class TestARightAdapter(ProviderConformance):
    flaw = ""

    def _kit(self) -> Any:
        kit = of_core.TestARightAdapter()
        kit.flaw = self.flaw
        return kit

    def model(self, url: str, *, key: str = "kit") -> Any:
        return self._kit().model(url, key=key)

    def spoken(self, *parts: Text | ToolCall, usage: Usage | None = USAGE) -> Spoken:
        return self._kit().spoken(*parts, usage=usage)  # type: ignore[no-any-return]

    def broken(self) -> bytes:
        return self._kit().broken()  # type: ignore[no-any-return]

    def refusal(self, why: Refusal) -> Reply:
        return self._kit().refusal(why)  # type: ignore[no-any-return]


class Vague(TestARightAdapter):
    __test__ = False
    flaw = "vague"


class VagueOnPurpose(Vague):
    exempt: ClassVar[dict[str, str]] = {"test_a_refused_key_is_an_authentication_error": "it tells nobody why"}


def test_a_case_fails_with_what_was_found() -> None:
    with pytest.raises(ConformanceError, match="Vague: expected AuthenticationError, found ModelError"):
        Vague().test_a_refused_key_is_an_authentication_error()  # type: ignore[attr-defined]


def test_a_case_with_a_reason_is_exempt() -> None:
    with pytest.raises(pytest.xfail.Exception, match="it tells nobody why"):
        VagueOnPurpose().test_a_refused_key_is_an_authentication_error()  # type: ignore[attr-defined]


@pytest.mark.parametrize("missing", ["model", "spoken", "broken", "refusal"])
def test_what_an_adapter_has_not_filled_in_says_what_it_must_return(missing: str) -> None:
    arguments: dict[str, tuple[Any, ...]] = {"model": ("http://x",), "refusal": ("rate_limit",)}
    with pytest.raises(NotImplementedError, match=rf"ProviderConformance\.{missing}\(.*\) must return"):
        getattr(ProviderConformance(), missing)(*arguments.get(missing, ()))


# --- installed ------------------------------------------------------------------------------------

SHIPS = """
from packages.conformance.tests.test_provider import TestARightAdapter


class Kit(TestARightAdapter):
    flaw = "{flaw}"
"""
CREATE = '''
def create(name: str):
    """Make a model."""
    raise RuntimeError("nobody asked for one")
'''


def entry(summary: str) -> dict[str, Any]:
    config = {"type": "object", "properties": {}, "additionalProperties": False}
    return {"group": "models", "summary": summary, "stability": "alpha", "streaming": True, "config": config}


@pytest.fixture(scope="module")
def providers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Two providers that ship a kit, one of them flawed, and one that ships none."""
    folder = tmp_path_factory.mktemp("providers")
    for name, flaw in (("right", ""), ("flawed", "vague"), ("bare", None)):
        package = f"agent_express_provider_{name}"
        modules = {f"{package}/__init__.py": CREATE}
        if flaw is not None:
            modules[f"{package}/conformance.py"] = SHIPS.format(flaw=flaw)
        write_distribution(
            folder,
            f"agent-express-provider-{name}",
            entry_points={"models": {name: f"{package}:create"}},
            modules=modules,
            manifest={"contract": 1, "entries": {name: entry("Make a model.")}},
        )
    sys.path.insert(0, str(folder))
    yield folder
    sys.path.remove(str(folder))


def test_an_installed_provider_that_ships_a_kit_is_checked_by_name(providers: Path) -> None:
    report = run_conformance("right", kind="models", registry=Registry(path=[str(providers)], environ={}))
    assert report.passed, report.to_json()
    assert (report.kind, report.distribution) == ("models", "agent-express-provider-right")
    assert len(report.checks) == 3 + 22


def test_a_flawed_provider_fails_the_cases_of_its_flaw(providers: Path) -> None:
    report = run_conformance("flawed", kind="models", registry=Registry(path=[str(providers)], environ={}))
    failed = {result.name for result in report.of(Verdict.FAILED)}
    assert "test_a_refused_key_is_an_authentication_error" in failed
    assert failed == {case for flaw, case in of_core.FLAWS if flaw == "vague"} | failed & {
        "test_a_rate_limit_says_how_long_to_wait"
    }


def test_of_a_provider_that_ships_no_kit_the_report_says_what_is_missing(providers: Path) -> None:
    report = run_conformance("bare", kind="models", registry=Registry(path=[str(providers)], environ={}))
    assert not report.passed
    [lacking] = report.of(Verdict.NOT_RUN)
    assert "a subclass of ProviderConformance" in lacking.reason
    assert "agent_express_provider_bare.conformance" in lacking.reason
    assert not report.of(Verdict.FAILED)


def test_pytest_checks_an_installed_provider_too(providers: Path) -> None:
    root = str(Path(__file__).resolve().parents[3])
    code, lines = run_pytest(providers, *KIT, "--provider", "bare", "-o", f"pythonpath={root}", "-k", "manifest or key")
    assert code == 1
    assert any("test_the_manifest_says_what_the_code_is[bare] PASSED" in line for line in lines), "\n".join(lines)
    assert any("agent_express_provider_bare.conformance" in line for line in lines)
