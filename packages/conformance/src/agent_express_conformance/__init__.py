"""The conformance kit: what middleware and providers of Agent Express are checked with, by whoever writes them.

pytest --pyargs agent_express_conformance --middleware guards.cost-cap
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .badge import endpoint, svg, write_badge, write_report
from .cases import MiddlewareConformance
from .checks import CHECKS, Check
from .failure import CheckFailed
from .report import Report, Result, Verdict, as_text
from .run import run_conformance

if TYPE_CHECKING:
    from .provider import ProviderConformance

__all__ = [
    # run it
    "MiddlewareConformance",
    "ProviderConformance",
    "run_conformance",
    # what it says
    "CHECKS",
    "Check",
    "CheckFailed",
    "Report",
    "Result",
    "Verdict",
    "as_text",
    # what is kept
    "endpoint",
    "svg",
    "write_badge",
    "write_report",
]


def __getattr__(name: str) -> Any:
    if name == "ProviderConformance":
        from .provider import ProviderConformance  # it needs pytest, which the rest does without

        return ProviderConformance
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
