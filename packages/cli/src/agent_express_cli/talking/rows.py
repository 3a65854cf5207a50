"""How many rows of a terminal a text fills, so that it can be taken back."""

from __future__ import annotations

from rich.cells import cell_len

TAB = 8
"""Columns between two tab stops."""


def rows_of(text: str, width: int) -> int:
    """Rows that *text* fills, at least 1, when it begins in the first column of a terminal of *width* columns.

    A character that does not fit goes to the next row; the cursor stays on a full row until then.
    """
    return sum(_rows_of_line(line, width) for line in text.split("\n"))


def _rows_of_line(line: str, width: int) -> int:
    if line.isascii() and "\t" not in line:
        return max(1, -(-len(line) // width))
    rows, column = 1, 0
    for character in line:
        if character == "\t":
            column = max(column, min(column + TAB - column % TAB, width - 1))
            continue
        cells = cell_len(character)
        if column + cells > width:
            rows, column = rows + 1, 0
        column += cells
    return rows
