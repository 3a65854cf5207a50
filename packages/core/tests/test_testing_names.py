"""The public face of the test tools."""

from __future__ import annotations

import ast
import inspect
from pathlib import Path

from agent_express import testing


def test_every_public_name_is_there_and_documented() -> None:
    assert len(set(testing.__all__)) == len(testing.__all__)
    for name in testing.__all__:
        assert inspect.getdoc(getattr(testing, name)), f"{name} has no docstring"


def test_what_is_imported_is_public_and_what_is_public_is_imported() -> None:
    tree = ast.parse(Path(testing.__file__).read_text(encoding="utf-8"))
    imported = {
        alias.asname or alias.name
        for node in tree.body
        if isinstance(node, ast.ImportFrom) and node.level
        for alias in node.names
    }
    assert imported == set(testing.__all__)
