"""Files on the disk: what is written, and what is in the way."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent_express_cli.exits import CommandError
from agent_express_cli.scaffold.kinds import Kind
from agent_express_cli.scaffold.make import make_package, make_project
from agent_express_cli.scaffold.write import write

FILES = {"README.md": "# Grüße\n", "src/module/__init__.py": ""}


def test_files_are_written_into_folders_that_are_made(tmp_path: Path) -> None:
    written = write(FILES, tmp_path / "a" / "b")
    assert (written.folder, written.files) == (tmp_path / "a" / "b", ("README.md", "src/module/__init__.py"))
    assert (tmp_path / "a" / "b" / "README.md").read_bytes() == "# Grüße\n".encode()


def test_an_empty_folder_is_used_and_a_full_one_is_not(tmp_path: Path) -> None:
    write(FILES, tmp_path)
    with pytest.raises(CommandError, match="exists and is not empty; choose another name, or write into it with --for"):
        write(FILES, tmp_path)


def test_force_replaces_what_it_writes_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("old", encoding="utf-8")
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    write(FILES, tmp_path, force=True)
    assert (tmp_path / "README.md").read_text(encoding="utf-8") == "# Grüße\n"
    assert (tmp_path / "mine.txt").read_text(encoding="utf-8") == "mine"


@pytest.mark.parametrize("force", [False, True])
def test_a_file_in_the_place_of_the_folder_is_in_the_way(tmp_path: Path, force: bool) -> None:
    (tmp_path / "taken").write_text("", encoding="utf-8")
    with pytest.raises(CommandError, match="taken is a file; remove it, or choose another name"):
        write(FILES, tmp_path / "taken", force=force)


def test_a_file_in_the_place_of_a_folder_further_down_is_told(tmp_path: Path) -> None:
    (tmp_path / "src").write_text("", encoding="utf-8")
    with pytest.raises(CommandError, match=r"src.* cannot be written: "):
        write(FILES, tmp_path, force=True)


def test_nothing_is_written_where_the_name_will_not_do(tmp_path: Path) -> None:
    for given in ("My Guard", "json", "guards"):
        with pytest.raises(CommandError):
            make_package(given, Kind.MIDDLEWARE, tmp_path, "", force=True)
    with pytest.raises(CommandError):
        make_package("my-guard", Kind.MIDDLEWARE, tmp_path, "<nobody>", force=True)
    assert list(tmp_path.iterdir()) == []


def test_a_project_does_not_hide_an_installed_module(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="pydantic is an installed module, which the project's own would hide"):
        make_project("pydantic", tmp_path, force=False)
    assert list(tmp_path.iterdir()) == []


def test_a_project_can_be_written_anew(tmp_path: Path) -> None:
    made = make_project("my-shop", tmp_path, force=False)
    (made.written.folder / "agent.toml").write_text("", encoding="utf-8")
    assert make_project("my-shop", tmp_path, force=True).written == made.written
    assert (made.written.folder / "agent.toml").stat().st_size > 0
