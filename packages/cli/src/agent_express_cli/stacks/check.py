"""`agent-express stack check`: the findings in text or as JSON, and what a rule is about."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from agent_express.errors import StackError

from ..exits import CommandError, Exit
from ..page import Page
from ..words import count, printable
from .checks import EXPLAINED, check_stack, permissions
from .findings import Finding, listed
from .load import Loaded, default, load
from .order import OWN_WHY
from .rules import RULES, Alone, Needs, Outside, Rule, Severity, rule
from .show import write_lines
from .text import EMPTY, Line, Span

if TYPE_CHECKING:
    from agent_express.stack import Stack, StackProblem

    from ..hosting.host import Host


def check_file(page: Page, spec: str | None, profile: str, *, strict: bool) -> int:
    """Check a stack; the exit code says whether it holds.

    Raises:
        CommandError: There is no such stack.
    """
    name = spec or default()
    try:
        loaded = load(name, profile, page.note)
    except StackError as error:
        found, wanted = unbuildable(error), dict[str, tuple[str, ...]]()
    else:
        found, wanted = find(loaded), permissions(loaded.view)
    failing = (Severity.ERROR, Severity.WARNING) if strict else (Severity.ERROR,)
    ok = not any(each.severity in failing for each in found)
    if page.as_json:
        page.object(report_object(name, found, wanted, ok=ok))
    else:
        write_lines(list(report_lines(name, found, wanted)))
    return Exit.OK if ok else Exit.FAILED


def find(loaded: Loaded) -> list[Finding]:
    """All findings: of the house, of the lock, of secrets, of plugins of the command line."""
    found = check_stack(loaded.view)
    if loaded.stack is not None:
        found += _lock(loaded.stack)
        found += _others(loaded, loaded.stack)
    found += [
        Finding("secret-missing", Severity.NOTE, each, "the agent cannot be made without it", "set it where it runs")
        for each in loaded.secrets.missing(others=_others_know_secrets(loaded.host))
    ]
    return sorted(found, key=lambda each: tuple(Severity).index(each.severity))


def _others_know_secrets(host: Host) -> bool:
    return any(not each.startswith("agent-express-cli:") for each in host.implementers("resolve_secret"))


def _lock(stack: Stack) -> list[Finding]:
    from agent_express.stack import drift, lock_path

    do = "run agent-express stack lock"
    if not lock_path(stack.path).is_file():
        message = f"there is no {lock_path(stack.path).name}: nobody can say later which versions ran"
        return [Finding("not-locked", Severity.NOTE, message, EXPLAINED["not-locked"], do)]
    return [Finding("drift", Severity.WARNING, each, EXPLAINED["drift"], do) for each in drift(stack)]


def _others(loaded: Loaded, stack: Stack) -> Iterator[Finding]:
    """What plugins of the command line have found; each problem counts as a warning."""
    for each in loaded.host.check_stack(stack):
        yield Finding("plugin", Severity.WARNING, each.message, "", each.advice, (), each.line, each.column)


def unbuildable(error: StackError) -> list[Finding]:
    """What is wrong with a stack file that cannot be put together."""
    return [
        Finding(
            "order" if _is_order(each) else "stack-file",
            Severity.ERROR,
            each.message,
            OWN_WHY if _is_order(each) else "",
            each.advice,
            (),
            each.line,
            each.column,
        )
        for each in error.problems
    ]


def _is_order(problem: StackProblem) -> bool:
    """Whether it is a rule of order that a layer brings along, which core checks before there is a stack."""
    return re.search(r" must stand (?:outside|inside) of ", problem.message) is not None


# --- in text --------------------------------------------------------------------------------------


def report_lines(path: str, found: Sequence[Finding], wanted: dict[str, tuple[str, ...]]) -> Iterator[Line]:
    """The findings, the worst first; then the order that would do and the permissions."""
    yield Span(f"{path}: ", "title"), Span(_counted(found))
    for finding in found:
        yield EMPTY
        yield from _told(path, finding)
    for agent, order, stands in _orders(found):
        yield EMPTY
        whose = f" of agent {agent}" if agent else ""
        yield Span(f"an order{whose} that would do", "level"), Span("  outermost first", "dim")
        for name in order:
            yield (
                Span(f"  {printable(name)}", "moved" if name in stands else ""),
                Span("  <- moved" if name in stands else "", "moved"),
            )
    if wanted:
        yield EMPTY
        yield (Span("permissions that the layers want", "level"),)
        for permission, names in wanted.items():
            yield Span(f"  {permission:<11}"), Span(printable(", ".join(names)), "dim")


def _counted(found: Sequence[Finding]) -> str:
    counts = [(severity, sum(each.severity is severity for each in found)) for severity in Severity]
    return ", ".join(count(number, severity.value) for severity, number in counts if number) or "nothing to say"


def _told(path: str, finding: Finding) -> Iterator[Line]:
    place = f"  {path}:{finding.line}:{finding.column}" if finding.line else ""
    whose = f"  agent {printable(finding.agent)}" if finding.agent else ""
    yield Span(finding.severity.value, finding.severity.value), Span(f"  {finding.rule}"), Span(place + whose, "dim")
    yield (Span(f"  {printable(finding.message)}"),)
    for title, text in (("why", finding.why), ("do", finding.advice)):
        if text:
            yield Span(f"  {title:<4}", "dim"), Span(printable(text))


def _orders(found: Sequence[Finding]) -> Iterator[tuple[str, tuple[str, ...], frozenset[str]]]:
    """The order of each agent that would do, with those who move."""
    seen: set[tuple[str, ...]] = set()
    for finding in found:
        if finding.order and finding.order not in seen:
            seen.add(finding.order)
            yield finding.agent, finding.order, frozenset(finding.moved)


# --- as JSON --------------------------------------------------------------------------------------


def report_object(
    path: str, found: Sequence[Finding], wanted: dict[str, tuple[str, ...]], *, ok: bool
) -> dict[str, Any]:
    """The report as JSON has it."""
    return {
        "type": "check",
        "path": path,
        "ok": ok,
        "counts": {each.value: sum(finding.severity is each for finding in found) for each in Severity},
        "findings": [finding_object(each) for each in found],
        "permissions": {permission: list(names) for permission, names in wanted.items()},
    }


def finding_object(finding: Finding) -> dict[str, Any]:
    """A finding as JSON has it."""
    return {
        "rule": finding.rule,
        "severity": finding.severity.value,
        "message": finding.message,
        "why": finding.why,
        "advice": finding.advice,
        "layers": list(finding.layers),
        "agent": finding.agent or None,
        "line": finding.line or None,
        "column": finding.column or None,
        "order": list(finding.order) or None,
        "moved": list(finding.moved) or None,
    }


# --- what a rule is about -------------------------------------------------------------------------


def explain_rule(page: Page, name: str) -> None:
    """Tell of the rule *name*; of each, where it is "all".

    Raises:
        CommandError: There is no such rule.
    """
    known = [*(each.id for each in RULES), *EXPLAINED]
    if name != "all" and name not in known:
        near = difflib.get_close_matches(name, known, 1, 0.5)
        hint = f"was {near[0]!r} meant?" if near else "--explain all lists them"
        raise CommandError(f"--explain {name}: there is no rule of that name; {hint}")
    for number, each in enumerate(known if name == "all" else [name]):
        if page.as_json:
            page.object(_rule_object(each))
        else:
            write_lines([*([EMPTY] if number else []), *_explained(each)])


def _explained(name: str) -> Iterator[Line]:
    found = rule(name)
    if found is None:
        yield (Span(name, "title"),)
        yield (Span(f"  {EXPLAINED[name]}"),)
        return
    yield Span(name, "title"), Span(f"  {found.severity.value}", found.severity.value)
    yield (Span(f"  {_says(found)}."),)
    yield Span("  why  ", "dim"), Span(f"otherwise {found.why}.")


def _says(found: Rule) -> str:
    who = listed(found.who, "or")
    match found:
        case Outside():
            return f"{who} stands outside of {listed(found.whom)}"
        case Needs():
            return f"a stack with {who} has {listed(found.whom, 'or')}, too"
        case Alone():
            return f"there is one {who} in a stack"


def _rule_object(name: str) -> dict[str, Any]:
    found = rule(name)
    if found is None:
        return {"type": "rule", "rule": name, "says": EXPLAINED[name]}
    whom = () if isinstance(found, Alone) else found.whom
    return {
        "type": "rule",
        "rule": name,
        "severity": found.severity.value,
        "relation": {Outside: "outside", Needs: "needs", Alone: "alone"}[type(found)],
        "who": list(found.who),
        "whom": list(whom),
        "says": _says(found),
        "why": found.why,
    }
