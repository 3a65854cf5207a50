"""The benchmark measures every row, says what became of each bound, and writes the table where documents want it."""

from __future__ import annotations

import io
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks import report
from benchmarks.__main__ import NAMES, tell
from benchmarks.imports import installed
from benchmarks.rows import QUICK, Limit, Row, quiet, times
from checkout import ROOT

DOCUMENTS = [ROOT / "README.md", ROOT / "docs" / "cost.md"]


def bench(*options: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-X", "utf8", "-m", "benchmarks", *options]
    return subprocess.run(command, cwd=ROOT, capture_output=True, encoding="utf-8", check=False)


def row(name: str = "turn", ours: float = 80.0, limit: Limit | None = None) -> Row:
    return Row(name, f"a {name}", "µs", ours, limit or times(5, 20.0, "express turn"), plain=4.0)


def test_every_row_is_measured_and_judged() -> None:
    run = bench("--quick")
    assert (run.returncode, run.stderr) == (0, "")
    lines = [line.split()[0] for line in run.stdout.splitlines() if re.search(r"(ok|OVER) \(.*%\)$", line)]
    assert lines == list(NAMES)


def test_json_holds_the_figures_of_the_rows_that_were_asked_for() -> None:
    run = bench("--quick", "--json", "--row", "distributions", "--row", "function-calls")
    assert (run.returncode, run.stderr) == (0, "")
    calls, distributions = json.loads(run.stdout)["rows"]
    assert (calls["name"], distributions["name"]) == ("function-calls", "distributions")
    assert calls["plain"] < calls["express"] < calls["ours"]
    assert distributions["at_most"] == 8


def test_a_row_that_is_not_there_is_refused_with_the_names_that_are() -> None:
    run = bench("--row", "nonsense")
    assert (run.returncode, run.stdout) == (2, "")
    assert "long-session" in run.stderr


def test_the_table_is_written_between_the_marks(tmp_path: Path) -> None:
    document = tmp_path / "page.md"
    document.write_text("before\n<!-- costs distributions -->\nold\n<!-- /costs -->\nafter\n", encoding="utf-8")
    run = bench("--quick", "--row", "distributions", "--write", document)
    assert (run.returncode, run.stderr) == (0, "")
    before, head, _, line, after = document.read_text(encoding="utf-8").replace("\n\n", "\n").split("\n", 5)[:5]
    assert (before, head) == ("before", "<!-- costs distributions -->")
    assert line == "| --- | --: | --: | --: | --: | --: |"
    assert after.startswith("| distributions that are installed |")
    assert "old" not in document.read_text(encoding="utf-8")


def test_a_document_without_marks_is_left_alone_and_so_are_the_others(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.md", tmp_path / "bad.md"
    good.write_text("<!-- costs -->\n<!-- /costs -->\n", encoding="utf-8")
    bad.write_text("nothing\n", encoding="utf-8")
    run = bench("--quick", "--row", "distributions", "--write", good, bad)
    assert run.returncode == 2
    assert "bad.md has no place for the table" in run.stderr
    assert good.read_text(encoding="utf-8") == "<!-- costs -->\n<!-- /costs -->\n"


def test_a_document_that_wants_a_row_which_was_not_measured_is_refused(tmp_path: Path) -> None:
    document = tmp_path / "page.md"
    document.write_text("<!-- costs stream -->\n<!-- /costs -->\n", encoding="utf-8")
    with pytest.raises(ValueError, match="wants the row 'stream', which was not measured: turn"):
        report.write([row()], [document])


@pytest.mark.parametrize("document", DOCUMENTS, ids=[document.name for document in DOCUMENTS])
def test_our_documents_hold_a_table_of_rows_that_there_are(document: Path) -> None:
    section = report.SECTION.search(document.read_text(encoding="utf-8"))
    assert section is not None
    assert set(section["names"].split()) <= set(NAMES)
    assert section[0].count("\n| ") == 2 + len(section["names"].split() or NAMES)


@pytest.mark.parametrize(("ours", "holds"), [(99.0, True), (100.0, True), (101.0, False)])
def test_a_row_holds_up_to_its_bound(ours: float, holds: bool) -> None:
    assert row(ours=ours).holds is holds


def test_a_bound_of_a_quiet_machine_grows_with_the_floor() -> None:
    assert quiet(80.0, 16.0).most == pytest.approx(80.0)
    assert quiet(80.0, 32.0).most == pytest.approx(160.0)


def test_a_bound_without_a_yardstick_stands_for_itself() -> None:
    assert row(ours=299.0, limit=Limit(300)).holds
    assert row(ours=299.0, limit=Limit(300)).ratio == 299.0


def test_the_table_says_how_many_yardsticks_and_how_much_of_the_bound() -> None:
    head, line = report.as_table([row()]).splitlines()
    assert head.split() == ["row", "plain", "Python", "least", "Express", "Agent", "Express", "ratio", "at", "most"]
    assert re.split(r"\s{2,}", line) == ["turn", "4 µs", "-", "80 µs", "4 x express turn", "5 x", "ok (80%)"]


def test_progress_is_shown_to_people_and_to_nobody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    pipe, terminal = io.StringIO(), Terminal()
    for stream in (pipe, terminal):
        monkeypatch.setattr(sys, "stderr", stream)
        tell("turn")
    assert pipe.getvalue() == ""
    assert "measuring turn" in terminal.getvalue()


def test_what_is_installed_is_the_distribution_and_what_it_needs() -> None:
    sizes = installed("agent-express")
    assert {"agent-express", "pydantic", "pydantic-core"} <= set(sizes)
    assert all(size > 0 for size in sizes.values())


def test_a_quick_run_has_turns_enough_for_both_ends_of_a_long_session() -> None:
    assert QUICK.turns > 20
