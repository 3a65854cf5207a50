"""The picture of an onion: well-formed whatever the names are, each layer in it, no text outside of its shell."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent_express_cli.drawing.layout import PAD, Box, place
from agent_express_cli.drawing.onion import Onion, Row, Shell, onions
from agent_express_cli.drawing.svg import draw_svg
from agent_express_cli.drawing.text import clean, fit, width
from agent_express_cli.stacks.view import AgentView, HookView, LayerView, StackView, ToolView

SVG = "{http://www.w3.org/2000/svg}"
odd = st.sampled_from(
    ['<&">', "\x00\x1b[31m", "漢字" * 30, "🎉👩‍👩‍👧", "a" * 300, "\u202eevil", "]]>", "'", "\ud800", "  x\n\ty "]
)
names = st.one_of(st.text(max_size=20), odd)
shells = st.lists(st.builds(Shell, names, names, st.booleans(), st.integers(0, 40)), max_size=4).map(tuple)
drawn = st.builds(
    Onion,
    title=names,
    subtitle=names,
    model=names,
    tools=st.lists(names, max_size=6).map(tuple),
    session=shells,
    turn=shells,
    model_call=shells,
    tool_call=shells,
    rows=st.lists(st.builds(Row, names, shells, st.booleans()), max_size=2).map(tuple),
)


def words(svg: str) -> str:
    """All that can be read in a picture, titles and description included."""
    return "\n".join(ET.fromstring(svg).itertext())


def shell(name: str, streaming: bool = False) -> Shell:
    return Shell(name, "agent-express-guards 0.1.0", streaming)


def deep(count: int) -> Onion:
    """Every layer at every level."""
    layers = tuple(replace(shell(f"layer-{number}", number % 3 == 0), colour=number) for number in range(count))
    return Onion("deep", "agent.toml", "offline:commands", ("parcel",), layers, layers, layers, layers)


@settings(deadline=None, max_examples=60)
@given(st.lists(drawn, max_size=2))
def test_a_picture_is_well_formed_and_each_layer_stands_in_it_whatever_the_names_are(pictures: list[Onion]) -> None:
    svg = draw_svg(pictures)
    found = words(svg)
    for onion in pictures:
        assert clean(onion.title) in found
        for each in onion.shells:
            assert clean(each.name) in found


@settings(deadline=None, max_examples=40)
@given(drawn)
def test_each_box_lies_within_the_one_around_it_and_within_the_picture(onion: Onion) -> None:
    placed = place(onion)
    for box in placed.boxes:
        assert box.x >= 0
        assert box.x + box.w <= placed.width
        assert box.y >= 0
        assert box.y + box.h <= placed.height
    for level in ("session", "turn", "model", "tool"):
        nested = [box for box in placed.boxes if box.level == level]
        assert all(holds(outer, inner) for outer, inner in pairwise(nested))
    frames = {box.level: box for box in placed.boxes if box.kind == "frame"}
    assert holds(frames["session"], frames["turn"])
    assert holds(frames["turn"], frames["model"])
    assert holds(frames["turn"], frames["tool"])
    assert frames["model"].x + frames["model"].w < frames["tool"].x


def holds(outer: Box, inner: Box) -> bool:
    return (
        outer.x < inner.x
        and outer.y < inner.y
        and inner.x + inner.w < outer.x + outer.w
        and inner.y + inner.h < outer.y + outer.h
    )


@settings(deadline=None, max_examples=40)
@given(drawn)
def test_no_text_is_wider_than_the_shell_it_stands_in(onion: Onion) -> None:
    placed = place(onion)
    svg = ET.fromstring(draw_svg([onion]))
    boxes = {(round(box.x, 1), round(box.y, 1)): box for box in placed.boxes if box.kind in ("shell", "pill")}
    groups = [group for group in svg.iter(f"{SVG}g") if group.find(f"{SVG}title") is not None]
    assert len(groups) == len(boxes)
    for group in groups:
        rect = group.find(f"{SVG}rect")
        assert rect is not None
        left, right = float(rect.attrib["x"]), float(rect.attrib["x"]) + float(rect.attrib["width"])
        taken = [extent(text) for text in group.iter(f"{SVG}text")]
        assert all(left < start and end < right + 0.1 for start, end in taken)
        assert all(one[1] < other[0] for one, other in pairwise(taken))


def extent(text: ET.Element) -> tuple[float, float]:
    """From where to where a text reaches, in the widest font."""
    said, at = text.text or "", float(text.attrib["x"])
    wide = float(text.get("textLength", width(said, float(text.attrib["font-size"]))))
    return (at - wide, at) if text.get("text-anchor") == "end" else (at, at + wide)


@given(names, st.floats(1, 30), st.floats(0, 400))
def test_what_is_cut_fits(text: str, size: float, room: float) -> None:
    cut = fit(text, size, room)
    assert width(cut, size) <= room + 1e-6
    assert clean(text).startswith(cut.removesuffix("…"))


@pytest.mark.parametrize("count", [0, 1, 12, 30])
def test_names_that_are_not_too_long_are_written_out_at_any_depth(count: int) -> None:
    texts = [text.text for text in ET.fromstring(draw_svg([deep(count)])).iter(f"{SVG}text")]
    for number in range(count):
        assert texts.count(f"layer-{number}") == 4


def test_a_picture_needs_no_script_no_font_and_nothing_from_elsewhere() -> None:
    svg = draw_svg([deep(3)])
    assert not re.search(r"<script|<image|<foreignObject|@import|@font-face|url\(|href|on\w+=", svg)
    assert [found for found in re.findall(r"https?://[^\"]+", svg) if found != "http://www.w3.org/2000/svg"] == []


def test_a_picture_tells_those_who_do_not_see_it_what_is_in_it() -> None:
    onion = Onion("support", model="offline:commands", tools=("parcel",), turn=(shell("limit"), shell("memory")))
    svg = ET.fromstring(draw_svg([onion]))
    assert svg.get("role") == "img"
    labels = {child.get("id"): child.text for child in svg if child.get("id")}
    assert set((svg.get("aria-labelledby") or "").split()) == set(labels)
    assert labels["onion-title"] == "The onion of support"
    assert labels["onion-desc"] == (
        "Agent support; layers at each level, outermost first. turn: limit, memory. "
        "In the middle the model offline:commands and the tools: parcel."
    )


def test_a_picture_has_colours_for_the_dark() -> None:
    assert "@media(prefers-color-scheme:dark)" in draw_svg([deep(1)])


def test_who_streams_is_marked_and_the_mark_is_explained() -> None:
    assert "streams: " in draw_svg([Onion("a", turn=(shell("shout", streaming=True),))])
    assert "streams: " not in draw_svg([Onion("a", turn=(shell("quiet"),))])


def test_a_number_of_colour_is_that_of_the_layer_at_every_level() -> None:
    hooks = (HookView("turn"), HookView("model"))
    view = StackView(
        "agent.toml",
        (AgentView("support", "offline:commands", (ToolView("parcel"),)),),
        (LayerView("trace", hooks), LayerView("memory", hooks, tools=(ToolView("recall"),))),
    )
    (onion,) = onions(view)
    assert [[each.colour for each in shells] for _, shells in onion.levels] == [[], [0, 1], [0, 1], []]
    assert onion.tools == ("parcel", "recall")


def test_what_wraps_nothing_stands_beside_the_onion() -> None:
    view = StackView(
        "agent.toml",
        (AgentView("support"),),
        (
            LayerView("pool", (HookView("init"), HookView("dispose"))),
            LayerView("cache", (HookView("init"), HookView("dispose"))),
            LayerView("files", tools=(ToolView("read"),)),
            LayerView("retry", (HookView("model"),), enabled=False),
        ),
    )
    (onion,) = onions(view)
    assert {row.title: ([each.name for each in row.shells], row.off) for row in onion.rows} == {
        "on opening": (["pool", "cache"], False),
        "on closing": (["cache", "pool"], False),
        "without hooks": (["files"], False),
        "switched off": (["retry"], True),
    }
    assert onion.model_call == ()


def test_the_label_of_a_shell_stands_within_its_padding() -> None:
    placed = place(Onion("a", turn=(shell("limit"),)))
    (box,) = [box for box in placed.boxes if box.kind == "shell"]
    assert box.w > 2 * PAD + width("limit", placed.spacing.name) + width("agent-express-guards 0.1.0", 10)
