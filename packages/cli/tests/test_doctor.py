"""`agent-express plugins doctor`: what it finds in installations that a test breaks."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

MANIFEST = {"config": {"type": "object"}, "summary": "It.", "stability": "alpha"}


def checks(run: Any) -> dict[str, dict[str, Any]]:
    told = [json.loads(line) for line in run.stdout.splitlines()]
    assert all(each["type"] == "check" for each in told)
    return {each["name"]: each for each in told}


def doctor(command: Any, env: dict[str, str] = {}) -> dict[str, dict[str, Any]]:
    run = command("plugins", "doctor", "--json", env=env)
    found = checks(run)
    assert run.returncode == (1 if any(each["status"] == "fail" for each in found.values()) else 0)
    return found


def test_a_sound_installation_is_well_and_ends_with_0(command: Any) -> None:
    found = doctor(command, {"OPENAI_API_KEY": "sk-1", "ANTHROPIC_API_KEY": "sk-2"})
    assert {each["status"] for each in found.values()} == {"ok"}
    assert found["python"]["message"].startswith("CPython 3.")
    assert "loaded" in found["plugins"]["message"]


def test_a_person_sees_what_is_not_well_and_a_count(command: Any, site: Any) -> None:
    site.add("acme.bad", "raise RuntimeError('no licence')", group="middleware", entry=MANIFEST)
    run = command("plugins", "doctor", env=site.env)
    assert run.returncode == 1
    assert run.stdout.splitlines()[-2].startswith("fail  plugin acme-bad:acme.bad: ")
    assert "no licence" in run.stdout.splitlines()[-2]
    assert run.stdout.splitlines()[-1].endswith(" 1 fail")
    assert "requirements" not in run.stdout
    assert "ok    requirements: " in command("plugins", "doctor", "--all", env=site.env).stdout
    assert "Traceback" not in run.stdout
    assert "Traceback" in command("plugins", "doctor", "--details", env=site.env).stdout


def test_a_plugin_whose_import_exits_is_a_failure_and_the_others_are_looked_at(command: Any, site: Any) -> None:
    site.add("acme.bad", "raise SystemExit(3)", group="middleware", entry=MANIFEST)
    site.add("acme.good", "class It: ...", group="middleware", entry=MANIFEST)
    found = doctor(command, site.env)
    assert "SystemExit: 3" in found["plugin acme-bad:acme.bad"]["message"]
    assert "1 failed" in found["plugins"]["message"]
    assert "plugin acme-good:acme.good" not in found


def test_states_are_told_by_their_weight(command: Any, site: Any) -> None:
    site.add("acme.old", group="middleware", requires=["agent-express<0.0.1"])
    for dist in ("acme-one", "acme-two"):
        site.add("acme.twice", "class It: ...", group="middleware", dist=dist, entry=MANIFEST)
    site.add("acme.blocked", "raise SystemExit(1)", group="middleware", entry=MANIFEST)
    found = doctor(command, {**site.env, "AGENT_EXPRESS_BLOCK": "acme.blocked"})
    assert found["plugin acme-old:acme.old"]["status"] == "fail"
    assert found["plugin acme-one:acme.twice"]["status"] == "warn"
    assert "acme-two:acme.twice" in found["plugin acme-one:acme.twice"]["message"]
    assert "plugin acme-blocked:acme.blocked" not in found
    assert "blocked: acme.blocked" in found["policy"]["message"]


def test_what_a_distribution_requires_must_be_there(command: Any, site: Any) -> None:
    wants = ["nowhere-at-all>=2", "rich<1", "typer; python_version < '3'", "sphinx; extra == 'docs'", "packaging>=20"]
    site.add("acme.needs", "class It: ...", group="middleware", requires=wants, entry=MANIFEST)
    run = command("plugins", "doctor", env=site.env)
    assert run.returncode == 1
    told = [line for line in run.stdout.splitlines() if "requirements of acme-needs" in line]
    assert len(told) == 2
    assert "it requires nowhere-at-all>=2, which is not installed (pip install --upgrade acme-needs)" in told[0]
    assert "it requires rich<1, and " in told[1]


def test_a_package_without_a_manifest_is_told_how_to_get_one(command: Any, site: Any) -> None:
    site.add("acme.bare", "class It: ...", group="middleware")
    found = doctor(command, site.env)["manifest of acme-bare"]
    assert found["status"] == "warn"
    assert "agent-express plugins manifest acme-bare" in found["advice"]


def test_a_manifest_that_cannot_be_read_is_a_failure(command: Any, site: Any) -> None:
    site.add("acme.bad", "class It: ...", group="middleware")
    (site.folder / "acme_bad" / "agent_express.json").write_text("{", encoding="utf-8")
    assert doctor(command, site.env)["manifest of acme-bad"]["status"] == "fail"


def editable(site: Any, folder: Path, project: str) -> None:
    site.add("acme.mine", "class It: ...", group="middleware", dist="acme-mine", editable=folder, entry=MANIFEST)
    (folder / "pyproject.toml").write_text(project, encoding="utf-8")


def test_an_editable_install_is_compared_with_its_folder(command: Any, site: Any, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    points = '[project.entry-points."agent_express.middleware"]\n"acme.mine" = "acme_mine:It"\n'
    env = {"PYTHONPATH": f"{site.env['PYTHONPATH']}:{folder}"}
    editable(site, folder, f'[project]\nname = "acme-mine"\nversion = "1.0.0"\n{points}')
    assert "editable acme-mine" not in doctor(command, env)
    newer = f'[project]\nname = "acme-mine"\nversion = "1.1.0"\n{points}"acme.other" = "acme_mine:It"\n'
    (folder / "pyproject.toml").write_text(newer, encoding="utf-8")
    run = command("plugins", "doctor", env=env)
    told = [line for line in run.stdout.splitlines() if line.startswith("warn  editable acme-mine: ")]
    assert f"installed as 1.0.0, its folder says 1.1.0 (pip install -e {folder})" in told[0]
    assert "its folder publishes other plugins than are installed: acme.other" in told[1]


def test_an_editable_install_whose_folder_is_gone_is_a_failure(command: Any, site: Any, tmp_path: Path) -> None:
    folder = tmp_path / "mine"
    editable(site, folder, "")
    folder.rename(tmp_path / "elsewhere")
    found = doctor(command, site.env)["editable acme-mine"]
    assert (found["status"], found["message"]) == ("fail", f"its folder {folder} is gone")


def test_keys_are_looked_for_and_never_shown(command: Any, site: Any) -> None:
    for name, key in (("one", "ACME_KEY"), ("other", "ACME_KEY"), ("third", "BETA_TOKEN")):
        entry = {**MANIFEST, "environment": [key, "ACME_URL"]}
        site.add(name, "class It: ...", group="models", dist=f"acme-{name}", entry=entry)
    run = command("plugins", "doctor", "--json", env={**site.env, "ACME_KEY": "sk-very-secret"})
    found = checks(run)
    assert (found["key ACME_KEY"]["status"], found["key BETA_TOKEN"]["status"]) == ("ok", "warn")
    assert found["key ACME_KEY"]["message"] == "it is set, for models of one, other"
    assert found["key BETA_TOKEN"]["advice"] == "export BETA_TOKEN=..."
    assert "key ACME_URL" not in found
    assert "sk-very-secret" not in run.stdout + run.stderr


@pytest.mark.parametrize(
    ("env", "name", "message"),
    [
        ({"AGENT_EXPRESS_BLOCK": "gards.*"}, "AGENT_EXPRESS_BLOCK", "'gards.*' matches no installed plugin"),
        ({"AGENT_EXPRESS_BLOK": "guards.*"}, "AGENT_EXPRESS_BLOK", "no such variable is read"),
    ],
)
def test_a_slip_of_the_pen_in_the_policy_is_told(command: Any, env: dict[str, str], name: str, message: str) -> None:
    found = doctor(command, env)[name]
    assert (found["status"], found["message"]) == ("warn", message)


def test_two_plugins_of_one_command_and_one_that_is_built_in_are_told(command: Any, site: Any) -> None:
    source = "from agent_express_cli import hookimpl\nclass It:\n    @hookimpl\n    def add_commands(self, app): ..."
    for name, wanted in (("acme.a", "audit"), ("acme.b", "audit"), ("acme.c", "run")):
        site.add(name, source, entry={"commands": [{"name": wanted, "summary": ""}]})
    found = doctor(command, site.env)
    assert found["command audit"]["message"] == "acme-a:acme.a and acme-b:acme.b both have it"
    assert found["command run"]["message"] == "acme-c:acme.c wants it, and it is built in"


def test_a_plugin_of_the_command_line_that_breaks_is_a_failed_check(command: Any, site: Any) -> None:
    source = "from agent_express_cli import hookimpl\nclass It:\n    @hookimpl\n    def doctor(self): 1 / 0"
    site.add("acme.audit", source, entry={"implements": ["doctor"]})
    found = doctor(command, site.env)["plugin acme.audit (acme-audit 1.0.0)"]
    assert (found["status"], found["message"]) == ("fail", "doctor failed: ZeroDivisionError: division by zero")


def test_where_the_policy_is_strict_what_is_broken_is_told_once(command: Any, site: Any) -> None:
    site.add("acme.bad", "raise SystemExit(3)", group="middleware", entry=MANIFEST)
    run = command("plugins", "doctor", "--json", env={**site.env, "AGENT_EXPRESS_STRICT": "1"})
    assert run.returncode == 1
    assert sum("SystemExit: 3" in line for line in run.stdout.splitlines()) == 1
