"""The lock: what a stack was made of, and whether that has changed since."""

from __future__ import annotations

import shutil
import sys
import tomllib
from pathlib import Path

import pytest
from packages.core.tests.stack_project import ENTRY_POINTS, PARTS, Project

from agent_express.distributions import core_version
from agent_express.errors import StackError
from agent_express.stack import Stack, drift, lock, lock_path

STACK = """\
[agent]
model = "scripted:x"
tools = ["shop.tools:refund"]

[[use]]
plugin = "parts.trace"
name = "spans"

[[use]]
bundle = "parts.deep"

[profile.dev.use.spans]
plugin = "parts.search"
"""

TOOLS = 'from agent_express import tool\n\n@tool\ndef refund(order: int) -> str:\n    "Pay back."\n    return "done"\n'


@pytest.fixture
def locked(project: Project) -> Project:
    """A project with a stack file and its lock."""
    project.write("shop/__init__.py", "")
    project.write("shop/tools.py", TOOLS)
    write_lock(project.load(STACK))
    return project


def write_lock(stack: Stack) -> None:
    lock_path(stack.path).write_text(lock(stack), encoding="utf-8")


def replace_parts(project: Project, version: str) -> None:
    """Install another version of the package with the parts."""
    for info in project.site.glob("agent_express_parts*"):
        shutil.rmtree(info)
    project.install(
        "agent-express-parts", version, entry_points=ENTRY_POINTS, modules={"agent_express_parts/__init__.py": PARTS}
    )


def test_a_lock_says_which_version_each_name_means_and_what_the_own_code_is(locked: Project) -> None:
    held = tomllib.loads((locked.folder / "agent.lock").read_text(encoding="utf-8"))
    assert held["core"] == f"agent-express=={core_version()}"
    assert held["models"] == {"scripted": "agent-express-parts==1.0.0"}
    assert held["bundles"] == {"parts.deep": "agent-express-parts==1.0.0"}
    assert list(held["files"]) == ["shop/__init__.py", "shop/tools.py"]
    assert all(digest.startswith("sha256:") and len(digest) == 71 for digest in held["files"].values())


def test_a_lock_covers_every_profile_and_what_bundles_bring(locked: Project) -> None:
    held = tomllib.loads((locked.folder / "agent.lock").read_text(encoding="utf-8"))
    names = ["parts.budget", "parts.memory", "parts.search", "parts.trace"]
    assert held["middleware"] == dict.fromkeys(names, "agent-express-parts==1.0.0")
    assert drift(locked.load(profile="dev")) == []
    assert locked.load(profile="dev", locked=True).file.profile == "dev"


def test_two_locks_of_one_stack_are_the_same_text(locked: Project) -> None:
    assert lock(locked.load()) == lock(locked.load(profile="dev")) == (locked.folder / "agent.lock").read_text("utf-8")


def test_nothing_has_drifted_after_locking(locked: Project) -> None:
    assert drift(locked.load()) == []
    locked.load(locked=True)


def test_another_version_is_told_and_refused(locked: Project) -> None:
    replace_parts(locked, "1.1.0")
    told = drift(locked.load())
    assert "parts.trace is locked as agent-express-parts==1.0.0, installed is agent-express-parts==1.1.0" in told
    assert "scripted is locked as agent-express-parts==1.0.0, installed is agent-express-parts==1.1.0" in told
    with pytest.raises(
        StackError, match=r"agent.lock: parts.deep is locked as agent-express-parts==1.0.0, installed is"
    ):
        locked.load(locked=True)


def test_own_code_that_has_changed_is_told_and_not_run(locked: Project) -> None:
    locked.write("shop/tools.py", f"{TOOLS}raise SystemExit('this must not run')\n")
    locked.write("shop/added.py", "")
    sys.modules.pop("shop.tools")
    with pytest.raises(StackError) as caught:
        locked.load(locked=True)
    assert [str(problem) for problem in caught.value.problems] == [
        "shop/added.py is not in the lock: run `agent-express stack lock`",
        "shop/tools.py has changed since it was locked",
    ]
    assert "shop.tools" not in sys.modules


def test_own_code_that_has_gone_from_a_package_in_use_is_told(locked: Project) -> None:
    locked.write("shop/rules.py", "")
    (locked.folder / "agent.lock").write_text(lock(locked.load()), encoding="utf-8")
    (locked.folder / "shop/rules.py").unlink()
    assert drift(locked.load()) == ["shop/rules.py is in the lock and not there any more"]


def test_the_line_ends_of_a_checkout_are_no_change(locked: Project) -> None:
    (locked.folder / "shop/tools.py").write_bytes(TOOLS.replace("\n", "\r\n").encode())
    assert drift(locked.load()) == []


def test_what_was_added_to_the_file_is_not_in_the_lock(locked: Project) -> None:
    locked.write("agent.toml", f'{STACK}[[use]]\nplugin = "own_layers:watch"\n')
    locked.write("own_layers.py", "async def watch(ctx, next):\n    return await next()\n")
    assert drift(locked.load()) == ["own_layers.py is not in the lock: run `agent-express stack lock`"]


def test_what_was_taken_out_of_the_file_is_no_drift(locked: Project) -> None:
    locked.write("agent.toml", '[agent]\nmodel = "scripted:x"\n')
    assert locked.load(locked=True).layers == ()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("version = ", "agent.lock cannot be read: Invalid value (at "),
        ("", "agent.lock cannot be read: it is of version None, expected 1"),
        ("version = 2", "agent.lock cannot be read: it is of version 2, expected 1"),
    ],
)
def test_a_lock_that_cannot_be_read_is_one_sentence(locked: Project, text: str, expected: str) -> None:
    locked.write("agent.lock", text)
    (told,) = drift(locked.load())
    assert told.startswith(expected)
    with pytest.raises(StackError, match=r"agent.lock cannot be read"):
        locked.load(locked=True)


def test_without_a_lock_a_locked_stack_does_not_load(project: Project) -> None:
    with pytest.raises(StackError, match=r"there is no agent.lock beside agent.toml: run `agent-express stack lock`"):
        project.load('[agent]\nmodel = "scripted:x"\n', locked=True)


def test_another_core_is_drift(locked: Project) -> None:
    text = (locked.folder / "agent.lock").read_text(encoding="utf-8")
    locked.write("agent.lock", text.replace(f"agent-express=={core_version()}", "agent-express==0.0.1"))
    assert drift(locked.load()) == [f"locked with agent-express==0.0.1, installed is agent-express=={core_version()}"]


def test_faults_in_a_locked_file_are_told_before_anything_is_run(locked: Project) -> None:
    (problem, *_) = locked.problems("[agent]\nmodle = 'x'\nmodel = 'scripted'\n", locked=True)
    assert problem.startswith("agent.toml:2:1: unknown key 'modle'")


def test_own_code_of_an_installed_package_is_locked_by_its_version(project: Project) -> None:
    (record,) = project.site.glob("agent_express_parts*/RECORD")
    record.write_text("agent_express_parts/__init__.py,,\n", encoding="utf-8")
    stack = project.load('[agent]\nmodel = "scripted:x"\n[[use]]\nplugin = "agent_express_parts:Memory"\n')
    assert tomllib.loads(lock(stack))["own"] == {"agent_express_parts": "agent-express-parts==1.0.0"}


def test_own_code_that_settings_refer_to_is_locked_and_what_only_looks_like_it_is_not(project: Project) -> None:
    project.write("own_rules.py", "def ask(tool: str) -> bool:\n    return True\n")
    stack = project.load(
        """\
        [agent]
        model = "scripted:x"
        [[use]]
        plugin = "parts.gate"
        config.ask = "own_rules:ask"
        [[use]]
        plugin = "parts.memory"
        config.path = "json:store"
        """
    )
    held = tomllib.loads(lock(stack))
    assert (list(held["files"]), "own" in held) == (["own_rules.py"], False)


@pytest.mark.parametrize(
    ("stack", "expected"),
    [("agent.toml", "agent.lock"), ("staging.toml", "staging.lock"), ("pyproject.toml", "agent.lock")],
)
def test_a_lock_lies_beside_its_stack_file(stack: str, expected: str) -> None:
    assert lock_path(Path("shop") / stack) == Path("shop") / expected
