"""A package of somebody else (`third_party/agent-express-acme`) beside ours: installed from a wheel and as editable it
behaves in every command as ours do.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest
from checkout import ROOT
from environments import User, build, build_ours, make_user, ok

from releasing.builds import Build

SOURCE = ROOT / "tests" / "third_party" / "agent-express-acme"
MIDDLEWARE = ["acme.allowance", "acme.notebook", "acme.shout", "acme.stamp"]
BROKEN = ["acme.exits", "acme.raises"]
PLUGINS = [*MIDDLEWARE, "acme.desk", "parrot"]

STACK = """\
[agent]
name = "desk"
model = { plugin = "parrot", name = "green", config = { times = 2 } }

[[use]]
plugin = "acme.stamp"
config = { key = { env = "ACME_KEY" }, prepare = "rules:prepare" }

[[use]]
bundle = "acme.desk"
config = { limit = 5, end = "!" }
"""
RULES = """\
def prepare(text: str) -> str:
    return text.strip()
"""
SECRET = {"ACME_KEY": "a secret of the test"}
ANSWER = "ONE TWO THREE ONE TWO THREE!\n"


class Desk:
    """Where the package is installed in one form, with a folder that holds a stack file.

    Args:
        form: "wheel" or "editable".
        folder: Everything of this form lies in it.
        ours: Our wheels.
    """

    def __init__(self, form: str, folder: Path, ours: Build) -> None:
        source = shutil.copytree(SOURCE, folder / "source", ignore=shutil.ignore_patterns("__pycache__"))
        self.environment: User = make_user(folder / "venv", ours)
        what: list[str | Path] = ["--editable", source] if form == "editable" else [build(source, folder / "built")]
        self.environment.install(*what)
        self.root, self.folder = folder, folder / "project"
        self.folder.mkdir()
        self.write("agent.toml", STACK)
        self.write("rules.py", RULES)

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text, encoding="utf-8")

    def run(self, *args: str, env: Mapping[str, str] | None = None) -> CompletedProcess[str]:
        return self.environment.express(*args, folder=self.folder, env={**SECRET, **(env or {})})

    def json(self, *args: str) -> list[Any]:
        return [json.loads(line) for line in ok(self.run(*args, "--json")).splitlines()]


def outcome(desk: Desk, *args: str) -> tuple[int, str, str]:
    """Exit code and outputs, but for what may tell the two forms apart: where the package came from."""
    done = desk.run(*args)
    return done.returncode, told(done.stdout, desk), told(done.stderr, desk)


def told(text: str, desk: Desk) -> str:
    lines = [line for line in text.splitlines() if not line.startswith("origin ")]
    here = "\n".join(lines).replace(str(desk.root), "<here>")
    return re.sub(r"<here>\S*?agent_express_acme", "<code>", here)


@pytest.fixture(scope="session")
def desks(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Desk]:
    """By form."""
    ours = build_ours(tmp_path_factory.mktemp("ours"))
    return {form: Desk(form, tmp_path_factory.mktemp(form), ours) for form in ("wheel", "editable")}


@pytest.fixture(params=["wheel", "editable"])
def desk(desks: dict[str, Desk], request: pytest.FixtureRequest) -> Desk:
    return desks[request.param]


# --- the two forms ----------------------------------------------------------------------------

COMMANDS = [
    ["plugins", "list"],
    ["plugins", "list", "--json"],
    ["plugins", "list", "--group", "bundles"],
    *(["plugins", "show", name] for name in PLUGINS),
    *(["plugins", "schema", name] for name in PLUGINS),
    ["plugins", "schema"],
    ["plugins", "doctor"],
    ["plugins", "doctor", "--json"],
    ["plugins", "list", "--state", "failed"],
    ["stack", "show"],
    ["stack", "show", "--json"],
    ["stack", "show", "--mermaid", "-"],
    ["stack", "show", "--svg", "-"],
    ["stack", "check"],
    ["stack", "check", "--json"],
    ["run", "one two three"],
    ["run", "--show", "onion", "one two three"],
    ["run", "--model", "parrot:blue", "one two three"],
    *(["plugins", "show", name] for name in [*BROKEN, "acme.alowance"]),
]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_command_says_the_same_of_a_wheel_and_of_an_editable_install(
    desks: dict[str, Desk], command: list[str]
) -> None:
    from_wheel, editable = outcome(desks["wheel"], *command), outcome(desks["editable"], *command)
    assert from_wheel == editable
    assert "Traceback" not in from_wheel[2]


@pytest.mark.parametrize("name", [*MIDDLEWARE, "parrot", *BROKEN])
def test_the_conformance_kit_says_the_same_of_both(desks: dict[str, Desk], name: str) -> None:
    from_wheel, editable = (checks(desk, name) for desk in desks.values())
    assert from_wheel == editable
    assert ({"failed", "not_run"} & set(from_wheel.values()) == set()) == (name in MIDDLEWARE)


def checks(desk: Desk, name: str) -> dict[str, str]:
    """The outcomes of all checks but for the one that measures time: how busy the machine is decides nothing here."""
    done = desk.run("conformance", name, "--json", *(["--kind", "models"] if name == "parrot" else []))
    return {row["name"]: row["outcome"] for row in json.loads(done.stdout)["checks"] if row["name"] != "own-time"}


def test_only_the_origin_tells_them_apart(desks: dict[str, Desk]) -> None:
    (from_wheel,), (editable,) = (desks[form].json("plugins", "show", "acme.shout") for form in ("wheel", "editable"))
    assert from_wheel["provenance"]["origin"] in ("wheel", "archive")
    assert editable["provenance"]["origin"] == "editable"
    assert editable["provenance"]["location"].endswith("source")
    del from_wheel["provenance"], editable["provenance"]
    assert from_wheel == editable


def test_a_lock_of_one_form_holds_for_the_other(desks: dict[str, Desk]) -> None:
    for written, used in (("wheel", "editable"), ("editable", "wheel")):
        ok(desks[written].run("stack", "lock"))
        lock = (desks[written].folder / "agent.lock").read_text(encoding="utf-8")
        assert '"acme.stamp" = "agent-express-acme==1.2.0"' in lock
        desks[used].write("agent.lock", lock)
        assert ok(desks[used].run("run", "--locked", "one two three")).startswith(ANSWER)
        for desk in desks.values():
            (desk.folder / "agent.lock").unlink(missing_ok=True)


# --- beside ours ------------------------------------------------------------------------------


def test_a_row_of_the_list_has_the_form_of_ours(desk: Desk) -> None:
    rows = {row["name"]: row for row in desk.json("plugins", "list")}
    assert set(rows) >= {*PLUGINS, *BROKEN, "offline"}
    assert {tuple(row) for row in rows.values()} == {tuple(rows["offline"])}


def test_all_that_is_known_of_it_has_the_form_of_ours(desk: Desk) -> None:
    ((theirs,), (ours,)) = (desk.json("plugins", "show", name) for name in ("parrot", "offline"))
    assert tuple(theirs) == tuple(ours)
    assert set(theirs["provenance"]) == set(ours["provenance"])


def test_it_stands_in_the_schema_for_editors_as_ours_does(desk: Desk) -> None:
    text = ok(desk.run("plugins", "schema"))
    assert [name for name in ("offline", *PLUGINS) if json.dumps(name) not in text] == []


# --- what it does -----------------------------------------------------------------------------


def test_a_stack_of_its_plugins_answers(desk: Desk) -> None:
    answer, digest = ok(desk.run("run", "one two three")).splitlines()
    assert f"{answer}\n" == ANSWER
    assert len(digest) == 12


def test_the_secret_is_shown_nowhere(desk: Desk) -> None:
    shown = [desk.run(*args) for args in (["stack", "show"], ["stack", "show", "--json"], ["run", "--json", "hi"])]
    assert [done.args for done in shown if SECRET["ACME_KEY"] in done.stdout + done.stderr] == []


def test_a_broken_plugin_spoils_nothing_but_itself(desk: Desk) -> None:
    assert ok(desk.run("--help"))
    doctor = desk.run("plugins", "doctor")
    assert doctor.returncode == 1
    for reason in ("SystemExit: acme ends here", "RuntimeError: acme's licence server is on holiday"):
        assert reason in doctor.stdout


MODEL = '[agent]\nmodel = "parrot:grey"\n[[use]]\n'


@pytest.mark.parametrize(
    ("use", "place", "message"),
    [
        ('plugin = "acme.alowance"', "4:10", "no middleware 'acme.alowance' is installed; nearest: acme.allowance"),
        ('plugin = "acme.allowance"', "3:1", "acme.allowance: limit: this setting is required"),
        ('plugin = "acme.allowance"\nconfig = { limit = 1, cuont = "words" }', "5:23", "meant 'count'?"),
        ('plugin = "acme.allowance"\nconfig = { limit = 0 }', "5:20", "greater than or equal to 1"),
        ('plugin = "acme.allowance"\nconfig = { limit = "many" }', "5:20", "valid integer"),
        ('plugin = "acme.stamp"\nconfig = { key = "text" }', "5:18", "a secret is never written as text"),
        ('plugin = "acme.stamp"\nconfig = { key = { env = "ABSENT" } }', "5:18", "the variable ABSENT is not set"),
        (
            'plugin = "acme.stamp"\nconfig = { key = { env = "ACME_KEY" }, prepare = "rules:prepar" }',
            "5:50",
            "was 'prepare' meant?",
        ),
        ('plugin = "acme.raises"', "4:10", "RuntimeError: acme's licence server is on holiday"),
        ('plugin = "acme.exits"', "4:10", "SystemExit: acme ends here"),
        ('plugin = "acme.shout"\n[[use]]\nplugin = "acme.notebook"', "", "this order would do: notebook, shout"),
        ('bundle = "acme.desk"\nwithout = ["notebok"]', "5:12", "meant 'notebook'?"),
    ],
    ids=lambda value: value.splitlines()[0] if isinstance(value, str) and "=" in value else "",
)
def test_what_is_wrong_in_a_stack_file_is_one_clear_message(desk: Desk, use: str, place: str, message: str) -> None:
    desk.write("wrong.toml", f"{MODEL}{use}\n")
    done = desk.run("run", "--stack", "wrong.toml", "hi")
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr
    assert f"wrong.toml:{place}" in done.stderr
    assert len([line for line in done.stderr.splitlines() if line.startswith("error: ")]) == 1
    assert "Traceback" not in done.stderr


def test_the_policy_holds_for_it_as_for_ours(desk: Desk) -> None:
    done = desk.run("run", "one two three", env={"AGENT_EXPRESS_BLOCK": "acme.s*"})
    assert done.returncode == 2
    assert "acme.stamp is blocked by 'acme.s*' in AGENT_EXPRESS_BLOCK" in done.stderr
    blocked = desk.run("plugins", "list", "--state", "blocked", env={"AGENT_EXPRESS_BLOCK": "acme.*,offline"})
    assert "acme.stamp" in ok(blocked)
    assert "offline" in blocked.stdout
