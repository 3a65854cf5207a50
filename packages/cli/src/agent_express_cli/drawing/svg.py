"""Onions as an SVG picture: no script, no font of its own, legible in light and in dark. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .layout import PAD, Box, Heading, Line, Placed, place
from .onion import Onion
from .text import clean, escape, fit, is_plain, width

MONO = 'ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace'
SANS = 'system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",Arial,sans-serif'

STYLE = f"""\
text{{font-family:{SANS}}}
.m{{font-family:{MONO}}}
.b{{font-weight:600}}
.card{{fill:#fff;stroke:#d1d9e0}}
.paper{{fill:#fff}}
.t{{fill:#1f2328}}
.d{{fill:#4c5561}}
.w{{fill:#fff}}
.v{{fill:#fff;opacity:.82}}
.l{{stroke:#4c5561;fill:none}}
.a{{fill:#4c5561}}
.pill{{fill:#f6f8fa;stroke:#d1d9e0}}
.off{{fill:none;stroke:#8b949e;stroke-dasharray:4 3}}
.session{{fill:#64748b;stroke:#64748b}}
.turn{{fill:#2f81f7;stroke:#2f81f7}}
.model{{fill:#8b5cf6;stroke:#8b5cf6}}
.tool{{fill:#0f9f8f;stroke:#0f9f8f}}
.hsession{{fill:#475569}}
.hturn{{fill:#1d5fc4}}
.hmodel{{fill:#6d28d9}}
.htool{{fill:#0b6e63}}
.ssession{{fill:none;stroke:#475569}}
.sturn{{fill:none;stroke:#1d5fc4}}
.smodel{{fill:none;stroke:#6d28d9}}
.stool{{fill:none;stroke:#0b6e63}}
.cmodel{{fill:#6d28d9}}
.ctool{{fill:#0b6e63}}
@media(prefers-color-scheme:dark){{
.card{{fill:#0d1117;stroke:#30363d}}
.paper{{fill:#0d1117}}
.t{{fill:#e6edf3}}
.d{{fill:#a9b3be}}
.l{{stroke:#a9b3be}}
.a{{fill:#a9b3be}}
.pill{{fill:#161b22;stroke:#30363d}}
.hsession{{fill:#a3b1c6}}
.hturn{{fill:#7fb4ff}}
.hmodel{{fill:#bfa3ff}}
.htool{{fill:#4fd1c1}}
.ssession{{stroke:#a3b1c6}}
.sturn{{stroke:#7fb4ff}}
.smodel{{stroke:#bfa3ff}}
.stool{{stroke:#4fd1c1}}
}}
"""

DOTS = (
    "#e5484d", "#f0801a", "#d9a400", "#46a758", "#12a594", "#0091ff",
    "#6e56cf", "#d6409f", "#8a6f5c", "#05a2c2", "#86a017", "#8e4ec6",
)  # fmt: skip
"""One colour per layer, wherever it stands; from the thirteenth on they come again."""

TINT = 0.34
"""How much of its colour a level has in its innermost shell, where it has many."""
MOST = 0.14
"""How much a shell adds at most."""


def draw_svg(onions: Sequence[Onion]) -> str:
    """Draw one onion, or several below one another."""
    wide = max((place(onion).width for onion in onions), default=300.0)
    parts: list[str] = []
    height = 0.0
    for onion in onions:
        placed = place(onion, at_least=wide)
        parts += [f'<g transform="translate(0 {_n(height)})">', *_onion(onion, placed), "</g>"]
        height += placed.height + 8
    if any(shell.streaming for onion in onions for shell in onion.shells):
        parts += _legend(height)
        height += 20
    height += 8
    names = ", ".join(escape(onion.title) for onion in onions) or "nothing"
    size = f'width="{_n(wide)}" height="{_n(height)}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size} viewBox="0 0 {_n(wide)} {_n(height)}" role="img"'
    told = " ".join(_told(onion) for onion in onions)
    card = f'<rect class="card" x=".5" y=".5" width="{_n(wide - 1)}" height="{_n(height - 1)}" rx="14"/>'
    lines = [
        f'{head} aria-labelledby="onion-title onion-desc">',
        f'<title id="onion-title">The onion of {names}</title>',
        f'<desc id="onion-desc">{told}</desc>',
        f"<style>{STYLE}</style>",
        card,
        *parts,
        "</svg>\n",
    ]
    return "\n".join(lines)


def _told(onion: Onion) -> str:
    """The picture in words, for those who do not see it."""
    said = [
        f"{level}: {', '.join(escape(shell.name) for shell in shells)}." for level, shells in onion.levels if shells
    ]
    said += [f"{escape(row.title)}: {', '.join(escape(shell.name) for shell in row.shells)}." for row in onion.rows]
    layers = " ".join(said) or "no layers."
    tools = ", ".join(map(escape, onion.tools)) or "none"
    return (
        f"Agent {escape(onion.title)}; layers at each level, outermost first. {layers} "
        f"In the middle the model {escape(onion.model)} and the tools: {tools}."
    )


def _onion(onion: Onion, placed: Placed) -> Iterable[str]:
    room = placed.width - 2 * 22
    yield _text(fit(onion.title, 17, room), 22, 33, 17, "t b")
    yield _text(fit(onion.subtitle, 11.5, room), 22, 50, 11.5, "d m")
    for box in placed.boxes:
        yield from _box(box, placed)
    for line in placed.lines:
        yield from _line(line)
    for heading in placed.headings:
        yield from _heading(heading)


def _box(box: Box, placed: Placed) -> Iterable[str]:
    match box.kind:
        case "frame":
            yield from _frame(box)
        case "shell":
            yield from _shell(box, placed)
        case "core":
            yield from _core(box)
        case "pill":
            yield from _pill(box, placed)


def _rect(box: Box, kind: str, radius: float, extra: str = "") -> str:
    place = f'x="{_n(box.x)}" y="{_n(box.y)}" width="{_n(box.w)}" height="{_n(box.h)}"'
    return f'<rect class="{kind}" {place} rx="{_n(radius)}"{extra}/>'


def _frame(box: Box) -> Iterable[str]:
    yield _rect(box, "paper", 12)
    yield _rect(box, box.level, 12, ' fill-opacity=".05" stroke-opacity=".9" stroke-width="1.5"')
    yield (
        f'<text x="{_n(box.x + PAD)}" y="{_n(box.y + 18)}" font-size="12"><tspan class="h{box.level} b">{box.level}'
        f'</tspan><tspan class="d" dx="8" font-size="11">{box.title}</tspan></text>'
    )


def _shell(box: Box, placed: Placed) -> Iterable[str]:
    shell, spacing = box.shell, placed.spacing
    assert shell is not None  # noqa: S101 - a shell is the box of a layer
    opacity = min(1 - (1 - TINT) ** (1 / box.of), MOST)
    radius = max(11.0 - box.depth * 0.6, 5.0)
    streams = ", streaming" if shell.streaming else ""
    yield f"<g><title>{escape(shell.name)} ({escape(shell.package)}){streams}</title>"
    yield _rect(box, box.level, radius, f' fill-opacity="{opacity:.3f}" stroke-opacity=".5"')
    y = box.y + spacing.strip / 2 + 4.5
    x, end = box.x + PAD, box.x + box.w - PAD
    yield _dot(x + 4, y - 4.3, shell.colour)
    room = end - x - 15 - (26 if shell.streaming else 0)
    name = fit(shell.name, spacing.name, room)
    yield _text(name, x + 15, y, spacing.name, "t m")
    package = fit(shell.package, spacing.small, room - width(name, spacing.name) - 16)
    if len(package) > 3:
        yield _text(package, end, y, spacing.small, "d m", anchor="end")
        end -= width(package, spacing.small)
    if shell.streaming:
        yield _wave(end - 24, y - 4, box.level)
    yield "</g>"


def _core(box: Box) -> Iterable[str]:
    yield _rect(box, f"c{box.level}", 8)
    x = box.x + box.w / 2
    yield f'<text class="v" x="{_n(x)}" y="{_n(box.y + 20)}" font-size="11" text-anchor="middle">{box.title}</text>'
    size = 12 if box.level == "model" else 11
    for number, line in enumerate(box.lines):
        yield _text(line, x, box.y + 38 + 15 * number, size, "w m", anchor="middle")


def _pill(box: Box, placed: Placed) -> Iterable[str]:
    shell = box.shell
    assert shell is not None  # noqa: S101 - a pill is the box of a layer
    size = placed.spacing.small
    yield f"<g><title>{escape(shell.name)} ({escape(shell.package)})</title>"
    yield _rect(box, "off" if box.off else "pill", box.h / 2)
    yield _dot(box.x + 13, box.y + box.h / 2, shell.colour, hollow=box.off)
    yield _text(
        fit(shell.name, size, box.w - 33), box.x + 22, box.y + box.h / 2 + 3.8, size, "d m" if box.off else "t m"
    )
    yield "</g>"


def _dot(x: float, y: float, colour: int, *, hollow: bool = False) -> str:
    hue = DOTS[colour % len(DOTS)]
    paint = f'fill="none" stroke="{hue}" stroke-width="1.5"' if hollow else f'fill="{hue}"'
    return f'<circle cx="{_n(x)}" cy="{_n(y)}" r="3.6" {paint}/>'


def _wave(x: float, y: float, kind: str) -> str:
    """The sign of a hook that streams."""
    return f'<path class="s{kind}" d="M{_n(x)} {_n(y)}c2-6 4-6 6 0s4 6 6 0 4-6 6 0" stroke-width="1.7"/>'


def _text(text: str, x: float, y: float, size: float, kind: str, anchor: str = "") -> str:
    """A text; where nobody knows how wide its characters are, it is told how wide to be."""
    to = f' text-anchor="{anchor}"' if anchor else ""
    sure = "" if is_plain(text) else f' textLength="{_n(width(text, size))}" lengthAdjust="spacingAndGlyphs"'
    return f'<text class="{kind}" x="{_n(x)}" y="{_n(y)}" font-size="{_n(size)}"{to}{sure}>{escape(clean(text))}</text>'


def _line(line: Line) -> Iterable[str]:
    towards = 1 if line.x2 > line.x1 else -1
    tip = line.x2 - 2 * towards
    yield f'<path class="l" d="M{_n(line.x1)} {_n(line.y)}H{_n(tip - 5 * towards)}" stroke-width="1.4"/>'
    yield f'<path class="a" d="M{_n(tip)} {_n(line.y)}l{-7 * towards}-3.6v7.2z"/>'
    yield (
        f'<text class="d" x="{_n(line.word_x)}" y="{_n(line.word_y)}" font-size="11.5" '
        f'text-anchor="{line.anchor}">{line.word}</text>'
    )


def _heading(heading: Heading) -> Iterable[str]:
    yield f'<text class="d" x="{_n(heading.x)}" y="{_n(heading.y)}" font-size="11.5">{escape(heading.text)}</text>'


def _legend(y: float) -> Iterable[str]:
    yield _wave(84, y + 4, "turn")
    yield f'<text class="d" x="108" y="{_n(y + 8)}" font-size="11">streams: it sees each piece of what comes out</text>'


def _n(number: float) -> str:
    """A number without what says nothing."""
    return f"{number:.1f}".rstrip("0").rstrip(".")
