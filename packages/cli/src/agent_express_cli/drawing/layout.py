"""Where everything stands in the picture of an onion: boxes within boxes, each as wide as what stands in it. Pure.

The session wraps the turn, the turn wraps the model calls and, beside them, the tool calls. So the picture does.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from .onion import Onion, Row, Shell
from .text import fit, width

Kind: TypeAlias = Literal["frame", "shell", "core", "pill"]

PAD = 12.0
"""Between the edge of a shell and its label."""
MARK = 15.0
"""The dot before a name."""
WAVE = 26.0
"""The sign of a hook that streams."""
WIDEST_NAME = 270.0
WIDEST_PACKAGE = 220.0
"""What the label of one layer may ask for; it gets more where others have made room."""
GAP = 64.0
"""Between model and tool calls."""
LEFT = 84.0
"""Where message and answer stand."""
MARGIN = 22.0
HEAD = 62.0
PILL = 22.0
NOTES = {
    "session": "one conversation",
    "turn": "one message, one answer",
    "model": "each model call",
    "tool": "each tool call",
}


@dataclass(frozen=True, slots=True)
class Spacing:
    """How much room each shell gets: less, the deeper the onion.

    Attributes:
        strip: Above what is inside: the label stands there.
        side: Left and right of it.
        bottom: Below it.
        name: Size of the names.
        small: Size of what stands beside them.
    """

    strip: float
    side: float
    bottom: float
    name: float = 12.5
    small: float = 10.5


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle with rounded corners and what stands in it.

    Attributes:
        kind: The frame of a level, a shell, the core of a column, or a pill beside the onion.
        level: The level it belongs to; empty for pills.
        x: Its left edge.
        y: Its upper edge.
        w: Its width.
        h: Its height.
        depth: How many of its level stand around it.
        of: How many shells its level has.
        title: What stands in a frame or a core.
        lines: What stands below the title of a core.
        shell: The layer.
        off: Whether the layer does not run.
    """

    kind: Kind
    level: str
    x: float
    y: float
    w: float
    h: float
    depth: int = 0
    of: int = 1
    title: str = ""
    lines: tuple[str, ...] = ()
    shell: Shell | None = None
    off: bool = False


@dataclass(frozen=True, slots=True)
class Line:
    """An arrow from left to right, or back, with a word at its outer end."""

    x1: float
    x2: float
    y: float
    word: str
    word_x: float
    word_y: float
    anchor: Literal["start", "middle", "end"]


@dataclass(frozen=True, slots=True)
class Heading:
    """The title of a row of pills."""

    x: float
    y: float
    text: str


@dataclass(frozen=True, slots=True)
class Placed:
    """An onion with a place for everything in it."""

    width: float
    height: float
    spacing: Spacing
    boxes: tuple[Box, ...]
    lines: tuple[Line, ...]
    headings: tuple[Heading, ...]


@dataclass(frozen=True, slots=True)
class _Column:
    """A level with what is inside of it, measured."""

    level: str
    shells: tuple[Shell, ...]
    core: Box
    w: float
    above: float
    below: float


def place(onion: Onion, *, at_least: float = 0.0) -> Placed:
    """Give everything in *onion* its place.

    Args:
        onion: What is drawn.
        at_least: The width of the whole picture, where others need more.
    """
    (_, session), (_, turn), (_, calls), (_, tools) = onion.levels
    spacing = _spacing(len(session) + len(turn) + max(len(calls), len(tools)))
    left = _column("model", calls, _model_core(onion, spacing), spacing)
    right = _column("tool", tools, _tool_core(onion, spacing), spacing)
    side = spacing.side + 4
    inner = _around("turn", turn, left.w + GAP + right.w + 2 * side, spacing)
    outer = _around("session", session, inner + 2 * side, spacing)
    outer = max(outer, at_least - LEFT - MARGIN)
    boxes: list[Box] = []
    above, below = max(left.above, right.above), max(left.below, right.below)
    core_h = max(left.core.h, right.core.h)
    high = above + core_h + below + 2 * side - 6
    total = _height("session", session, _height("turn", turn, high, spacing), spacing)
    x, y, w, h = _nest(boxes, "session", session, (LEFT, HEAD, outer, total), spacing)
    x, y, w, h = _nest(boxes, "turn", turn, (x, y, w, h), spacing)
    extra = (w - 2 * side - GAP - left.w - right.w) / 2
    middle = y + side - 3 + above + core_h / 2
    edges: list[tuple[float, float]] = []
    start = x + side
    for column in (left, right):
        wide = column.w + extra
        edges.append(_put(boxes, column, start, middle, wide, spacing))
        start += wide + GAP
    lines = tuple(_arrows(edges, x + side + left.w + extra, middle))
    rows, headings, bottom = _rows(onion.rows, HEAD + total + 18, LEFT + outer, spacing)
    return Placed(LEFT + outer + MARGIN, bottom, spacing, (*boxes, *rows), lines, headings)


def _spacing(depth: int) -> Spacing:
    if depth <= 12:
        return Spacing(27, 11, 9)
    if depth <= 24:
        return Spacing(24, 8, 6, 12, 10)
    return Spacing(21, 6, 4, 11.5, 9.5)


# --- measuring, from the inside out ---------------------------------------------------------------


def _label(shell: Shell, spacing: Spacing) -> float:
    name = min(width(shell.name, spacing.name), WIDEST_NAME)
    package = min(width(shell.package, spacing.small), WIDEST_PACKAGE)
    return 2 * PAD + MARK + name + 16 + package + (WAVE if shell.streaming else 0)


def _heading(level: str) -> float:
    return 2 * PAD + width(f"{level}  {NOTES[level]}", 12)


def _around(level: str, shells: Sequence[Shell], inner: float, spacing: Spacing) -> float:
    """The width of a level whose inside is *inner* wide."""
    for shell in reversed(shells):
        inner = max(inner + 2 * spacing.side, _label(shell, spacing))
    return max(inner + 2 * spacing.side, _heading(level))


def _height(level: str, shells: Sequence[Shell], inner: float, spacing: Spacing) -> float:
    return inner + (1 + len(shells)) * (spacing.strip + spacing.bottom)


def _column(level: str, shells: tuple[Shell, ...], core: Box, spacing: Spacing) -> _Column:
    many = 1 + len(shells)
    wide = _around(level, shells, core.w + 2 * spacing.side, spacing)
    return _Column(level, shells, core, wide, many * spacing.strip, many * spacing.bottom + 4)


def _model_core(onion: Onion, spacing: Spacing) -> Box:
    name = fit(onion.model, 12, 250)
    return Box("core", "model", 0, 0, max(width(name, 12) + 36, 150), 52, title="model", lines=(name,))


def _tool_core(onion: Onion, spacing: Spacing) -> Box:
    lines = _wrapped(onion.tools, 210, 4)
    widest = max(width(line, 11) for line in lines)
    return Box("core", "tool", 0, 0, max(widest + 36, 150), 37 + 15 * len(lines), title="tools", lines=lines)


def _wrapped(names: Sequence[str], room: float, most: int) -> tuple[str, ...]:
    """*names* in at most *most* lines; the last says how many are missing."""
    lines: list[str] = []
    for place, name in enumerate(names):
        short = fit(name, 11, room)
        longer = f"{lines[-1]} · {short}" if lines else short
        if lines and width(longer, 11) <= room:
            lines[-1] = longer
        elif len(lines) < most:
            lines.append(short)
        else:
            lines.append(f"and {len(names) - place} more")
            break
    return tuple(lines or ["none"])


# --- placing, from the outside in -----------------------------------------------------------------


def _nest(
    boxes: list[Box],
    level: str,
    shells: Sequence[Shell],
    at: tuple[float, float, float, float],
    spacing: Spacing,
) -> tuple[float, float, float, float]:
    """Put the frame of a level at a place, and its shells into it; what remains inside of them."""
    x, y, w, h = at
    boxes.append(Box("frame", level, x, y, w, h, of=len(shells), title=NOTES[level]))
    for depth, shell in enumerate(shells):
        x, y, w, h = _inside((x, y, w, h), spacing)
        boxes.append(Box("shell", level, x, y, w, h, depth, len(shells), shell=shell))
    return _inside((x, y, w, h), spacing)


def _inside(at: tuple[float, float, float, float], spacing: Spacing) -> tuple[float, float, float, float]:
    x, y, w, h = at
    high = h - spacing.strip - spacing.bottom
    return x + spacing.side, y + spacing.strip, w - 2 * spacing.side, high


def _put(boxes: list[Box], column: _Column, x: float, middle: float, w: float, spacing: Spacing) -> tuple[float, float]:
    """Put a column so that the middle of its core is at *middle*; the left and right edge of its core."""
    core = column.core
    top = middle - core.h / 2 - column.above
    at = (x, top, w, column.above + core.h + column.below)
    x, y, w, _ = _nest(boxes, column.level, column.shells, at, spacing)
    x, w = x + spacing.side, w - 2 * spacing.side
    boxes.append(Box("core", column.level, x, y, w, core.h, title=core.title, lines=core.lines))
    return x, x + w


def _arrows(edges: Sequence[tuple[float, float]], gap: float, y: float) -> Iterable[Line]:
    """In to the model and out again; to the tools and back. *gap* is where the model calls end, *y* the middle."""
    (model, model_end), (tool, _) = edges
    between = gap + GAP / 2
    yield Line(LEFT - 16, model, y - 8, "message", LEFT - 22, y - 4, "end")
    yield Line(model, LEFT - 16, y + 8, "answer", LEFT - 22, y + 12, "end")
    yield Line(model_end, tool, y - 8, "calls", between, y - 15, "middle")
    yield Line(tool, model_end, y + 8, "results", between, y + 24, "middle")


def _rows(
    rows: Sequence[Row], y: float, right: float, spacing: Spacing
) -> tuple[tuple[Box, ...], tuple[Heading, ...], float]:
    """Rows of pills below the onion, and where the picture ends."""
    boxes: list[Box] = []
    headings: list[Heading] = []
    indent = LEFT + 104
    for row in rows:
        headings.append(Heading(LEFT, y + 15, row.title))
        x = indent
        for shell in row.shells:
            wide = min(width(shell.name, spacing.small) + MARK + 20, right - indent)
            if x + wide > right and x > indent:
                x, y = indent, y + PILL + 6
            boxes.append(Box("pill", "", x, y, wide, PILL, shell=shell, off=row.off))
            x += wide + 6
        y += PILL + 10
    return tuple(boxes), tuple(headings), y + (6 if rows else -8)
