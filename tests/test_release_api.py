"""`scripts/release api`: what breaks for users since the last tag stands in the changelog, or it is refused."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from small_workspace import change, commit, git, make, write

from releasing.__main__ import main
from releasing.api import Break, last_release
from releasing.fragments import Fragment
from releasing.workspace import Workspace

AGENT = "packages/core/src/agent_express/agent.py"


@pytest.fixture(scope="module")
def released(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    """A checkout whose only commit is tagged. It is not to be changed."""
    workspace = make(tmp_path_factory.mktemp("released"))
    git(workspace.root, "tag", "v0.1.0")
    return workspace


@pytest.fixture
def workspace(released: Workspace, tmp_path: Path) -> Workspace:
    return Workspace(shutil.copytree(released.root, tmp_path / "workspace"))


def api(workspace: Workspace) -> int:
    return main(["--root", str(workspace.root), "api"])


def refused(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """What is told of a checkout with breaks, without the advice in the last line."""
    assert api(workspace) == 1
    *problems, advice = capsys.readouterr().err.splitlines()
    assert "docs/changes/AREA.WHAT.changed.md" in advice
    assert git(workspace.root, "worktree", "list").count("\n") == 1
    return problems


def test_without_a_tag_there_is_nothing_to_compare_with(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    git(workspace.root, "tag", "--delete", "v0.1.0")
    git(workspace.root, "tag", "verified")
    assert api(workspace) == 0
    assert "no release is tagged yet" in capsys.readouterr().out


def test_where_nothing_breaks_nothing_is_told(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    change(workspace, AGENT, "timeout: float = 1.0)", "timeout: float = 1.0, *, retries: int = 0)")
    assert api(workspace) == 0
    assert capsys.readouterr().out == "no break since v0.1.0 that the changelog does not tell of\n"


@pytest.mark.parametrize(
    ("name", "old", "new", "told"),
    [
        (AGENT, "timeout: float = 1.0", "seconds: float = 1.0", "Agent.run: Parameter was removed (timeout)"),
        (AGENT, "timeout: float = 1.0", "timeout: float", "Agent.run: Parameter is now required (timeout)"),
        (AGENT, "timeout: float = 1.0", "timeout: float = 9.0", "Agent.run: Parameter default was changed (timeout)"),
        (AGENT, "def run(", "def go(", "Agent.run: Public object was removed"),
        (AGENT, "def ask(text: str)", "def ask(text: str, how: str)", "ask: Parameter was added as required (how)"),
        (
            "packages/core/src/agent_express/__init__.py",
            '__all__ = ["Agent", "ask"]',
            '__all__ = ["Agent"]',
            "ask: Public object was removed",
        ),
        (
            "packages/core/src/agent_express/errors.py",
            "class AgentError",
            "class OtherError",
            "AgentError: Public object was removed",
        ),
    ],
)
def test_a_break_of_a_public_name_is_refused(
    workspace: Workspace, name: str, old: str, new: str, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    change(workspace, name, old, new)
    if name.endswith("__init__.py"):
        change(workspace, name, "Agent, ask\n", "Agent\n")
    assert refused(workspace, capsys) == [f"agent-express: {told}"]


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        (AGENT, "def helper(text", "def helper(words"),
        ("packages/core/src/agent_express/inner.py", "def turn(", "def turns("),
    ],
)
def test_what_is_neither_public_nor_documented_may_change(workspace: Workspace, name: str, old: str, new: str) -> None:
    change(workspace, name, old, new)
    assert api(workspace) == 0


def test_a_documented_module_that_is_gone_is_a_break(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    (workspace.root / "packages/core/src/agent_express/errors.py").unlink()
    (problem,) = refused(workspace, capsys)
    assert problem.startswith("agent-express: agent_express.errors: Public object was removed")


def test_a_package_that_is_gone_is_a_break(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.rmtree(workspace.root / "packages/guards")
    assert refused(workspace, capsys) == ["agent-express-guards: the package was removed"]
    write(workspace.root, {"docs/changes/guards.all.removed.md": "`agent-express-guards` is part of core.\n"})
    assert api(workspace) == 0


def test_a_package_that_is_new_breaks_nothing(workspace: Workspace) -> None:
    git(workspace.root, "tag", "--delete", "v0.1.0")
    shutil.rmtree(workspace.root / "packages/guards")
    commit(workspace.root)
    git(workspace.root, "tag", "v0.1.0")
    git(workspace.root, "checkout", "HEAD~1", "--", "packages/guards")
    assert api(workspace) == 0


@pytest.mark.parametrize("kind", ["changed", "removed"])
def test_a_break_that_a_fragment_tells_of_is_allowed(workspace: Workspace, kind: str) -> None:
    change(workspace, AGENT, "timeout: float = 1.0", "seconds: float = 1.0")
    write(workspace.root, {f"docs/changes/core.timeout.{kind}.md": "`Agent.run(seconds=)` was `timeout`.\n"})
    assert api(workspace) == 0


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("core.timeout.fixed.md", "`Agent.run` takes seconds."),
        ("guards.timeout.changed.md", "`Agent.run` takes seconds."),
        ("core.timeout.changed.md", "Agent.run takes seconds."),
        ("core.timeout.changed.md", "`Agent.go` takes seconds."),
    ],
)
def test_a_fragment_of_another_type_area_or_name_allows_nothing(
    workspace: Workspace, name: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    change(workspace, AGENT, "timeout: float = 1.0", "seconds: float = 1.0")
    write(workspace.root, {f"docs/changes/{name}": f"{text}\n"})
    assert refused(workspace, capsys) == ["agent-express: Agent.run: Parameter was removed (timeout)"]


def test_a_break_stays_allowed_when_its_fragment_has_become_a_note(workspace: Workspace) -> None:
    change(workspace, AGENT, "timeout: float = 1.0", "seconds: float = 1.0")
    write(workspace.root, {"docs/changes/core.timeout.changed.md": "`Agent.run` takes\nseconds.\n"})
    commit(workspace.root)
    assert main(["--root", str(workspace.root), "bump", "minor"]) == 0
    assert main(["--root", str(workspace.root), "notes", "--write"]) == 0
    commit(workspace.root)
    assert api(workspace) == 0
    git(workspace.root, "tag", "v0.2.0")
    assert last_release(workspace) == "v0.2.0"
    assert api(workspace) == 0


def test_a_break_needs_more_than_a_patch(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    change(workspace, AGENT, "timeout: float = 1.0", "seconds: float = 1.0")
    write(workspace.root, {"docs/changes/core.timeout.changed.md": "`Agent` takes seconds.\n"})
    commit(workspace.root)
    assert main(["--root", str(workspace.root), "bump", "patch"]) == 0
    problem = "0.1.1 has breaks after 0.1.0: set the next version by scripts/release bump minor"
    assert refused(workspace, capsys) == [problem]


def test_the_last_release_is_the_highest_version_that_the_commit_comes_after(workspace: Workspace) -> None:
    for tag in ("v0.9.0", "v0.10.0", "v0.10", "vanilla"):
        git(workspace.root, "tag", tag)
    git(workspace.root, "checkout", "--quiet", "-b", "later")
    git(workspace.root, "commit", "--quiet", "--allow-empty", "--message", "Later")
    git(workspace.root, "tag", "v0.11.0")
    assert last_release(workspace) == "v0.11.0"
    git(workspace.root, "checkout", "--quiet", "main")
    assert last_release(workspace) == "v0.10.0"


def test_a_break_is_named_by_itself_or_by_what_it_is_part_of() -> None:
    found = Break("core", "Agent.run", "")
    named = ["`Agent.run`", "`Agent.run(timeout)`", "`Agent`", "(see `Agent`) and `x`"]
    assert all(found.is_told_in(Fragment("core", "changed", text)) for text in named)
    assert found.is_told_in(Fragment("all", "removed", "`Agent`"))
    others = ["Agent", "`run`", "`Agent.run.now`", "`Agents`", ""]
    assert not any(found.is_told_in(Fragment("core", "changed", text)) for text in others)
