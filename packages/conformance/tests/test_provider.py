"""The kit for providers: the same face as that for middleware."""

from __future__ import annotations

import sys
from collections import Counter
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


TWO_KITS = """

class OfTheOther(TestARightAdapter):
    entries = ("other",)
"""


def entry(**declared: Any) -> dict[str, Any]:
    config = {"type": "object", "properties": {}, "additionalProperties": False}
    written = {"group": "models", "summary": "Make a model.", "stability": "alpha", "streaming": True, "config": config}
    return {**written, **declared}


def publish(folder: Path, name: str, kit: str = "", *, others: tuple[str, ...] = (), **declared: Any) -> None:
    """A provider with one more entry for each of *others*; *kit* is what it ships."""
    package = f"agent_express_provider_{name}"
    names = (name, *others)
    write_distribution(
        folder,
        f"agent-express-provider-{name}",
        entry_points={"models": dict.fromkeys(names, f"{package}:create")},
        modules={f"{package}/__init__.py": CREATE} | ({f"{package}/conformance.py": kit} if kit else {}),
        manifest={"contract": 1, "entries": {each: entry(**declared) for each in names}},
    )


@pytest.fixture(scope="module")
def providers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Providers that ship a right kit, a flawed one, none, one that cannot be imported, and kits for two entries."""
    folder = tmp_path_factory.mktemp("providers")
    publish(folder, "right", SHIPS.format(flaw=""))
    publish(folder, "flawed", SHIPS.format(flaw="vague"))
    publish(folder, "bare")
    publish(folder, "torn", "import no_such_module_anywhere")
    publish(folder, "both", SHIPS.format(flaw="") + TWO_KITS, others=("other",))
    publish(folder, "alone", exempt={"provider-kit": "It has no server."})
    publish(folder, "silent", exempt={"provider-kit": " "})
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
    assert "a subclass of ProviderKit" in lacking.reason
    assert "agent_express_provider_bare.conformance" in lacking.reason
    assert not report.of(Verdict.FAILED)


def test_a_kit_that_cannot_be_imported_is_a_failure_that_says_why(providers: Path) -> None:
    report = run_conformance("torn", kind="models", registry=Registry(path=[str(providers)], environ={}))
    [failed] = report.of(Verdict.FAILED)
    assert failed.name == "provider-kit"
    assert "agent_express_provider_torn.conformance" in failed.reason
    assert "no_such_module_anywhere" in failed.reason


@pytest.mark.parametrize(("name", "kits"), [("both", {"": 22}), ("other", {"Kit": 22, "OfTheOther": 22})])
def test_of_several_kits_an_entry_runs_those_that_are_for_it(providers: Path, name: str, kits: dict[str, int]) -> None:
    report = run_conformance(name, kind="models", registry=Registry(path=[str(providers)], environ={}))
    assert Counter(check.case for check in report.checks if check.name.startswith("test_")) == kits
    assert report.passed, report.to_json()


def test_a_provider_that_has_no_server_says_so_in_its_manifest(providers: Path) -> None:
    report = run_conformance("alone", kind="models", registry=Registry(path=[str(providers)], environ={}))
    assert report.passed, report.to_json()
    assert [(each.name, each.reason) for each in report.of(Verdict.EXEMPT)] == [("provider-kit", "It has no server.")]


def test_a_provider_that_does_not_say_why_is_not_exempt(providers: Path) -> None:
    report = run_conformance("silent", kind="models", registry=Registry(path=[str(providers)], environ={}))
    assert [each.name for each in report.of(Verdict.FAILED)] == ["exemptions"]
    assert [each.name for each in report.of(Verdict.NOT_RUN)] == ["provider-kit"]


def test_pytest_checks_an_installed_provider_too(providers: Path) -> None:
    root = str(Path(__file__).resolve().parents[3])
    code, lines = run_pytest(providers, *KIT, "--provider", "bare", "-o", f"pythonpath={root}", "-k", "manifest or key")
    assert code == 1
    assert any("test_the_manifest_says_what_the_code_is[bare] PASSED" in line for line in lines), "\n".join(lines)
    assert any("agent_express_provider_bare.conformance" in line for line in lines)
