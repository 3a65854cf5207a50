"""The conformance kit: what middleware and providers of Agent Express are checked with, by whoever writes them.

pytest --pyargs agent_express_conformance --middleware guards.cost-cap

Nothing is imported before it is asked for: the kit's plugin for pytest is loaded in every run of pytest.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .badge import endpoint, svg, write_badge, write_report
    from .cases import MiddlewareConformance
    from .checks import CHECKS, Check
    from .failure import ConformanceError
    from .provider import ProviderConformance
    from .report import Report, Result, Verdict, as_text
    from .run import run_conformance

__all__ = [
    # run it
    "MiddlewareConformance",
    "ProviderConformance",
    "run_conformance",
    # what it says
    "CHECKS",
    "Check",
    "ConformanceError",
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

_HOMES = {
    "badge": ("endpoint", "svg", "write_badge", "write_report"),
    "cases": ("MiddlewareConformance",),
    "checks": ("CHECKS", "Check"),
    "failure": ("ConformanceError",),
    "provider": ("ProviderConformance",),
    "report": ("Report", "Result", "Verdict", "as_text"),
    "run": ("run_conformance",),
}


def __getattr__(name: str) -> Any:
    home = next((home for home, names in _HOMES.items() if name in names), None)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{home}"), name)
