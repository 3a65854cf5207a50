"""The version of a release and its notes: `scripts/release bump` and `scripts/release notes`."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from checkout import PACKAGES, ROOT
from small_workspace import change, commit, git, make, version, write

from releasing import notes
from releasing.__main__ import main
from releasing.commands import run, uv
from releasing.fragments import Fragment, check_fragments
from releasing.versions import VersionError, following, train
from releasing.workspace import Workspace


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Workspace:
    return make(tmp_path_factory.mktemp("whole"))


@pytest.fixture
def workspace(whole: Workspace, tmp_path: Path) -> Workspace:
    return Workspace(shutil.copytree(whole.root, tmp_path / "workspace"))


def release(workspace: Workspace, *arguments: str) -> int:
    return main(["--root", str(workspace.root), *arguments])


# --- versions -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("wanted", "expected"), [("minor", "0.3.0"), ("patch", "0.2.10"), ("0.2.10", "0.2.10"), ("1.0.0", "1.0.0")]
)
def test_a_version_comes_after_the_one_before(wanted: str, expected: str) -> None:
    assert following("0.2.9", wanted) == expected


@pytest.mark.parametrize("wanted", ["0.2.9", "0.2.8", "0.1.99", "0.0.1"])
def test_a_version_that_goes_backwards_or_stands_still_is_refused(wanted: str) -> None:
    with pytest.raises(VersionError, match=r"does not come after 0\.2\.9: the next ones are 0\.3\.0 and 0\.2\.10"):
        following("0.2.9", wanted)


@pytest.mark.parametrize("wanted", ["0.3", "v0.3.0", "0.3.0rc1", "0.03.0", "major", ""])
def test_what_is_no_version_is_refused(wanted: str) -> None:
    with pytest.raises(VersionError, match="expected three numbers"):
        following("0.2.9", wanted)


def test_the_train_of_a_version_ends_before_the_next_minor_one() -> None:
    assert [train("0.1.7"), train("0.9.0"), train("1.0.0")] == [">=0.1,<0.2", ">=0.9,<0.10", ">=1.0,<1.1"]


# --- bump -----------------------------------------------------------------------------------------


def test_a_bump_sets_the_versions_the_ranges_and_the_lock(workspace: Workspace) -> None:
    assert release(workspace, "bump", "minor") == 0
    assert {version(workspace, area) for area in ("core", "guards", "cli")} == {"0.2.0"}
    needs = Workspace(workspace.root).packages["agent-express-cli"].pyproject["project"]["dependencies"]
    assert needs == ["agent-express>=0.2,<0.3", "agent-express-guards>=0.2,<0.3"]
    run(uv(), "lock", "--check", "--offline", cwd=workspace.root)
    changed = set(git(workspace.root, "diff", "--name-only").split())
    assert changed == {"uv.lock", *(f"packages/{area}/pyproject.toml" for area in ("core", "guards", "cli"))}


def test_a_dry_run_shows_what_would_change_and_changes_nothing(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    assert release(workspace, "bump", "0.1.1", "--dry-run") == 0
    said = capsys.readouterr().out.splitlines()
    assert "+++ b/packages/guards/pyproject.toml" in said
    assert said.count('-version = "0.1.0"') == said.count('+version = "0.1.1"') == 6
    assert git(workspace.root, "status", "--porcelain") == ""


def test_the_diff_of_a_dry_run_is_one_that_git_applies(
    workspace: Workspace, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    release(workspace, "bump", "minor", "--dry-run")
    write(tmp_path, {"bump.diff": capsys.readouterr().out})
    git(workspace.root, "apply", str(tmp_path / "bump.diff"))
    assert version(workspace, "cli") == "0.2.0"


@pytest.mark.parametrize("name", ["README.md", "new.md"])
def test_a_bump_refuses_a_work_tree_with_changes(
    workspace: Workspace, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write(workspace.root, {name: "changed\n"})
    assert release(workspace, "bump", "minor") == 1
    said = capsys.readouterr().err
    assert said.startswith("the work tree holds changes, commit or stash them first")
    assert name in said
    assert version(workspace, "core") == "0.1.0"


def test_a_bump_backwards_is_refused_and_changes_nothing(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    assert release(workspace, "bump", "0.0.9") == 1
    assert capsys.readouterr().err == "0.0.9 does not come after 0.1.0: the next ones are 0.2.0 and 0.1.1\n"
    assert git(workspace.root, "status", "--porcelain") == ""


def test_a_bump_of_packages_with_several_versions_is_refused(
    workspace: Workspace, capsys: pytest.CaptureFixture[str]
) -> None:
    change(workspace, "packages/cli/pyproject.toml", 'version = "0.1.0"', 'version = "0.1.5"')
    commit(workspace.root)
    assert release(workspace, "bump", "minor") == 1
    assert "several versions, 0.1.0, 0.1.5" in capsys.readouterr().err


def test_a_range_keeps_its_marker_and_its_extras(workspace: Workspace) -> None:
    needs = "agent-express[all] >=0.1,<0.2; python_version < '4'"
    change(workspace, "packages/guards/pyproject.toml", "agent-express>=0.1,<0.2", needs)
    change(workspace, "packages/core/pyproject.toml", "dependencies = []", "optional-dependencies = { all = [] }")
    run(uv(), "lock", "--quiet", "--offline", cwd=workspace.root)
    commit(workspace.root)
    assert release(workspace, "bump", "minor") == 0
    found = Workspace(workspace.root).packages["agent-express-guards"].pyproject["project"]["dependencies"]
    assert found == ["agent-express[all]>=0.2,<0.3; python_version < '4'"]


# --- notes ----------------------------------------------------------------------------------------


def test_notes_are_shown_by_type_and_area(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    write(
        workspace.root,
        {
            "docs/changes/core.agent.removed.md": "`Agent.stop` is gone:\nuse `close`.\n",
            "docs/changes/cli.colour.added.md": "Colours.\n",
            "docs/changes/all.python.changed.md": "Python 3.11.\n",
        },
    )
    assert release(workspace, "notes") == 0
    assert capsys.readouterr().out.strip() == (
        "## 0.1.0\n\n### Added\n\n- **cli**: Colours.\n- **guards**: `Cap` caps.\n\n"
        "### Changed\n\n- **all**: Python 3.11.\n\n"
        "### Removed\n\n- **core**: `Agent.stop` is gone:\n  use `close`."
    )
    assert (workspace.root / "docs/changes/cli.colour.added.md").exists()


def test_written_notes_stand_on_top_and_the_fragments_are_gone(workspace: Workspace) -> None:
    assert release(workspace, "notes", "--write") == 0
    commit(workspace.root)
    assert release(workspace, "bump", "minor") == 0
    write(workspace.root, {"docs/changes/core.ask.fixed.md": "`ask` answers.\n"})
    assert release(workspace, "notes", "--write") == 0
    assert (workspace.root / "docs/changelog.md").read_text(encoding="utf-8") == (
        "# Changelog\n\n<!-- releases -->\n\n"
        "## 0.2.0\n\n### Fixed\n\n- **core**: `ask` answers.\n\n"
        "## 0.1.0\n\n### Added\n\n- **guards**: `Cap` caps.\n"
    )
    assert [path.name for path in (workspace.root / "docs/changes").iterdir()] == ["template.jinja"]


def test_a_changelog_is_read_as_it_was_written(workspace: Workspace) -> None:
    text = "`Agent.stop` is gone:\nuse `close`."
    write(workspace.root, {"docs/changes/core.agent.removed.md": f"{text}\n"})
    release(workspace, "notes", "--write")
    assert notes.written(notes.changelog(workspace)) == {
        "0.1.0": [Fragment("guards", "added", "`Cap` caps."), Fragment("core", "removed", text)]
    }


def test_a_version_is_written_once(workspace: Workspace, capsys: pytest.CaptureFixture[str]) -> None:
    assert release(workspace, "notes", "--write") == 0
    assert release(workspace, "notes", "--write") == 1
    write(workspace.root, {"docs/changes/core.ask.fixed.md": "`ask` answers.\n"})
    assert release(workspace, "notes", "--write") == 1
    nothing, again = capsys.readouterr().err.splitlines()
    assert nothing == "there is no fragment in docs/changes: nothing to say of 0.1.0"
    assert again == "docs/changelog.md has 0.1.0 already: set the next version by scripts/release bump"


@pytest.mark.parametrize(
    ("name", "text", "problem"),
    [
        ("core.ask.md", "It asks.\n", "expected a name such as"),
        ("core.ask.feature.md", "It asks.\n", "expected a name such as"),
        ("core.ask.fixed.rst", "It asks.\n", "expected a name such as"),
        ("+ask.fixed.md", "It asks.\n", "expected a name such as"),
        ("gaurds.cap.fixed.md", "It caps.\n", "there is no packages/gaurds"),
        ("core.ask.fixed.md", "", "expected sentences"),
        ("core.ask.fixed.md", "it asks.\n", "expected sentences"),
        ("core.ask.fixed.md", "It asks\n", "expected sentences"),
        ("core.ask.fixed.md", "It asks.\n\nTwice.\n", "expected one paragraph"),
        ("core.ask.fixed.md", f"It {'asks ' * 30}once.\n", "more than 120 characters"),
    ],
)
def test_a_fragment_that_is_not_well_formed_is_refused(
    workspace: Workspace, name: str, text: str, problem: str, capsys: pytest.CaptureFixture[str]
) -> None:
    write(workspace.root, {f"docs/changes/{name}": text})
    assert [release(workspace, "notes", *how) for how in ([], ["--check"], ["--write"])] == [1, 1, 1]
    said = capsys.readouterr().err
    assert said.count(f"docs/changes/{name}: ") == 3
    assert problem in said


def test_a_package_that_is_gone_may_be_named_where_something_was_removed(workspace: Workspace) -> None:
    write(workspace.root, {"docs/changes/memory.all.removed.md": "The package is part of core.\n"})
    assert check_fragments(workspace) == []


def test_the_fragments_of_this_checkout_are_well_formed() -> None:
    assert check_fragments(Workspace(ROOT)) == []
    assert {package.dist for package in PACKAGES.values()} == set(Workspace(ROOT).packages)
