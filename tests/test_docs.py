"""Every sample a reader sees is run, and prints what the page says it prints."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from checkout import CORE, ROOT

SAMPLES = sorted((ROOT / "docs" / "samples").glob("*.py"))
CONSOLES = sorted((ROOT / "docs" / "samples").glob("*.console"))
SHOP = ROOT / "docs" / "samples" / "shop"
PAGES = sorted((ROOT / "docs").rglob("*.md"))
# What `agent_express` does not give itself: each of these modules has a page of the reference.
REFERENCE = "events messages errors models stores registry stack typing testing"

every_page = pytest.mark.parametrize("page", PAGES, ids=[page.stem for page in PAGES])


def fences(page: Path, language: str) -> list[str]:
    text = page.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("sample", SAMPLES, ids=[sample.stem for sample in SAMPLES])
def test_a_sample_prints_what_the_page_shows(sample: Path) -> None:
    run = subprocess.run([sys.executable, "-X", "utf8", sample], capture_output=True, encoding="utf-8", check=False)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout == sample.with_suffix(".txt").read_text(encoding="utf-8")


@pytest.mark.parametrize("console", CONSOLES, ids=[console.stem for console in CONSOLES])
def test_a_command_prints_what_the_page_shows(console: Path, tmp_path: Path) -> None:
    folder = shutil.copytree(SHOP, tmp_path / "shop", ignore=shutil.ignore_patterns("__pycache__"))
    shown = console.read_text(encoding="utf-8")
    commands = re.findall(r"^\$ (.*)\n", shown, re.MULTILINE)
    assert commands
    printed = "".join(f"$ {command}\n{printed_by(command, folder)}" for command in commands)
    assert without_versions(printed) == without_versions(shown)


def printed_by(command: str, folder: Path) -> str:
    """What a command of ours prints in *folder*, to both outputs."""
    words = shlex.split(command)
    at = words.index("agent-express")
    own = {name: value for name, value in os.environ.items() if not re.match("AGENT_EXPRESS_|OPENAI_|ANTHROPIC_", name)}
    return subprocess.run(
        [sys.executable, "-X", "utf8", "-m", "agent_express_cli", *words[at + 1 :]],
        cwd=folder,
        env={**own, **dict(word.split("=", 1) for word in words[:at])},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    ).stdout


def without_versions(text: str) -> str:
    """Ours change with each release, the pages need not."""
    return re.sub(r"\b\d+\.\d+\.\d+\b", "0.1.0", text)


@every_page
def test_a_page_shows_no_code_but_samples(page: Path) -> None:
    shown = [*fences(page, "python"), *fences(page, "console")]
    assert [code for code in shown if not re.fullmatch(r'--8<-- "[\w/]+\.(py|console)"\n', code)] == []


def test_every_sample_is_shown() -> None:
    shown = {name for page in PAGES for name in re.findall(r'--8<-- "(.+?)"', page.read_text(encoding="utf-8"))}
    printing = {path.name for sample in SAMPLES for path in (sample, sample.with_suffix(".txt"))}
    shop = {f"shop/{path.name}" for path in SHOP.iterdir() if path.suffix in {".py", ".toml"}}
    assert shown == printing | {console.name for console in CONSOLES} | shop


def test_every_public_module_has_a_page_of_the_reference() -> None:
    wanted = {name for name in REFERENCE.split() if f"{CORE.module}.{name}" in CORE.modules}
    pages = {page.stem for page in (ROOT / "docs" / "reference").glob("*.md")} - {"index"}
    assert pages == wanted
    navigation = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    assert [name for name in wanted if f"reference/{name}.md" not in navigation] == []


def test_the_middleware_and_the_test_in_contributing_are_good_ones(tmp_path: Path) -> None:
    written = tmp_path / "test_token_budget.py"
    written.write_text("\n".join(fences(ROOT / "CONTRIBUTING.md", "python")), encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", ROOT / "pyproject.toml", written]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, encoding="utf-8", check=False)
    assert run.returncode == 0, run.stdout
    assert "1 passed" in run.stdout
