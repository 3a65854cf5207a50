"""The rows as a table for people, as JSON, and as a section of a document."""

from __future__ import annotations

import json
import platform
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from benchmarks.rows import Row

SECTION = re.compile(r"(<!-- costs(?P<names>(?: [\w-]+)*) -->\n).*?(<!-- /costs -->)", re.DOTALL)
"""Where a document wants the table: between `<!-- costs -->` and `<!-- /costs -->`, or with the names of some rows."""
HEAD = ("", "plain Python", "least Express", "Agent Express", "ratio", "at most")


def as_json(rows: Sequence[Row]) -> str:
    """All figures, for programs."""
    figures = {"python": platform.python_version(), "rows": [row.as_json() for row in rows]}
    return json.dumps(figures, indent=2, ensure_ascii=False)


def as_table(rows: Sequence[Row]) -> str:
    """Aligned columns; the last says what became of the bound."""
    lines = [["row", *HEAD[1:], ""], *[[row.name, *_cells(row), _verdict(row)] for row in rows]]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join([_aligned(line, widths) for line in lines])


def _aligned(cells: Sequence[str], widths: Sequence[int]) -> str:
    first, *numbers, last = cells
    padded = [cell.rjust(width) for cell, width in zip(numbers, widths[1:-1], strict=True)]
    return "  ".join([first.ljust(widths[0]), *padded, last]).rstrip()


def as_markdown(rows: Sequence[Row]) -> str:
    """A table of Markdown."""
    lines = [HEAD, ("---", *["--:"] * (len(HEAD) - 1)), *[(row.what, *_cells(row)) for row in rows]]
    return "".join([f"| {' | '.join(cells)} |\n" for cells in lines]).replace("|  |", "| |")


def _cells(row: Row) -> list[str]:
    return [
        _amount(row.plain, row.unit),
        _amount(row.express, row.unit),
        _amount(row.ours, row.unit),
        f"{_short(row.ratio)} x {row.limit.of}" if row.limit.of else "-",
        f"{_short(row.limit.factor)} x" if row.limit.of else _amount(row.limit.factor, row.unit),
    ]


def _amount(value: float | None, unit: str) -> str:
    if value is None:
        return "-"
    return f"{_short(value)} {unit}".rstrip()


def _short(value: float) -> str:
    """Three digits at most before and two after the point, none that say nothing: "0.02", "4.3", "93"."""
    digits = 0 if abs(value) >= 20 else 1 if abs(value) >= 2 else 2
    text = f"{value:.{digits}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _verdict(row: Row) -> str:
    return f"{'ok' if row.holds else 'OVER'} ({row.used:.0%})"


def write(rows: Sequence[Row], documents: Iterable[Path]) -> None:
    """Put the table between the marks of each document.

    Raises:
        ValueError: A document has no such marks, or names a row that was not measured.
    """
    made = {document: _with_table(rows, document) for document in documents}
    for document, text in made.items():
        document.write_text(text, encoding="utf-8", newline="\n")


def _with_table(rows: Sequence[Row], document: Path) -> str:
    text = document.read_text(encoding="utf-8")
    if SECTION.search(text) is None:
        raise ValueError(f"{document.name} has no place for the table: put <!-- costs --> and <!-- /costs --> into it")
    return SECTION.sub(
        lambda found: f"{found[1]}\n{as_markdown(_chosen(rows, found['names'], document))}\n{found[3]}", text
    )


def _chosen(rows: Sequence[Row], names: str, document: Path) -> list[Row]:
    wanted = names.split() or [row.name for row in rows]
    by_name = {row.name: row for row in rows}
    missing = [name for name in wanted if name not in by_name]
    if missing:
        raise ValueError(f"{document.name} wants the row {missing[0]!r}, which was not measured: {', '.join(by_name)}")
    return [by_name[name] for name in wanted]
