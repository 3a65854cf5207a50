"""Commands of plugins: listed without an import, imported when called, named when they break."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from agent_express import distributions, manifest, plugins
from agent_express_cli.hosting import peek
from agent_express_cli.hosting.peek import declared_commands, published

AUDIT = """
import sys
import typer
from agent_express_cli import hookimpl

sys.stderr.write("[audit is imported]\\n")

class It:
    @hookimpl
    def add_commands(self, app):
        @app.command("audit")
        def audit(who: str = "nobody", code: int = 0, fail: str = "") -> int:
            "Say who did what."
            if fail:
                raise {"key": KeyError, "exit": typer.Exit, "abort": typer.Abort}[fail]()
            typer.echo(f"{who} did it")
            return code
"""
ENTRY = {"implements": ["add_commands"], "commands": [{"name": "audit", "summary": "Say who did what."}]}
IMPORTED = "[audit is imported]\n"


def test_help_lists_a_declared_command_without_importing_its_plugin(command: Any, site: Any) -> None:
    site.add("acme.audit", AUDIT, entry=ENTRY)
    run = command("--help", env=site.env)
    assert (run.returncode, run.stderr) == (0, "")
    assert re.search(r"^  audit +Say who did what\.$", run.stdout, re.MULTILINE)
    assert "  run  " in run.stdout


def test_a_declared_command_is_imported_when_it_is_called(command: Any, site: Any) -> None:
    site.add("acme.audit", AUDIT, entry=ENTRY)
    run = command("audit", "--who", "Ann", "--code", "7", env=site.env)
    assert (run.returncode, run.stdout, run.stderr) == (7, "Ann did it\n", IMPORTED)
    assert "--who" in command("audit", "--help", env=site.env).stdout


def test_the_commands_that_are_built_in_import_no_plugin_for_their_help(command: Any, site: Any) -> None:
    site.add("acme.audit", AUDIT, entry=ENTRY)
    assert command("run", "--help", env=site.env).stderr == ""


def test_an_undeclared_command_is_found_when_nobody_else_has_it(command: Any, site: Any) -> None:
    site.add("acme.audit", AUDIT)
    assert "audit" not in command("--help", env=site.env).stdout
    run = command("audit", "--who", "Ann", env=site.env)
    assert (run.returncode, run.stdout, run.stderr) == (0, "Ann did it\n", IMPORTED)


def test_a_near_miss_of_a_plugins_command_is_put_right(command: Any, site: Any) -> None:
    site.add("acme.audit", AUDIT, entry=ENTRY)
    run = command("audti", env=site.env)
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr.startswith("error: No such command 'audti'. Did you mean 'audit'?")


def test_a_broken_plugin_is_named_where_a_command_is_looked_for(command: Any, site: Any) -> None:
    site.add("acme.bad", "raise SystemExit(3)")
    site.add("acme.audit", AUDIT)
    run = command("audit", env=site.env)
    assert (run.returncode, run.stdout) == (0, "nobody did it\n")
    note = run.stderr.replace(IMPORTED, "")
    assert note.startswith("note: plugin acme.bad (acme-bad 1.0.0) is left out: ")
    assert "SystemExit: 3" in note
    assert note.count("\n") == 1


BROKEN = {
    "an import that fails": (AUDIT + "\nraise RuntimeError('no licence')", {}, "RuntimeError: no licence"),
    "an import that exits": ("raise SystemExit(3)", {}, "SystemExit: 3"),
    "no such command": (AUDIT.replace('"audit")', '"adit")'), {}, "add_commands() adds no such command"),
    "a hook that raises": (AUDIT.replace("@app.command", "1 / 0\n        @app.command"), {}, "ZeroDivisionError"),
    "what is no command": (AUDIT.replace("fail: str", "fail: 'Nowhere'"), {}, "add_commands added what is no command"),
    "an older core": (AUDIT, {"requires": ["agent-express<0.0.1"]}, "agent-express<0.0.1"),
}


@pytest.mark.parametrize(("source", "options", "said"), list(BROKEN.values()), ids=list(BROKEN))
def test_a_command_that_cannot_be_had_says_why_and_help_still_lists_all(
    command: Any, site: Any, source: str, options: dict[str, Any], said: str
) -> None:
    site.add("acme.audit", source, entry=ENTRY, **options)
    assert command("--help", env=site.env).returncode == 0
    run = command("audit", env=site.env)
    assert (run.returncode, run.stdout) == (2, "")
    told = run.stderr.replace(IMPORTED, "")
    assert told.startswith("error: ")
    assert said in told
    assert "acme.audit" in told
    assert told.count("\n") == 1


def test_a_blocked_plugin_has_no_commands(command: Any, site: Any) -> None:
    site.add("acme.audit", AUDIT, entry=ENTRY)
    run = command("audit", env={**site.env, "AGENT_EXPRESS_BLOCK": "acme.*"})
    assert (run.returncode, run.stdout) == (2, "")
    assert run.stderr == "error: acme.audit is blocked by 'acme.*' in AGENT_EXPRESS_BLOCK\n"


def test_two_plugins_of_one_command_are_both_named(command: Any, site: Any) -> None:
    site.add("acme.audit", AUDIT, entry=ENTRY)
    site.add("beta.audit", AUDIT, entry=ENTRY)
    run = command("audit", env=site.env)
    assert run.returncode == 2
    assert "acme-audit:acme.audit and beta-audit:beta.audit have both a command 'audit'" in run.stderr


def test_what_is_built_in_stays(command: Any, site: Any) -> None:
    site.add("acme.audit", AUDIT, entry={"commands": [{"name": "run", "summary": "Run away."}]})
    assert "Run away." not in command("--help", env=site.env).stdout
    assert command("run", "-s", "stacks:hello", "hi", env=site.env).stdout == "You said: hi\n"


def test_a_command_that_fails_is_answered_for_by_its_plugin(command: Any, site: Any) -> None:
    site.add("acme.audit", AUDIT, entry=ENTRY)
    run = command("audit", "--fail", "key", env=site.env)
    assert run.returncode == 1
    assert run.stderr == f"{IMPORTED}error: plugin acme-audit:acme.audit: its command failed: KeyError\n"
    assert command("audit", "--fail", "exit", env=site.env).stderr == IMPORTED
    assert command("audit", "--fail", "abort", env=site.env).returncode == 130


def test_the_plugin_of_the_readme_works(command: Any, site: Any, tmp_path: Path) -> None:
    text = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    (source,) = re.findall(r"```python\n(import os\n.*?)```", text, re.DOTALL)
    (entry,) = re.findall(r"```json\n(\{\"group\": \"hooks\".*?)```", text, re.DOTALL)
    site.add("acme.audit", source, target="acme_audit:Audit", entry=json.loads(entry))
    assert re.search(r"^  audit +Say who did what\.$", command("--help", env=site.env).stdout, re.MULTILINE)
    assert command("audit", env=site.env).stdout == "nobody did anything\n"
    told = command("plugins", "doctor", env=site.env, folder=tmp_path).stdout
    assert "warn  audit: audit.log cannot be written (touch audit.log)\n" in told


def test_what_is_read_from_files_is_what_the_packaging_metadata_says() -> None:
    from importlib.metadata import entry_points

    told = {
        (entry.group.removeprefix("agent_express."), entry.name, entry.value)
        for group in entry_points().groups
        if group.startswith("agent_express.")
        for entry in entry_points(group=group)
    }
    assert {(each.group, each.name, each.target) for each in published()} == told


@pytest.mark.parametrize(
    "manifest",
    ["{", "[]", '{"contract": 2, "entries": {"acme.audit": {"commands": [{"name": "audit"}]}}}', '{"contract": 1}',
     '{"contract": 1, "entries": {"acme.audit": {"commands": [7, {}, {"summary": "x"}]}}}',
     '{"contract": 1, "entries": {"acme.audit": {"commands": 7}}}'],
)  # fmt: skip
def test_a_manifest_that_is_none_keeps_nobody_from_help(command: Any, site: Any, manifest: str) -> None:
    site.add("acme.audit", AUDIT)
    (site.folder / "acme_audit" / "agent_express.json").write_text(manifest, encoding="utf-8")
    run = command("--help", env=site.env)
    assert (run.returncode, run.stderr) == (0, "")
    assert "  run  " in run.stdout


def test_the_first_of_two_copies_of_a_distribution_counts(site: Any, tmp_path: Any) -> None:
    site.add("acme.audit", AUDIT, entry=ENTRY)
    entries = published([str(site.folder), str(site.folder)])
    assert [each.name for each in declared_commands(entries)] == ["audit"]


def test_help_with_two_hundred_plugins_imports_neither_them_nor_the_framework(site: Any) -> None:
    for number in range(200):
        site.add(f"acme.p{number}", "raise SystemExit(1)", entry={"commands": [{"name": f"c{number}", "summary": "x"}]})
    script = (
        "import sys, json; from agent_express_cli import main; main(['--help']);"
        "names = ('agent_express', 'asyncio', 'pluggy', 'importlib.metadata', 'acme_p1');"
        "print(json.dumps([name for name in names if name in sys.modules]))"
    )
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, encoding="utf-8", check=True, env=site.env
    )
    assert "\n  c199 " in run.stdout
    assert json.loads(run.stdout.splitlines()[-1]) == []


def test_what_is_read_without_the_framework_has_the_form_that_the_framework_reads() -> None:
    assert (peek.CONTRACT, peek.MANIFEST, peek.PREFIX) == (manifest.CONTRACT, manifest.FILE, distributions.PREFIX)
    for name in ("Acme_Guards", "agent.express--x", "plain"):
        assert peek.normal(name) == plugins.normal(name)
