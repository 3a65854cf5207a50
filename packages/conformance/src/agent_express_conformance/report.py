"""The result of a run of the kit: for machines, and for people."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any


class Verdict(StrEnum):
    """How a check came out.

    PASSED     it holds
    FAILED     it does not; the reason is a sentence
    EXEMPT     its author says why it cannot hold
    NOT_RUN    it needs what another check has found broken
    """

    PASSED = "passed"
    FAILED = "failed"
    EXEMPT = "exempt"
    NOT_RUN = "not_run"


@dataclass(frozen=True, slots=True)
class Result:
    """How one check came out.

    Attributes:
        name: What an exemption names.
        sentence: What must hold.
        outcome: How it came out.
        reason: Why it failed, is exempt or was not run; empty where it passed.
        seconds: What it took.
        case: The form in which it was checked, of those that the plugin's own hook names, or the kit, where a provider
            ships more than one; empty for the only one.
    """

    name: str
    sentence: str
    outcome: Verdict
    reason: str = ""
    seconds: float = 0.0
    case: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """What the kit has found.

    Attributes:
        plugin: The name of what was checked.
        kind: "middleware" or "models".
        distribution: Whose it is; empty for what nobody published.
        version: The version of that.
        core_version: The version of agent-express that it was checked with.
        contract: The number of the agreement between core and plugins.
        checks: The results, in order.
        figures: What was measured; None where there was nothing to measure.
    """

    plugin: str
    kind: str
    distribution: str
    version: str
    core_version: str
    contract: int
    checks: tuple[Result, ...]
    figures: Mapping[str, float | None] = field(default_factory=dict[str, float | None])

    @property
    def passed(self) -> bool:
        """Whether every check passed or is exempt."""
        return bool(self.checks) and not self.of(Verdict.FAILED) and not self.of(Verdict.NOT_RUN)

    def of(self, outcome: Verdict) -> tuple[Result, ...]:
        """The checks that came out so."""
        return tuple(check for check in self.checks if check.outcome is outcome)

    @property
    def summary(self) -> str:
        """The counts in a few words, "17 passed, 1 exempt"."""
        counts = [(len(self.of(each)), each.value.replace("_", " ")) for each in Verdict]
        return ", ".join(f"{count} {what}" for count, what in counts if count) or "nothing checked"

    def to_json(self) -> dict[str, Any]:
        """The report as JSON data."""
        return {
            "plugin": self.plugin,
            "kind": self.kind,
            "distribution": self.distribution,
            "version": self.version,
            "core_version": self.core_version,
            "contract": self.contract,
            "passed": self.passed,
            "summary": self.summary,
            "checks": [
                {
                    "name": check.name,
                    "sentence": check.sentence,
                    "outcome": check.outcome.value,
                    "reason": check.reason,
                    "case": check.case,
                    "seconds": round(check.seconds, 6),
                }
                for check in self.checks
            ],
            "figures": dict(self.figures),
        }


_MARKS = {Verdict.PASSED: "✓", Verdict.FAILED: "✗", Verdict.EXEMPT: "○", Verdict.NOT_RUN: "·"}
_COLOURS = {Verdict.PASSED: "32", Verdict.FAILED: "31", Verdict.EXEMPT: "33", Verdict.NOT_RUN: "2"}


def as_text(report: Report, *, colour: bool = False) -> str:
    """The report for people: one line for each check, and what to do where it failed.

    Args:
        report: What was found.
        colour: Whether a terminal reads it.
    """
    return "\n".join(
        [
            title(report, colour=colour),
            *(line(check, colour=colour) for check in report.checks),
            end(report, colour=colour),
        ]
    )


def title(report: Report, *, colour: bool = False) -> str:
    """What was checked."""
    origin = f" ({report.distribution} {report.version})" if report.distribution else ""
    return _painted(f"{report.plugin}{origin}", "1", colour)


def line(check: Result, *, colour: bool = False) -> str:
    """How one check came out; a second line says why it did not pass."""
    paint = _COLOURS[check.outcome]
    case = f" ({check.case})" if check.case else ""
    shown = f"  {_painted(_MARKS[check.outcome], paint, colour)} {check.sentence}{case}"
    if not check.reason:
        return shown
    what = "" if check.outcome is Verdict.FAILED else f"{check.outcome.value.replace('_', ' ')}: "
    return f"{shown}\n{_painted(f'      {what}{check.reason}', paint, colour)}"


def end(report: Report, *, colour: bool = False) -> str:
    """What was measured, and the counts."""
    figures = [f"{name}: {value:,.3g}" for name, value in report.figures.items() if value is not None]
    measured = [_painted(f"  {'; '.join(figures)}", "2", colour)] if figures else []
    return "\n".join([*measured, _painted(report.summary, "32" if report.passed else "31", colour)])


def _painted(text: str, code: str, colour: bool) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if colour else text
