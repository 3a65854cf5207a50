"""The result, for machines and for people, and the badge."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from agent_express.errors import PluginError, UnknownPluginError
from agent_express.registry import Registry
from agent_express_conformance import (
    CHECKS,
    Report,
    Result,
    Verdict,
    as_text,
    endpoint,
    run_conformance,
    svg,
    write_badge,
    write_report,
)


def report(*outcomes: Verdict) -> Report:
    checks = tuple(
        Result(f"check-{n}", f"it does <{n}> & more", outcome, "" if outcome is Verdict.PASSED else f"why {n}")
        for n, outcome in enumerate(outcomes)
    )
    return Report(
        "a.b", "middleware", "agent-express-a", "1.2", "0.1.0", 1, checks, {"import seconds": 0.25, "x": None}
    )


PASSED, FAILED, EXEMPT, NOT_RUN = Verdict


@pytest.mark.parametrize(
    ("outcomes", "passed", "summary"),
    [
        ([PASSED, PASSED], True, "2 passed"),
        ([PASSED, EXEMPT], True, "1 passed, 1 exempt"),
        ([PASSED, FAILED], False, "1 passed, 1 failed"),
        ([PASSED, NOT_RUN], False, "1 passed, 1 not run"),
        ([], False, "nothing checked"),
    ],
)
def test_a_report_has_passed_where_nothing_failed_and_nothing_was_left_out(
    outcomes: list[Verdict], passed: bool, summary: str
) -> None:
    found = report(*outcomes)
    assert (found.passed, found.summary) == (passed, summary)


def test_a_report_for_people_has_a_line_for_each_check_and_says_why_where_it_did_not_pass() -> None:
    assert as_text(report(PASSED, FAILED, EXEMPT)).splitlines() == [
        "a.b (agent-express-a 1.2)",
        "  ✓ it does <0> & more",
        "  ✗ it does <1> & more",
        "      why 1",
        "  ○ it does <2> & more",
        "      exempt: why 2",
        "  import seconds: 0.25",
        "1 passed, 1 failed, 1 exempt",
    ]
    assert "\x1b[31m" in as_text(report(FAILED), colour=True)


def test_a_report_for_machines_holds_everything(tmp_path: Path) -> None:
    write_report(report(PASSED, FAILED), tmp_path / "new" / "report.json")
    held = json.loads((tmp_path / "new" / "report.json").read_text(encoding="utf-8"))
    assert {key: held[key] for key in ("plugin", "kind", "distribution", "version", "core_version", "contract")} == {
        "plugin": "a.b",
        "kind": "middleware",
        "distribution": "agent-express-a",
        "version": "1.2",
        "core_version": "0.1.0",
        "contract": 1,
    }
    assert (held["passed"], held["summary"]) == (False, "1 passed, 1 failed")
    assert held["checks"][1] == {
        "name": "check-1",
        "sentence": "it does <1> & more",
        "outcome": "failed",
        "reason": "why 1",
        "case": "",
        "seconds": 0.0,
    }
    assert held["figures"] == {"import seconds": 0.25, "x": None}


@pytest.mark.parametrize(("outcomes", "message"), [([PASSED, EXEMPT], "2 of 2"), ([PASSED, FAILED, NOT_RUN], "1 of 3")])
def test_a_badge_says_how_many_of_how_many_and_shows_by_its_colour_whether_that_is_all(
    outcomes: list[Verdict], message: str, tmp_path: Path
) -> None:
    found = report(*outcomes)
    told = endpoint(found)
    assert (told["schemaVersion"], told["label"], told["message"]) == (1, "conformance", message)
    assert (told["color"] == endpoint(report(PASSED))["color"]) is found.passed
    picture = ElementTree.fromstring(svg(found))
    assert [each.text for each in picture.iter() if each.tag.endswith("text")] == ["conformance", message]
    assert told["color"] in svg(found)
    write_badge(found, tmp_path / "badge.svg")
    write_badge(found, tmp_path / "badge.json")
    assert (tmp_path / "badge.svg").read_text(encoding="utf-8") == svg(found)
    assert json.loads((tmp_path / "badge.json").read_text(encoding="utf-8")) == told


def test_results_are_told_as_they_come(shop: Registry) -> None:
    seen: list[Result] = []
    found = run_conformance("shop.hurry", registry=shop, told=seen.append)
    assert tuple(seen) == found.checks
    assert [each.name for each in seen] == [check.name for check in CHECKS]
    assert (found.distribution, found.version, found.contract) == ("agent-express-shop", "1.0.0", 1)
    figures = found.figures
    assert figures["awaits cancelled"]
    assert {name for name, value in figures.items() if value is not None} == {
        "import seconds",
        "import share of core",
        "awaits cancelled",
        "own microseconds per turn",
        "times a no-op layer",
    }


def test_a_name_that_is_not_there_and_a_kind_without_a_kit_are_errors_that_say_so(shop: Registry) -> None:
    with pytest.raises(UnknownPluginError, match=r"nearest: shop\.hurry"):
        run_conformance("shop.hury", registry=shop)
    with pytest.raises(PluginError, match="there is no kit for the kind 'stores'"):
        run_conformance("shop.hurry", kind="stores", registry=shop)
