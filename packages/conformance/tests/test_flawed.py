"""Each check catches the flaw it is there for, and no other check cries out because of it."""

from __future__ import annotations

import tempfile
from functools import cache
from pathlib import Path

import pytest
from packages.conformance.tests.stock import FLAWED, WELL_BEHAVED, name_of

from agent_express.registry import Registry
from agent_express_conformance import CHECKS, Report, Verdict, as_text, run_conformance

PUTS_AN_END_TO_IT = {"light-import", "settings", "signatures", "lifecycle", "manifest"}


@cache
def checked(thing: str, shop: Registry) -> Report:
    """The report of one of the shop's middleware, made once, with a clock that only it can move."""

    def now() -> float:
        import agent_express_shop.flawed as flawed  # type: ignore[import-not-found]

        return float(flawed.TakesItsTime.now)

    report = run_conformance(name_of(thing), registry=shop, clock=now)
    if thing == "LeavesAThread":
        import agent_express_shop.flawed as flawed

        flawed.LeavesAThread.over.set()
    return report


@pytest.mark.parametrize("thing", FLAWED)
def test_a_flaw_is_caught_by_the_check_that_is_there_for_it_and_by_no_other(
    thing: str, shop: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    report = checked(thing, shop)
    assert [result.name for result in report.of(Verdict.FAILED)] == [FLAWED[thing]], as_text(report)
    assert not report.of(Verdict.NOT_RUN) or FLAWED[thing] in PUTS_AN_END_TO_IT
    assert not report.passed


@pytest.mark.parametrize("thing", WELL_BEHAVED)
def test_a_well_behaved_middleware_passes_every_check(thing: str, shop: Registry) -> None:
    report = checked(thing, shop)
    assert report.passed, as_text(report)
    exempt = WELL_BEHAVED[thing].get("exempt", {})
    assert {result.name: result.reason for result in report.of(Verdict.EXEMPT)} == exempt
    assert [result.name for result in report.checks] == [check.name for check in CHECKS]


def test_every_check_is_known_to_catch_something() -> None:
    assert {check.name for check in CHECKS} == set(FLAWED.values())


@pytest.mark.parametrize("thing", FLAWED)
def test_a_failure_is_a_sentence_that_names_who_and_says_what_to_do(
    thing: str, shop: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    [failure] = checked(thing, shop).of(Verdict.FAILED)
    assert failure.reason.startswith(name_of(thing)), failure.reason
    assert len(failure.reason.split()) > 8
