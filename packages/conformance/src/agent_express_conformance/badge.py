"""A badge of the result: a small picture for a README, and the JSON of an endpoint that draws one."""

from __future__ import annotations

import json
from html import escape
from pathlib import Path
from typing import Any

from .report import Report, Verdict

LABEL = "conformance"
_GREEN, _RED = "#2f7d4f", "#b3382c"
_WIDE, _NARROW = set("mwMW%@"), set("ijl1.,:;|!ftr() ")
_ROOM, _HEIGHT = 6, 20  # pixels: beside a text, and of the whole


def message_of(report: Report) -> str:
    """What the badge says: "18 of 18"; what is exempt counts."""
    done = len(report.of(Verdict.PASSED)) + len(report.of(Verdict.EXEMPT))
    return f"{done} of {len(report.checks)}"


def endpoint(report: Report) -> dict[str, Any]:
    """The badge as the JSON that drawing services read from an endpoint."""
    colour = (_GREEN if report.passed else _RED).removeprefix("#")
    return {"schemaVersion": 1, "label": LABEL, "message": message_of(report), "color": colour}


def svg(report: Report) -> str:
    """The badge as a picture of its own, without a font or a file from elsewhere."""
    message = message_of(report)
    left, right = _width(LABEL) + 2 * _ROOM, _width(message) + 2 * _ROOM
    colour = _GREEN if report.passed else _RED
    title = escape(f"{LABEL} of {report.plugin}: {report.summary}")
    text = 'y="14" fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11"'
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + right}" height="{_HEIGHT}" role="img" '
        f'aria-label="{title}">\n'
        f"<title>{title}</title>\n"
        f'<rect width="{left + right}" height="{_HEIGHT}" rx="4" fill="#3d434a"/>\n'
        f'<path d="M{left} 0h{right - 4}a4 4 0 0 1 4 4v{_HEIGHT - 8}a4 4 0 0 1-4 4h-{right - 4}z" fill="{colour}"/>\n'
        f'<text x="{_ROOM}" textLength="{left - 2 * _ROOM}" {text}>{LABEL}</text>\n'
        f'<text x="{left + _ROOM}" textLength="{right - 2 * _ROOM}" {text}>{escape(message)}</text>\n'
        "</svg>\n"
    )


def write_badge(report: Report, path: Path) -> None:
    """Write the badge: the endpoint's JSON where *path* ends in ".json", else the picture."""
    text = f"{json.dumps(endpoint(report), indent=2)}\n" if path.suffix.lower() == ".json" else svg(report)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="\n")


def write_report(report: Report, path: Path) -> None:
    """Write the whole result as JSON."""
    path.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps(report.to_json(), ensure_ascii=False, indent=2)
    path.write_text(f"{text}\n", encoding="utf-8", newline="\n")


def _width(text: str) -> int:
    """About how many pixels *text* takes in eleven pixels of a common sans serif."""
    return round(sum(9.5 if each in _WIDE else 4 if each in _NARROW else 6.8 for each in text))
