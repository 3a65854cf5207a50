"""`agent-express plugins list`, `show` and `schema`, over distributions that a test installs."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

GUARD = '''
from typing import Annotated
from pydantic import Field
from agent_express import Middleware

class It(Middleware):
    """Stop what costs too much.

    Args:
        limit: Dollars a session may cost.
        currency: What is counted in.
    """

    def __init__(self, limit: Annotated[float, Field(gt=0)], currency: str = "USD") -> None:
        self.limit, self.currency = limit, currency
'''
ENTRY = {
    "summary": "Stop what costs too much.",
    "stability": "beta",
    "hooks": ["turn", "model"],
    "streaming": True,
    "state": [
        {"name": "spent", "type": "number", "scope": "session", "private": True, "description": "Dollars so far."}
    ],
    "events": [{"name": "budget:warned", "summary": "Half of it is spent."}],
    "tools": [{"name": "budget", "summary": "Say what is left."}],
    "order": {"outside": ["calls"], "inside": ["auth"], "requires": ["acme.prices"]},
    "roles": ["budget"],
    "next_many": ["model"],
    "permissions": ["network"],
    "environment": ["ACME_KEY"],
    "exempt": {"light-import": "it reads prices"},
    "example": {"limit": 5},
    "config": {
        "type": "object",
        "required": ["limit"],
        "properties": {
            "limit": {"type": "number", "exclusiveMinimum": 0, "description": "Dollars a session may cost."},
            "currency": {"enum": ["USD", "EUR"], "default": "USD", "description": "What is counted in."},
            "key": {"anyOf": [{"type": "string", "format": "password", "writeOnly": True}, {"type": "null"}]},
            "tags": {"type": "array", "items": {"$ref": "#/$defs/Tag"}, "maxItems": 3},
            "size": {"type": ["integer", "null"], "minimum": 1, "maximum": 9},
        },
        "$defs": {"Tag": {"type": "object"}},
    },
}


def objects(text: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in text.splitlines()]


@pytest.fixture
def guard(site: Any) -> Any:
    site.add("acme.cost-cap", GUARD, group="middleware", dist="acme-guards", version="2.1.0", entry=ENTRY)
    return site


# --- list -----------------------------------------------------------------------------------------


def test_a_pipe_gets_plain_columns_without_a_head(command: Any, guard: Any) -> None:
    run = command("plugins", "list", "--group", "middleware", env=guard.env)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout == "acme.cost-cap  middleware  acme-guards  2.1.0  available  Stop what costs too much.\n"


def test_the_plugins_of_the_command_line_are_listed_where_they_are_asked_for(command: Any) -> None:
    assert " hooks " not in command("plugins", "list").stdout
    assert "offline" in command("plugins", "list").stdout
    assert "cli.toml-stacks " in command("plugins", "list", "--all").stdout
    assert "cli.toml-stacks " in command("plugins", "list", "-g", "hooks").stdout


def test_a_plugin_that_fails_is_listed_as_failed_once_it_was_imported(command: Any, site: Any) -> None:
    site.add("acme.bad", "raise SystemExit(1)", group="middleware")
    site.add("acme.good", GUARD, group="middleware")
    listed = command("plugins", "list", "--group", "middleware", env=site.env).stdout
    assert listed.count("  available") == 2
    loaded = command("plugins", "list", "--group", "middleware", "--load", env=site.env)
    assert (loaded.returncode, loaded.stderr) == (0, "")
    bad, good = loaded.stdout.splitlines()
    assert "  failed  " in bad
    assert "SystemExit: 1" in bad
    assert good.split()[4] == "loaded"
    assert command("plugins", "list", "--state", "failed", env=site.env).stdout.split() == bad.split()
    shown = command("plugins", "show", "acme.bad", env=site.env).stdout
    assert re.search(r"^state +failed: acme.bad", shown, re.MULTILINE)


def test_a_manifest_that_cannot_be_read_is_told_in_the_list(command: Any, site: Any) -> None:
    site.add("acme.odd", group="middleware", entry={"stability": "shiny"})
    listed = command("plugins", "list", "--group", "middleware", env=site.env)
    assert "acme.odd: stability must be one of alpha, beta, stable, found 'shiny'" in listed.stdout


def test_nothing_is_imported_for_a_list_and_the_reason_stands_where_a_plugin_cannot_be_used(
    command: Any, site: Any
) -> None:
    site.add("acme.bad", "raise SystemExit(1)", group="middleware")
    site.add("acme.old", group="middleware", requires=["agent-express<0.0.1"])
    site.add("acme.twice", group="middleware", dist="acme-one")
    site.add("acme.twice", group="middleware", dist="acme-two")
    env = {**site.env, "AGENT_EXPRESS_BLOCK": "acme.bad"}
    told = objects(command("plugins", "list", "--json", "-g", "middleware", env=env).stdout)
    assert {each["distribution"]: each["state"] for each in told} == {
        "acme-bad": "blocked",
        "acme-old": "incompatible",
        "acme-one": "ambiguous",
        "acme-two": "ambiguous",
    }
    assert all(each["type"] == "plugin" and each["reason"] for each in told)
    shown = command("plugins", "list", "--state", "blocked", env=env).stdout
    assert (
        shown
        == "acme.bad  middleware  acme-bad  1.0.0  blocked  acme.bad is blocked by 'acme.bad' in AGENT_EXPRESS_BLOCK\n"
    )


def test_an_empty_list_says_what_to_do(command: Any) -> None:
    run = command("plugins", "list", "--group", "stores")
    assert (run.returncode, run.stdout) == (0, "")
    assert run.stderr.startswith("note: no plugin of the group stores is installed; ")


def test_a_terminal_gets_a_table_with_a_head(keyboard: Any) -> None:
    talk = keyboard("plugins", "list", env={"COLUMNS": "200"})
    assert talk.end() == 0
    assert "distribution" in talk.text.splitlines()[0]
    assert "agent-express-offline" in talk.text


# --- show -----------------------------------------------------------------------------------------


def test_show_tells_all_that_the_manifest_does_without_an_import(command: Any, guard: Any) -> None:
    (guard.folder / "acme_guards" / "__init__.py").write_text("raise SystemExit(1)", encoding="utf-8")
    run = command("plugins", "show", "acme.cost-cap", env={**guard.env, "ACME_KEY": "sk-secret"})
    assert (run.returncode, run.stderr) == (0, "")
    lines = [" ".join(line.split()) for line in run.stdout.splitlines()]
    for line in (
        "acme.cost-cap Stop what costs too much.",
        "group middleware",
        "distribution acme-guards 2.1.0",
        f"origin wheel, {guard.folder}",
        "state available",
        "code acme_guards:It",
        "stability beta",
        "hooks turn, model (streaming)",
        "roles budget",
        "state fields spent (number, per session, private): Dollars so far.",
        "events budget:warned: Half of it is spent.",
        "tools budget: Say what is left.",
        "order outside of calls; inside of auth; requires acme.prices",
        "repeats model",
        "permissions network",
        "environment ACME_KEY (set)",
        "exempt from light-import: it reads prices",
        "limit number required more than 0 Dollars a session may cost.",
        'currency choice "USD" "USD", "EUR" What is counted in.',
        "key secret or nothing",
        "tags list of table at most 3 items",
        "size integer or nothing at least 1; at most 9",
        "from acme_guards import It",
        "agent.use(It(limit=5))",
        "[[use]]",
        'plugin = "acme.cost-cap"',
        "config = { limit = 5 }",
    ):
        assert line in lines, line
    assert "sk-secret" not in run.stdout


def test_show_for_a_machine_holds_manifest_provenance_and_settings(command: Any, guard: Any) -> None:
    (told,) = objects(command("plugins", "show", "acme-guards:acme.cost-cap", "--json", env=guard.env).stdout)
    assert (told["name"], told["state"], told["group"]) == ("acme.cost-cap", "available", "middleware")
    assert told["provenance"]["origin"] == "wheel"
    assert told["manifest"]["roles"] == ["budget"]
    assert told["settings"]["required"] == ["limit"]


def test_without_a_manifest_the_settings_come_from_the_code(command: Any, site: Any) -> None:
    site.add("acme.cost-cap", GUARD, group="middleware")
    lines = [
        " ".join(line.split()) for line in command("plugins", "show", "acme.cost-cap", env=site.env).stdout.splitlines()
    ]
    assert "limit number required more than 0 Dollars a session may cost." in lines
    assert any(line.startswith("manifest none") for line in lines)


def test_settings_that_cannot_be_known_are_a_note(command: Any, site: Any) -> None:
    site.add("acme.bad", "raise RuntimeError('no licence')", group="middleware")
    run = command("plugins", "show", "acme.bad", env=site.env)
    assert run.returncode == 0
    assert run.stderr.startswith("note: its settings are not known: acme.bad")
    assert "no licence" in run.stderr


@pytest.mark.parametrize(
    ("group", "words"),
    [
        ("models", ['Agent("acme.it:MODEL")', 'model = "acme.it:MODEL"']),
        ("bundles", ["agent.use(*It())", 'bundle = "acme.it"']),
        ("stores", ["store = It()"]),
        ("hooks", ["implements", "doctor", "commands", "audit"]),
    ],
)
def test_each_group_says_how_it_is_used(command: Any, site: Any, group: str, words: list[str]) -> None:
    entry = {"config": {"type": "object", "properties": {}}, "implements": ["doctor"], "commands": [{"name": "audit"}]}
    site.add("acme.it", "class It: ...", group=group, entry=entry)
    shown = command("plugins", "show", "acme.it", env=site.env).stdout
    assert [word for word in words if word not in shown] == []


# --- schema ---------------------------------------------------------------------------------------


def test_the_schema_of_a_plugin_is_that_of_its_settings(command: Any, guard: Any) -> None:
    schema = json.loads(command("plugins", "schema", "acme.cost-cap", env=guard.env).stdout)
    assert schema["$schema"].startswith("https://json-schema.org/")
    assert schema["title"] == "Settings of acme.cost-cap"
    assert schema["properties"]["limit"]["exclusiveMinimum"] == 0
    compact = command("plugins", "schema", "acme.cost-cap", "--json", env=guard.env).stdout
    assert json.loads(compact) == schema
    assert compact.count("\n") == 1


def test_the_schema_of_stack_files_knows_what_is_installed(command: Any, guard: Any) -> None:
    text = command("plugins", "schema", env=guard.env).stdout
    assert json.loads(text)["$schema"].startswith("https://json-schema.org/")
    assert "acme.cost-cap" in text


# --- names that are not there ---------------------------------------------------------------------

WRONG = {
    "a typo": ("acme.cost-cpa", "nearest: acme.cost-cap (acme-guards 2.1.0)"),
    "a typo in another group": ("ofline", "nearest: offline (agent-express-offline"),
    "an area that is not installed": ("guards.thing", "pip install agent-express-guards"),
    "another distribution": ("other:acme.cost-cap", "no middleware 'other:acme.cost-cap' is installed"),
}


@pytest.mark.parametrize(("plugin", "said"), list(WRONG.values()), ids=list(WRONG))
def test_a_name_that_is_not_there_is_put_right_in_one_sentence(
    command: Any, guard: Any, plugin: str, said: str
) -> None:
    run = command("plugins", "show", plugin, env=guard.env)
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.startswith("error: ")
    assert said in run.stderr
    assert run.stderr.count("\n") == 1


def test_a_name_that_is_not_there_is_an_object_where_a_machine_reads(command: Any, guard: Any) -> None:
    run = command("plugins", "schema", "acme.cost-cpa", "--json", env=guard.env)
    (told,) = objects(run.stderr)
    assert (run.returncode, told["type"], told["exit_code"]) == (2, "error", 2)
    assert "nearest: acme.cost-cap" in told["message"]


def test_a_name_in_two_groups_asks_for_the_group(command: Any, site: Any) -> None:
    site.add("acme.it", "class It: ...", group="middleware", dist="acme-one")
    site.add("acme.it", "class It: ...", group="stores", dist="acme-two")
    run = command("plugins", "show", "acme.it", env=site.env)
    assert run.returncode == 2
    assert run.stderr == "error: 'acme.it' is in several groups, say which with --group: middleware, stores\n"
    assert "acme-two" in command("plugins", "show", "acme.it", "-g", "stores", env=site.env).stdout


def test_a_name_of_two_distributions_asks_for_the_distribution(command: Any, site: Any) -> None:
    site.add("acme.it", "class It: ...", group="middleware", dist="acme-one")
    site.add("acme.it", "class It: ...", group="middleware", dist="acme-two")
    run = command("plugins", "show", "acme.it", env=site.env)
    assert run.returncode == 2
    assert "acme-one:acme.it" in run.stderr
    assert "acme-two:acme.it" in run.stderr
    assert command("plugins", "show", "acme-two:acme.it", env=site.env).returncode == 0


def test_a_mistyped_command_or_group_is_put_right(command: Any) -> None:
    assert "Did you mean 'list'?" in command("plugins", "lst").stderr
    run = command("plugins", "list", "--group", "midleware")
    assert run.returncode == 2
    assert "'middleware'" in run.stderr
