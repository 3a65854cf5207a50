"""Onions as a Mermaid flowchart: per level a chain from the outermost layer in. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .onion import Onion, Row, Shell
from .text import clean

COLOURS = {"session": "#64748b", "turn": "#2f81f7", "model": "#8b5cf6", "tool": "#0f9f8f"}
MOST_TOOLS = 12
"""Tools that are named; of the others their number."""


def draw_mermaid(onions: Sequence[Onion]) -> str:
    """Draw one onion, or several beside one another."""
    lines = ["flowchart TB"]
    for number, onion in enumerate(onions):
        lines += _onion(onion, f"a{number}")
    lines += [f"  classDef {level} stroke:{colour},stroke-width:1px" for level, colour in COLOURS.items()]
    lines.append("  classDef off stroke-dasharray:4 3,opacity:0.6")
    return "\n".join([*lines, ""])


def _onion(onion: Onion, key: str) -> Iterable[str]:
    yield f'  subgraph {key}["{_text(onion.title)}"]'
    yield "    direction TB"
    yield f'    {key}in(["message"])'
    yield f'    {key}themodel{{{{"{_text(onion.model)}"}}}}'
    yield f'    {key}thetools{{{{"{_tools(onion.tools)}"}}}}'
    chains = {level: list(_level(level, shells, key)) for level, shells in onion.levels}
    for lines in chains.values():
        yield from lines
    yield from _arrows(onion, key)
    for number, row in enumerate(onion.rows):
        yield from _row(row, f"{key}row{number}")
    yield "  end"


def _level(level: str, shells: Sequence[Shell], key: str) -> Iterable[str]:
    if not shells:
        return
    yield f'    subgraph {key}{level}["{level}"]'
    names = [f"{key}{level}{place}" for place in range(len(shells))]
    for name, shell in zip(names, shells, strict=True):
        yield f"      {name}{_node(shell)}:::{level}"
    if len(names) > 1:
        yield f"      {' --> '.join(names)}"
    yield "    end"


def _arrows(onion: Onion, key: str) -> Iterable[str]:
    """From the message through the levels to the model and the tools, and back."""
    inner = f"{key}in"
    ends: dict[str, tuple[str, str]] = {}
    for level, shells in onion.levels:
        if shells:
            ends[level] = (f"{key}{level}0", f"{key}{level}{len(shells) - 1}")
    for level in ("session", "turn"):
        if level in ends:
            first, last = ends[level]
            yield f"    {inner} --> {first}"
            inner = last
    for level, core in (("model", f"{key}themodel"), ("tool", f"{key}thetools")):
        first, last = ends.get(level, (core, ""))
        word = ' -- "calls" --> ' if level == "tool" else " --> "
        outer = f"{key}themodel" if level == "tool" else inner
        yield f"    {outer}{word}{first}"
        if last:
            yield f"    {last} --> {core}"


def _row(row: Row, key: str) -> Iterable[str]:
    yield f'    subgraph {key}["{_text(row.title)}"]'
    for place, shell in enumerate(row.shells):
        yield f"      {key}s{place}{_node(shell)}{':::off' if row.off else ''}"
    yield "    end"


def _node(shell: Shell) -> str:
    """A layer: round where it streams."""
    text = f"{_text(shell.name)}<br/><small>{_text(shell.package)}</small>"
    return f'(["{text}<br/><small>streams</small>"])' if shell.streaming else f'["{text}"]'


def _tools(names: Sequence[str]) -> str:
    shown = [_text(name) for name in names[:MOST_TOOLS]]
    if len(names) > MOST_TOOLS:
        shown.append(f"and {len(names) - MOST_TOOLS} more")
    return "<br/>".join(shown) or "no tools"


def _text(text: str) -> str:
    """*text* between quotes of Mermaid: whatever could mean something there is written by its number."""
    return "".join(each if each.isalnum() or each in " .:/_-" else f"#{ord(each)};" for each in clean(text)) or " "
