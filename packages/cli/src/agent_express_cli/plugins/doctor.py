"""`agent-express plugins doctor`: what is well, and what is not."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict

from ..exits import Exit
from ..hosting.checks import Check, Status
from ..page import Page
from ..talking.assemble import make_host

STYLES: dict[Status, str] = {"ok": "green", "warn": "yellow", "fail": "red"}


def show_doctor(page: Page, *, everything: bool, details: bool) -> Exit:
    """Ask all plugins of the command line for their checks and show them; `Exit.FAILED` where one fails."""
    host = make_host(_nothing)
    checks = host.doctor()
    counted = Counter(check.status for check in checks)
    for check in sorted(checks, key=lambda check: list(STYLES).index(check.status)):
        if page.as_json:
            page.object({"type": "check", **asdict(check)})
        elif everything or check.status != "ok" or check.name in ("python", "agent-express", "plugins", "policy"):
            _show(page, check, details=details)
    if not page.as_json:
        page.line(", ".join(f"{counted[status]} {status}" for status in STYLES))
    return Exit.FAILED if counted["fail"] else Exit.OK


def _show(page: Page, check: Check, *, details: bool) -> None:
    advice = f" ({check.advice})" if check.advice else ""
    page.line(f"{check.status:<5} {check.name}: {check.message}{advice}", STYLES[check.status])
    for line in check.details.splitlines() if details else ():
        page.line(f"      {line}")


def _nothing(problem: str) -> None:
    """It is among the checks."""
