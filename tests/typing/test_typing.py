"""Two strict type checkers over the samples beside this file: they accept the accepted and refuse the refused."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

HERE = Path(__file__).parent
SAMPLES = sorted([*HERE.glob("accepted*.py"), *HERE.glob("refused*.py")])
EXPECT = re.compile(r"# expect: (?P<mypy>[\w-]+) / (?P<pyright>\w+)$")
CHECKERS = ("mypy", "pyright")

Found = set[tuple[str, int, str]]
"""File, line and code of each error."""


def expected(checker: str) -> Found:
    """What the marks in the samples say; a mark on a line of its own speaks of the next one."""
    return {
        (sample.name, number + line.strip().startswith("#"), mark[checker])
        for sample in SAMPLES
        for number, line in enumerate(sample.read_text(encoding="utf-8").splitlines(), 1)
        if (mark := EXPECT.search(line))
    }


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Found]:
    """What the checkers say, each run once over all samples."""
    work = tmp_path_factory.mktemp("typing")
    return {"mypy": set(mypy(work)), "pyright": set(pyright(work))}


def mypy(work: Path) -> Iterator[tuple[str, int, str]]:
    config = work / "mypy.ini"
    config.write_text("[mypy]\nstrict = true\npython_version = 3.11\n", encoding="utf-8")
    options = ["--config-file", config, "--cache-dir", work / "cache", "--output", "json"]
    for line in run("mypy", *options, *SAMPLES).splitlines():
        error = json.loads(line)
        if error["severity"] == "error":
            yield Path(error["file"]).name, error["line"], error["code"]


def pyright(work: Path) -> Iterator[tuple[str, int, str]]:
    config = work / "pyrightconfig.json"
    settings = {"typeCheckingMode": "strict", "pythonVersion": "3.11", "include": [str(sample) for sample in SAMPLES]}
    config.write_text(json.dumps(settings), encoding="utf-8")
    options = ["--outputjson", "--project", config, "--pythonpath", sys.executable]
    for error in json.loads(run("basedpyright", *options))["generalDiagnostics"]:
        if error["severity"] == "error":
            yield Path(error["file"]).name, error["range"]["start"]["line"] + 1, error.get("rule", "syntax")


def run(module: str, *arguments: object) -> str:
    """The output of a checker, which ends with 0 or 1 where it could work."""
    command = [sys.executable, "-m", module, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, encoding="utf-8", check=False, cwd=HERE)
    if done.returncode not in (0, 1):
        pytest.fail(f"{module} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}")
    return done.stdout


def by_line(sample: Path, errors: Found) -> dict[int, set[str]]:
    """The codes of the errors of *sample*, by line."""
    lines: dict[int, set[str]] = {}
    for name, line, code in errors:
        if name == sample.name:
            lines.setdefault(line, set()).add(code)
    return lines


@pytest.mark.parametrize("checker", CHECKERS)
@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.stem)
def test_a_strict_checker_refuses_the_marked_lines_and_accepts_all_others(
    sample: Path, checker: str, found: dict[str, Found]
) -> None:
    refused, marked = by_line(sample, found[checker]), by_line(sample, expected(checker))
    assert sorted(refused) == sorted(marked)
    assert {line: codes for line, codes in marked.items() if not codes <= refused[line]} == {}


def test_there_is_something_to_accept_and_something_to_refuse() -> None:
    marked = {name for name, _, _ in expected("mypy")}
    assert {sample.name for sample in SAMPLES if sample.stem.startswith("refused")} == marked
    assert {sample.name for sample in SAMPLES} - marked
