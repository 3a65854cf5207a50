"""The onion as a Mermaid flowchart: only what Mermaid can read, whatever the names are."""

from __future__ import annotations

import html
import re

from hypothesis import given, settings
from hypothesis import strategies as st

from agent_express_cli.drawing.mermaid import draw_mermaid
from agent_express_cli.drawing.onion import Onion, Row, Shell
from agent_express_cli.drawing.text import clean

ID = r"[a-z][a-z0-9]*"
TEXT = r'"(?:[^"#;<>&\n`]|#\d+;|<br/>|</?small>)+"'
NODE = rf"{ID}(?:\[{TEXT}\]|\(\[{TEXT}\]\)|\{{\{{{TEXT}\}}\}})(?::::\w+)?"
LINE = re.compile(
    rf"flowchart TB|subgraph {ID}\[{TEXT}\]|direction TB|end|{NODE}|{ID}(?: --> {ID}| -- \"calls\" --> {ID})+"
    r"|classDef \w+ [\w:#,.\- ]+"
)
names = st.one_of(st.text(max_size=30), st.sampled_from(['"]', "end", "#35;", "%%", "a --> b", "`", "<b>", "\n", "⁠"]))
shells = st.lists(st.builds(Shell, names, names, st.booleans()), max_size=4).map(tuple)


@settings(deadline=None)
@given(
    st.lists(
        st.builds(
            Onion,
            title=names,
            model=names,
            tools=st.lists(names, max_size=15).map(tuple),
            session=shells,
            turn=shells,
            model_call=shells,
            tool_call=shells,
            rows=st.lists(st.builds(Row, names, shells, st.booleans()), max_size=2).map(tuple),
        ),
        max_size=2,
    )
)
def test_a_chart_holds_nothing_that_mermaid_would_take_for_its_own(pictures: list[Onion]) -> None:
    chart = draw_mermaid(pictures)
    lines = [line.strip() for line in chart.splitlines()]
    assert [line for line in lines if not LINE.fullmatch(line)] == []
    assert sum(line.startswith("subgraph") for line in lines) == lines.count("end")
    made = re.findall(rf"^(?:subgraph )?({ID})[\[({{]", "\n".join(lines), re.MULTILINE)
    assert len(made) == len(set(made)), "two nodes of one name"
    assert set(re.findall(ID, " ".join(line for line in lines if "-->" in line))) <= {*made, "calls"}
    told = html.unescape(re.sub(r"#(\d+);", r"&#\1;", chart))
    assert all(clean(shell.name) in told for onion in pictures for shell in onion.shells)


def test_a_chart_goes_from_the_message_through_the_levels_to_the_model_and_the_tools() -> None:
    onion = Onion(
        "support",
        model="offline:commands",
        tools=("parcel",),
        turn=(Shell("limit"), Shell("memory")),
        model_call=(Shell("redactor", streaming=True),),
    )
    assert draw_mermaid([onion]).splitlines()[:20] == [
        "flowchart TB",
        '  subgraph a0["support"]',
        "    direction TB",
        '    a0in(["message"])',
        '    a0themodel{{"offline:commands"}}',
        '    a0thetools{{"parcel"}}',
        '    subgraph a0turn["turn"]',
        '      a0turn0["limit<br/><small>local</small>"]:::turn',
        '      a0turn1["memory<br/><small>local</small>"]:::turn',
        "      a0turn0 --> a0turn1",
        "    end",
        '    subgraph a0model["model"]',
        '      a0model0(["redactor<br/><small>local</small><br/><small>streams</small>"]):::model',
        "    end",
        "    a0in --> a0turn0",
        "    a0turn1 --> a0model0",
        "    a0model0 --> a0themodel",
        '    a0themodel -- "calls" --> a0thetools',
        "  end",
        "  classDef session stroke:#64748b,stroke-width:1px",
    ]
