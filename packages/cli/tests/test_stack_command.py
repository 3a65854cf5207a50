"""`agent-express stack show|check|lock|schema`, on real stack files and installed packages."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from agent_express_cli.stacks.rules import RULES

LIMIT = '''
from pydantic import BaseModel
from agent_express import Event, Middleware, Order, tool

class Refused(Event, type="acme:refused"):
    why: str = ""

class Seen(BaseModel):
    turns: int = 0
    names: list[str] = []

class It(Middleware):
    """Refuse what is too much."""

    name = "limit"
    state = Seen
    events = (Refused,)
    order = Order(outside=["notes"])

    def __init__(self, most: int = 3, key: str = "") -> None:
        self.most = most

    async def turn(self, ctx, next):
        await next()

    async def model(self, ctx, next):
        async for event in next():
            yield event

    @tool
    def quota(self) -> int:
        """Tell how much is left."""
        return self.most
'''
NOTES = '''
from agent_express import Middleware

class Notes(Middleware):
    """Keep notes."""

    async def turn(self, ctx, next):
        await next()

class Retry(Middleware):
    async def turn(self, ctx, next):
        await next()

    async def dispose(self):
        pass

def It():
    """Notes and a retry."""
    return [Notes(), Retry()]
'''
AGENT = '[agent]\nname = "support"\nmodel = "offline:commands"\n'


@pytest.fixture
def run(command: Any, site: Any, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Run `agent-express stack ...` in a folder of its own, with two packages installed."""
    site.add(
        "acme.limit", LIMIT, "middleware", version="1.2.0", entry={"roles": ["rate-limit"], "permissions": ["network"]}
    )
    site.add("acme.deep", NOTES, "bundles", version="2.0.0")

    def call(*args: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
        done: subprocess.CompletedProcess[str] = command("stack", *args, folder=tmp_path, env=site.env | (env or {}))
        return done

    return call


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write a file beside the stack."""

    def put(text: str, name: str = "agent.toml") -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return put


WHOLE = f"""{AGENT}
[[use]]
plugin = "acme.limit"
config = {{ most = 5 }}

[[use]]
bundle = "acme.deep"
override = {{ retry = {{ enabled = false }} }}
"""


# --- show -----------------------------------------------------------------------------------------


def test_show_tells_the_onion_of_each_hook_and_what_each_layer_brings_along(run: Any, write: Any) -> None:
    write(WHOLE)
    done = run("show")
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "support  offline:commands  agent.toml"
    turn = lines.index("turn  one message, one answer")
    assert lines[turn + 1 : turn + 3] == ["  limit    acme-limit 1.2.0", "    notes  acme-deep 2.0.0  from acme.deep"]
    assert "  limit  acme-limit 1.2.0  streaming" in lines
    assert "  quota  Tell how much is left.  of limit" in lines
    layers = done.stdout[done.stdout.index("\nlayers ") :]
    for said in (
        "  limit  acme-limit 1.2.0  acme.limit\n",
        "hooks   turn, model (streaming)\n",
        "state   turns: integer, names: array\n",
        "events  acme:refused\n",
        "tools   quota\n",
        "order   outside of notes\n",
        "roles   rate-limit\n",
        "needs   network\n",
        "config  most = 5\n",
        "from acme.deep  switched off\n",
    ):
        assert said in layers


def test_show_as_json_holds_all_that_is_known(run: Any, write: Any) -> None:
    write(WHOLE)
    found = json.loads(run("show", "--json").stdout)
    assert (found["type"], found["path"], found["profile"]) == ("stack", "agent.toml", None)
    (agent,) = found["agents"]
    assert (agent["name"], agent["model"]) == ("support", "offline:commands")
    assert agent["onion"]["turn"] == ["limit", "notes"]
    assert agent["onion"]["dispose"] == []
    limit, notes, retry = found["layers"]
    assert (limit["distribution"], limit["version"], limit["plugin"]) == ("acme-limit", "1.2.0", "acme.limit")
    assert limit["hooks"] == [{"name": "turn", "streaming": False}, {"name": "model", "streaming": True}]
    assert limit["state"][0] == {"name": "turns", "type": "integer", "scope": "session", "private": False}
    assert (limit["events"], limit["order"]["outside"]) == (["acme:refused"], ["notes"])
    assert (limit["config"], limit["line"]) == ({"most": 5}, 5)
    assert (notes["bundle"], retry["enabled"]) == ("acme.deep", False)


def test_show_draws_the_onion_into_a_file_or_to_stdout(run: Any, write: Any, tmp_path: Path) -> None:
    write(WHOLE)
    done = run("show", "--svg", "onion.svg", "--mermaid", "-")
    assert (done.returncode, done.stderr) == (0, "note: the onion is drawn in onion.svg\n")
    assert done.stdout.startswith("flowchart TB\n")
    drawn = (tmp_path / "onion.svg").read_text(encoding="utf-8")
    assert "The onion of support" in "".join(ET.fromstring(drawn).itertext())
    assert run("show", "--svg", "-").stdout == drawn


@pytest.mark.parametrize("args", [("--svg", "-", "--mermaid", "-"), ("--svg", "-", "--json")])
def test_one_thing_at_a_time_goes_to_stdout(run: Any, write: Any, args: tuple[str, ...]) -> None:
    write(AGENT)
    done = run("show", *args)
    assert (done.returncode, done.stdout) == (2, "")
    assert "write the picture into a file" in done.stderr


def test_a_picture_that_cannot_be_written_is_an_error(run: Any, write: Any) -> None:
    write(AGENT)
    done = run("show", "--svg", "nowhere/onion.svg")
    assert done.returncode == 2
    assert "nowhere/onion.svg cannot be written: No such file or directory" in done.stderr


def test_the_stack_of_a_pyproject_is_found(run: Any, write: Any) -> None:
    write('[tool.agent-express.agent]\nname = "shop"\nmodel = "offline:commands"\n', "pyproject.toml")
    assert run("show").stdout.startswith("shop  offline:commands  pyproject.toml\n")


def test_without_a_stack_it_is_said_what_to_write(run: Any, write: Any) -> None:
    write("[project]\n", "pyproject.toml")
    done = run("show")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("error: there is no stack here: no agent.toml, and no [tool.agent-express] in ")


def test_a_profile_is_applied(run: Any, write: Any) -> None:
    write(f'{AGENT}[[use]]\nplugin = "acme.limit"\n[profile.dev.use.limit]\nenabled = false\n')
    done = run("show", "--profile", "dev")
    assert "agent.toml, profile dev" in done.stdout
    assert "no layers" in done.stdout
    assert "  limit  acme-limit 1.2.0  acme.limit  switched off\n" in done.stdout
    assert json.loads(run("show", "--profile", "dev", "--json").stdout)["profile"] == "dev"


def test_secrets_are_neither_read_nor_shown(run: Any, write: Any) -> None:
    write(f'{AGENT}[[use]]\nplugin = "acme.limit"\nconfig = {{ key = {{ env = "ACME_KEY" }} }}\n')
    for env in ({}, {"ACME_KEY": "hush-hush"}):
        done = run("show", "--json", env=env)
        assert json.loads(done.stdout)["layers"][0]["config"] == {"key": {"env": "ACME_KEY"}}
        assert "hush-hush" not in done.stdout + run("show", env=env).stdout


def test_an_agent_of_python_code_is_shown_likewise(run: Any, write: Any) -> None:
    write(
        "from agent_express import Agent, App, TurnContext\nfrom acme_limit import It\n"
        "async def mine(ctx: TurnContext, next) -> None:\n    await next()\n"
        "support = Agent('offline:commands', name='support').use(It(), mine)\n"
        "shop = App().use(mine).mount(Agent('offline:commands', name='sales').use(It()))"
        ".mount(Agent('offline:commands', name='help'))\n",
        "house.py",
    )
    done = run("show", "house:support", "--json")
    limit, mine = json.loads(done.stdout)["layers"]
    assert (limit["plugin"], limit["version"], limit["roles"]) == ("acme.limit", "1.2.0", ["rate-limit"])
    assert (mine["distribution"], mine["target"], mine["hooks"][0]["name"]) == (None, "house:mine", "turn")
    app = json.loads(run("show", "house:shop", "--json").stdout)
    assert [each["name"] for each in app["agents"]] == ["sales", "help"]
    assert app["agents"][0]["onion"]["turn"] == ["mine", "limit"]
    assert app["agents"][1]["onion"]["turn"] == ["mine"]
    one = json.loads(run("show", "house:shop", "--agent", "help", "--json").stdout)
    assert [each["name"] for each in one["layers"]] == ["mine"]
    assert "App" in run("show", "house:shop").stdout


def test_an_agent_that_is_not_there_is_refused_with_those_that_are(run: Any, write: Any) -> None:
    write(AGENT)
    done = run("show", "--agent", "suport")
    assert done.returncode == 2
    assert "agent.toml has no agent of that name; was 'support' meant?" in done.stderr


def test_on_a_terminal_the_onion_is_painted(keyboard: Any, site: Any, write: Any) -> None:
    path = write(AGENT)
    talk = keyboard("stack", "show", str(path), env=site.env)
    assert talk.end() == 0
    assert "\x1b[1msupport\x1b[0m" in talk.text


# --- check ----------------------------------------------------------------------------------------

WRONG = f"""{AGENT}
[[use]]
plugin = "house:Memory"

[[use]]
plugin = "house:RateLimit"
"""
HOUSE = """
from agent_express import Middleware

class Memory(Middleware):
    async def turn(self, ctx, next):
        await next()

class RateLimit(Memory):
    pass

class Timeout(Memory):
    pass

class Retry(Memory):
    pass
"""


def test_check_says_what_is_wrong_why_and_which_order_would_do(run: Any, write: Any) -> None:
    write(HOUSE, "house.py")
    write(WRONG)
    done = run("check")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout == (
        "agent.toml: 1 error, 1 note\n\n"
        "error  rate-limit-outside-what-it-protects  agent.toml:5:1\n"
        "  memory stands outside of rate-limit\n"
        "  why a layer further out does its work, with searches and model calls of its own, for messages that the "
        "limit then refuses: the load that the limit is there to keep away comes through\n"
        "  do  put memory behind rate-limit\n\n"
        "note  not-locked\n"
        "  there is no agent.lock: nobody can say later which versions ran\n"
        "  why agent.lock says which distribution in which version each layer came from; `--locked` then refuses "
        "others.\n"
        "  do  run agent-express stack lock\n\n"
        "an order that would do  outermost first\n"
        "  rate-limit\n"
        "  memory  <- moved\n"
    )


def test_check_as_json_names_rules_and_places(run: Any, write: Any) -> None:
    write(HOUSE, "house.py")
    write(WRONG)
    done = run("check", "--json")
    found = json.loads(done.stdout)
    assert (done.returncode, found["type"], found["ok"]) == (1, "check", False)
    assert found["counts"] == {"error": 1, "warning": 0, "note": 1}
    first = found["findings"][0]
    assert (first["rule"], first["severity"]) == ("rate-limit-outside-what-it-protects", "error")
    assert (first["line"], first["order"], first["moved"]) == (5, ["rate-limit", "memory"], ["memory"])


def test_warnings_fail_where_it_is_strict(run: Any, write: Any) -> None:
    write(HOUSE, "house.py")
    write(f'{AGENT}[[use]]\nplugin = "house:Retry"\n[[use]]\nplugin = "house:Timeout"\n')
    assert run("check").returncode == 0
    assert run("check", "--strict").returncode == 1
    assert json.loads(run("check", "--strict", "--json").stdout)["ok"] is False


def test_notes_never_fail(run: Any, write: Any) -> None:
    write(f'{AGENT}[[use]]\nplugin = "acme.limit"\nconfig = {{ key = {{ env = "ACME_KEY" }} }}\n')
    done = run("check", "--strict")
    assert done.returncode == 0
    assert "note  alpha\n  limit is alpha\n" in done.stdout
    assert "note  secret-missing\n" in done.stdout
    assert "ACME_KEY" in done.stdout
    assert "permissions that the layers want\n  network    limit\n" in done.stdout
    assert "secret-missing" not in run("check", env={"ACME_KEY": "x"}).stdout


def test_a_kind_of_secret_that_nobody_knows_is_told(run: Any, write: Any) -> None:
    write(f'{AGENT}[[use]]\nplugin = "acme.limit"\nconfig = {{ key = {{ vault = "shop/key" }} }}\n')
    assert "no plugin knows secrets of the kind 'vault'" in run("check").stdout


def test_a_stack_that_cannot_be_put_together_fails_with_all_its_problems(run: Any, write: Any) -> None:
    write(f'{AGENT}[[use]]\nplugin = "acme.limti"\n[[use]]\nplugin = "acme.limit"\nconfig = {{ most = "many" }}\n')
    done = run("check", "--json")
    found = json.loads(done.stdout)["findings"]
    assert done.returncode == 1
    assert [(each["rule"], each["line"]) for each in found] == [("stack-file", 5), ("stack-file", 8)]
    assert "acme.limit" in found[0]["message"]
    shown = run("show")
    assert (shown.returncode, shown.stdout) == (2, "")
    assert "agent.toml:5:" in shown.stderr


def test_a_rule_of_order_that_a_layer_brings_along_is_told_with_an_order_that_would_do(run: Any, write: Any) -> None:
    write(HOUSE + '\nclass Notes(Memory):\n    name = "notes"\n', "house.py")
    write(f'{AGENT}[[use]]\nplugin = "house:Notes"\n[[use]]\nplugin = "acme.limit"\n')
    done = run("check", "--json")
    (found,) = json.loads(done.stdout)["findings"]
    assert (done.returncode, found["rule"], found["line"]) == (1, "order", 6)
    assert found["message"] == "limit must stand outside of notes"
    assert found["advice"] == "this order would do: limit, notes"


def test_a_stack_that_is_not_there_is_a_matter_of_usage(run: Any) -> None:
    done = run("check", "other.toml")
    assert (done.returncode, done.stdout) == (2, "")
    assert "other.toml" in done.stderr


def test_plugins_of_the_command_line_add_what_they_find(run: Any, write: Any, site: Any) -> None:
    site.add(
        "acme.rules",
        "from agent_express.stack import StackProblem\nfrom agent_express_cli.hosting.hookspecs import hookimpl\n"
        "class It:\n    @hookimpl\n    def check_stack(self, stack):\n"
        "        return [StackProblem('every agent of ours has an audit', 2, 1, 'agent', 'use acme.audit')]\n",
    )
    write(AGENT)
    found = json.loads(run("check", "--json").stdout)["findings"]
    assert [(each["rule"], each["severity"], each["message"]) for each in found] == [
        ("plugin", "warning", "every agent of ours has an audit"),
        ("not-locked", "note", "there is no agent.lock: nobody can say later which versions ran"),
    ]


def test_python_code_is_checked_too(run: Any, write: Any) -> None:
    write(
        f"{HOUSE}\nfrom agent_express import Agent\nsupport = Agent('offline:commands').use(Memory(), RateLimit())\n",
        "house.py",
    )
    done = run("check", "house:support")
    assert done.returncode == 1
    assert "memory stands outside of rate-limit" in done.stdout


def test_a_rule_is_explained(run: Any) -> None:
    done = run("check", "--explain", "budget-outside-response-cache")
    assert done.returncode == 0
    assert done.stdout == (
        "budget-outside-response-cache  error\n  budget stands outside of response-cache.\n"
        "  why  otherwise an answer from the cache goes past the budget: a session that has spent it goes on being "
        "answered.\n"
    )
    found = json.loads(run("check", "--explain", "retry-once", "--json").stdout)
    assert (found["relation"], found["who"], found["severity"]) == ("alone", ["retry"], "warning")


def test_all_rules_are_listed(run: Any) -> None:
    text = run("check", "--explain", "all").stdout
    assert all(each.id in text for each in RULES)
    assert "\nnot-locked\n" in text


def test_a_rule_that_is_not_there_is_put_right(run: Any) -> None:
    done = run("check", "--explain", "budget-outside-cache")
    assert done.returncode == 2
    assert "was 'budget-outside-response-cache' meant?" in done.stderr


# --- lock and schema ------------------------------------------------------------------------------


def test_a_lock_is_written_and_what_changes_afterwards_is_told(run: Any, write: Any, tmp_path: Path) -> None:
    write(HOUSE, "house.py")
    write(f'{AGENT}[[use]]\nplugin = "acme.limit"\n[[use]]\nplugin = "house:Retry"\n')
    missing = run("lock", "--check")
    assert missing.returncode == 1
    assert run("lock").stdout == "agent.lock is written\n"
    assert '"acme.limit" = "acme-limit==1.2.0"' in (tmp_path / "agent.lock").read_text(encoding="utf-8")
    assert run("lock").stdout == "agent.lock says it already\n"
    assert (run("lock", "--check").returncode, run("check").stdout.count("not-locked")) == (0, 0)
    write(f"{HOUSE}\n# changed\n", "house.py")
    changed = run("lock", "--check", "--json")
    found = json.loads(changed.stdout)
    assert (changed.returncode, found["ok"], len(found["changed"])) == (1, False, 1)
    assert "house.py" in found["changed"][0]
    checked = json.loads(run("check", "--json").stdout)["findings"]
    assert [each["rule"] for each in checked if each["severity"] == "warning"] == ["drift"]
    assert run("check", "--strict").returncode == 1


def test_a_lock_is_for_stack_files(run: Any, write: Any) -> None:
    write("from agent_express import Agent\nsupport = Agent('offline:commands')\n", "house.py")
    done = run("lock", "house:support")
    assert done.returncode == 2
    assert "house:support is code of your own" in done.stderr


def test_the_schema_knows_what_is_installed(run: Any) -> None:
    done = run("schema")
    assert done.returncode == 0
    assert "acme.limit" in json.dumps(json.loads(done.stdout))


# --- what it costs --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["show", "check", "lock", "schema"])
def test_help_imports_no_part_of_the_framework(name: str) -> None:
    script = (
        f"import sys, json; from agent_express_cli import main; main(['stack', '{name}', '--help']);"
        "print(json.dumps([name for name in ('agent_express', 'asyncio', 'pluggy') if name in sys.modules]))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, encoding="utf-8", check=True)
    assert json.loads(run.stdout.splitlines()[-1]) == []


def test_the_help_of_check_says_what_the_exit_codes_mean(command: Any) -> None:
    text = command("stack", "check", "--help").stdout
    assert "  1   errors, or warnings with --strict" in text
