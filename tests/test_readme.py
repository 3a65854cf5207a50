"""The samples of README.md and of each package's README run as they stand.

Those that call a provider run against a server on this machine: `OPENAI_BASE_URL` and `ANTHROPIC_BASE_URL` lead there,
and so does every address of a local server that a sample names.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio
from checkout import PACKAGES, ROOT
from notebook import samples

from agent_express.testing.servers import LLMock, llmock

README = ROOT / "README.md"
NOTEBOOK = Path(__file__).with_name("notebook.py")
PAGES = [README, *(package.folder / "README.md" for package in PACKAGES.values())]

every_page = pytest.mark.parametrize("page", PAGES, ids=["root", *PACKAGES])


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def provider() -> AsyncIterator[LLMock]:
    """A server that speaks the APIs of OpenAI and Anthropic."""
    async with llmock() as server:
        yield server


def python(*args: str | Path, folder: Path, url: str = "") -> subprocess.CompletedProcess[str]:
    leads_there = {
        "OPENAI_API_KEY": "any",
        "OPENAI_BASE_URL": f"{url}/v1",
        "ANTHROPIC_API_KEY": "any",
        "ANTHROPIC_BASE_URL": f"{url}/anthropic",
    }
    return subprocess.run(
        [sys.executable, "-X", "utf8", "-W", "error", *args],
        cwd=folder,
        env={**os.environ, **(leads_there if url else {})},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


@every_page
def test_the_samples_of_a_page_run_one_after_the_other(page: Path, provider: LLMock, tmp_path: Path) -> None:
    text = page.read_text(encoding="utf-8")
    local = tmp_path / "page.md"
    local.write_text(re.sub(r"http://localhost:\d+", provider.url, text), encoding="utf-8")
    run = python(NOTEBOOK, local, folder=tmp_path, url=provider.url)
    assert (run.returncode, run.stderr) == (0, "")


def test_the_ten_lines_run_as_a_file_and_say_where_the_parcel_is(tmp_path: Path) -> None:
    first = samples(README)[0]
    assert len([line for line in first.splitlines() if line.strip()]) <= 10
    (tmp_path / "agent.py").write_text(first, encoding="utf-8")
    run = python("agent.py", folder=tmp_path)
    assert (run.returncode, run.stderr) == (0, "")
    assert "Parcel 77 is at your neighbour's." in run.stdout


def test_the_samples_print_what_a_reader_expects(tmp_path: Path) -> None:
    run = python(NOTEBOOK, README, folder=tmp_path)
    assert (run.returncode, run.stderr) == (0, "")
    said = run.stdout
    assert "Parcel 77 is at your neighbour's." in said  # run_sync, although a loop runs
    assert "Parcel 12 is at your neighbour's. 2\n" in said
    assert "retry" in said
    assert "PARCEL 12 IS AT YOUR NEIGHBOUR'S." in said


def test_the_table_lists_every_package() -> None:
    listed = re.findall(r"^\| \[`([\w-]+)`\]\((.+?)\)", README.read_text(encoding="utf-8"), re.MULTILINE)
    assert dict(listed) == {package.dist: f"packages/{package.area}" for package in PACKAGES.values()}


@every_page
def test_a_link_of_a_page_leads_to_a_file(page: Path) -> None:
    links = re.findall(r"\]\((?!https?://)([^)#]+)", page.read_text(encoding="utf-8"))
    assert [link for link in links if not (page.parent / link).exists()] == []


def commands(page: Path) -> list[list[str]]:
    """The calls of `agent-express` that a page shows, as arguments."""
    shown = re.findall(r"^(?:[^`#\n]* \| )?agent-express ([^#|<\n]+)", page.read_text(encoding="utf-8"), re.MULTILINE)
    return [shlex.split(line) for line in shown]


@pytest.mark.parametrize("page", [README, ROOT / "packages" / "cli" / "README.md"], ids=["root", "cli"])
def test_the_commands_of_a_page_are_understood(page: Path, tmp_path: Path) -> None:
    found = commands(page)
    assert len(found) >= 4
    for args in found:
        run = python("-m", "agent_express_cli", *args, "--help", folder=tmp_path)
        assert (run.returncode, run.stderr) == (0, ""), args


def test_the_stack_of_the_command_lines_readme_answers(tmp_path: Path) -> None:
    page = ROOT / "packages" / "cli" / "README.md"
    (tmp_path / "agents.py").write_text(samples(page)[0], encoding="utf-8")
    (args,) = [args for args in commands(page) if "agents:support" in args]
    run = python("-m", "agent_express_cli", *args, folder=tmp_path)
    assert (run.returncode, run.stderr) == (0, "→ parcel(number=77)\n← parcel: Parcel 77 is at your neighbour's.\n")
    assert "Parcel 77 is at your neighbour's." in run.stdout


def test_the_stack_file_of_the_readme_can_be_built(tmp_path: Path) -> None:
    (written,) = re.findall(r"^```toml\n(.*?)^```", README.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    for source in (ROOT / "examples" / "support").glob("*.py"):
        shutil.copy(source, tmp_path)
    (tmp_path / "agent.toml").write_text(written, encoding="utf-8")
    run = python("-m", "agent_express_cli", "stack", "show", "--json", folder=tmp_path)
    assert (run.returncode, run.stderr) == (0, "")
    assert [layer["name"] for layer in json.loads(run.stdout)["layers"]] == ["rate-limit", "redactor"]
