"""A stack file that is no TOML, or no file: one sentence, with line and column."""

from __future__ import annotations

from pathlib import Path

import pytest
from packages.core.tests.stack_project import Project

from agent_express.errors import StackError
from agent_express.stack import load_stack, read_document


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("[agent]\nmodel = scripted\n", "2:9: not TOML: invalid value; text stands in quotes"),
        ("[agent]\nmodel = True\n", "2:9: not TOML: invalid value; text stands in quotes, true and false are written"),
        ('[agent]\nmodel = "scripted\n', "2:18: not TOML: illegal character '\\n'; a text ends on its line"),
        ("[agent\n", "1:7: not TOML: expected ']' at the end of a table declaration"),
        ("[agent]\nmodel\n", "2:6: not TOML: expected '=' after a key"),
        ("[agent]\nx = 1\nx = 2\n", "3:6: not TOML: cannot overwrite a value; a key is written once"),
        ("[agent]\n[agent]\n", "2:7: not TOML: cannot declare ('agent',) twice; a table is written once"),
        ('[agent]\nname = "C:\\temp"\nfile = "\\d"', "3:"),
        ("[agent]\n/ comment\n", "2:1: not TOML: invalid statement; a line holds a [table]"),
        ("x = '''\nnever\nclosed", "3:7: not TOML: expected \"'''\""),
        ("x = [1,\n", "1:8: not TOML: invalid value"),
        ("x = 1\r\ny =\r\n", "2:4: not TOML: invalid value"),
    ],
)
def test_what_is_no_toml_has_line_and_column(project: Project, text: str, expected: str) -> None:
    (project.folder / "agent.toml").write_bytes(text.encode())
    with pytest.raises(StackError) as caught:
        load_stack(project.folder / "agent.toml")
    (problem,) = caught.value.problems
    assert f"{problem.line}:{problem.column}: {problem}".startswith(expected)
    assert str(caught.value).startswith(f"{project.folder / 'agent.toml'}:{problem.line}:")


@pytest.mark.parametrize("text", ["x = " + "[" * 20_000, "x = " + "9" * 5_000])
def test_toml_that_no_parser_takes_is_one_sentence(project: Project, text: str) -> None:
    (problem,) = project.problems(text)
    assert problem.startswith("agent.toml: not TOML")


def test_a_file_that_is_not_utf_8_says_which_byte_and_where(project: Project) -> None:
    (project.folder / "agent.toml").write_bytes('[agent]\n# é\nname = "Jos\xe9"\n'.encode("latin-1"))
    with pytest.raises(StackError, match=r"agent.toml:2:3: not UTF-8: byte 0xe9; save the file as UTF-8"):
        load_stack(project.folder / "agent.toml")


def test_a_byte_order_mark_and_line_ends_of_windows_move_nothing(project: Project) -> None:
    text = '[agent]\r\nmodel = "scripted:x"\r\nnmae = "x"\r\n'
    (project.folder / "agent.toml").write_bytes(b"\xef\xbb\xbf" + text.encode())
    with pytest.raises(StackError, match=r"agent.toml:3:1: unknown key 'nmae'"):
        load_stack(project.folder / "agent.toml", registry=project.registry)


def test_a_file_that_is_not_there_and_a_folder_are_named(project: Project) -> None:
    with pytest.raises(StackError, match=r"nowhere.toml: there is no such file"):
        load_stack(project.folder / "nowhere.toml")
    with pytest.raises(StackError, match=r"is a folder; name the file in it: .*agent.toml"):
        load_stack(project.folder)


def test_a_pyproject_is_read_at_its_own_table(project: Project) -> None:
    stack = project.load(
        """\
        [project]
        name = "shop"
        [tool.agent-express.agent]
        model = "scripted:x"
        [[tool.agent-express.use]]
        plugin = "parts.memory"
        """,
        "pyproject.toml",
    )
    assert [(layer.name, layer.line) for layer in stack.layers] == [("memory", 5)]


def test_in_a_pyproject_errors_have_the_place_in_the_whole_file(project: Project) -> None:
    text = '[project]\nname = "shop"\n[tool.agent-express.agent]\nmodel = "scripted:x"\ntools = 3\n'
    assert project.problems(text, "pyproject.toml") == [
        "pyproject.toml:5:9: tools in [agent] must be a list, got 3",
    ]


def test_a_pyproject_without_the_table_says_how_to_write_it(project: Project) -> None:
    (problem,) = project.problems("[tool.ruff]\n", "pyproject.toml")
    assert problem == "pyproject.toml: there is no table [tool.agent-express]; write [tool.agent-express.agent]"


def test_a_document_is_data_with_places(tmp_path: Path) -> None:
    path = tmp_path / "agent.toml"
    path.write_text('[agent]\nname = "x"\n', encoding="utf-8")
    document = read_document(path)
    assert document.data == {"agent": {"name": "x"}}
    assert document.places.value(("agent", "name")).column == 8
