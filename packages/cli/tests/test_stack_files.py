"""`--stack agent.toml` of `run`, as processes: what is taken, and every kind of bad input as one sentence."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

GUARD = '''
from typing import Annotated
from pydantic import Field, SecretStr
from agent_express import Middleware, ModelContext, ModelResponse, Next

class It(Middleware):
    """Stop what costs too much."""

    name = "cost-cap"

    def __init__(self, limit: Annotated[int, Field(ge=1)] = 5, key: SecretStr | None = None) -> None:
        self.limit, self.key = limit, key

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        if self.key is not None:
            await ctx.emit  # never reached by these tests
        return await next()
'''
AGENT = '[agent]\nname = "desk"\nmodel = "offline:commands"\n'


@pytest.fixture
def run(command: Any, site: Any, tmp_path: Path) -> Any:
    """Write *text* to agent.toml and ask the agent that it holds."""

    def run(text: str, *args: str, env: dict[str, str] = {}, file: str = "agent.toml") -> Any:
        (tmp_path / file).write_text(text, encoding="utf-8")
        return command("run", *args, "What can you do?", env={**site.env, **env}, folder=tmp_path)

    site.add("acme.cost-cap", GUARD, group="middleware", dist="acme-guards")
    return run


def refused(done: Any) -> str:
    """The one sentence of a command that did nothing."""
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    lines = [line for line in done.stderr.splitlines() if not line.startswith("note: ")]
    assert len(lines) == 1, done.stderr
    assert lines[0].startswith("error: ")
    return str(lines[0])


def test_a_stack_file_is_an_agent(run: Any) -> None:
    done = run(f'{AGENT}[[use]]\nplugin = "acme.cost-cap"\nconfig = {{ limit = 2 }}\n', "--stack", "agent.toml")
    assert (done.returncode, done.stderr) == (0, "")
    assert "offline model" in done.stdout


def test_the_one_that_lies_here_is_taken_and_said(run: Any) -> None:
    done = run(AGENT)
    assert done.returncode == 0
    assert done.stderr == "note: the agent is that of agent.toml, which lies here; --stack names another\n"


def test_nobody_has_to_take_it(run: Any) -> None:
    done = run("nonsense", "--stack", "")
    assert done.returncode == 0
    assert "the offline model answers" in done.stderr


def test_a_pyproject_is_a_stack_file_where_it_is_named(run: Any) -> None:
    text = f"[tool.agent-express.agent]\n{AGENT.partition(chr(10))[2]}"
    assert run(text, "-s", "pyproject.toml", file="pyproject.toml").returncode == 0


def test_a_profile_is_laid_over_the_rest(run: Any) -> None:
    text = f'{AGENT}[profile.dev.agent]\nmodel = "nowhere:model"\n'
    assert run(text).returncode == 0
    assert "no model provider 'nowhere'" in refused(run(text, "--profile", "dev"))
    assert "dve" in refused(run(text, "--profile", "dve"))


def test_one_of_several_agents_is_asked_within_their_app(run: Any) -> None:
    agents = "".join(f'[agents.{name}]\nmodel = "offline:commands"\n' for name in ("support", "sales"))
    text = f'[[use]]\nplugin = "acme.cost-cap"\n{agents}'
    done = run(text, "--agent", "sales", "--show", "onion")
    assert done.returncode == 0
    assert "cost-cap" in done.stdout
    assert "say which with --agent: support, sales" in refused(run(text))


def test_own_code_beside_the_file_is_found(run: Any, command: Any, site: Any, tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    (tmp_path / "shop" / "desk.py").write_text(GUARD, encoding="utf-8")
    (tmp_path / "shop" / "agent.toml").write_text(f'{AGENT}[[use]]\nplugin = "desk:It"\n', encoding="utf-8")
    assert command("run", "-s", "shop/agent.toml", "hi", env=site.env, folder=tmp_path).returncode == 0


def test_a_secret_comes_from_where_it_is_said_to_be(run: Any) -> None:
    text = f'{AGENT}[[use]]\nplugin = "acme.cost-cap"\nconfig = {{ key = {{ env = "ACME_KEY" }} }}\n'
    told = refused(run(text))
    assert "ACME_KEY" in told
    assert "agent.toml:6" in told


def test_a_secret_of_another_kind_comes_from_a_plugin(run: Any, site: Any) -> None:
    text = f'{AGENT}[[use]]\nplugin = "acme.cost-cap"\nconfig = {{ key = {{ vault = "shop" }} }}\n'
    assert "'vault' is no known kind of secret" in refused(run(text))
    source = (
        "from agent_express.errors import SecretError\n"
        "from agent_express_cli import hookimpl\n"
        "class It:\n"
        "    @hookimpl\n"
        "    def resolve_secret(self, ref):\n"
        "        raise SecretError('the vault is shut')\n"
    )
    site.add("acme.vault", source)
    assert "the vault is shut" in refused(run(text))


def test_a_model_of_a_stack_may_be_own_code_or_come_from_a_plugin(command: Any, site: Any, tmp_path: Path) -> None:
    source = (
        "from agent_express_cli import hookimpl\n"
        "from agent_express_offline import OfflineModel\n"
        "class It:\n"
        "    @hookimpl\n"
        "    def resolve_model(self, name):\n"
        "        return OfflineModel() if name == 'acme:small' else None\n"
    )
    site.add("acme.models", source)
    (tmp_path / "desk.py").write_text("from agent_express_offline import OfflineModel\nllm = OfflineModel()\n", "utf-8")
    for model in ("acme:small", "desk:llm", "desk:OfflineModel"):
        (tmp_path / "agent.toml").write_text(f'[agent]\nname = "x"\nmodel = "{model}"\n', encoding="utf-8")
        done = command("run", "--stack", "agent.toml", "hi", env=site.env, folder=tmp_path)
        assert (done.returncode, done.stderr) == (0, ""), model
    (tmp_path / "agent.toml").write_text('[agent]\nname = "x"\nmodel = "acmee:small"\n', encoding="utf-8")
    told = command("run", "--stack", "agent.toml", "hi", env=site.env, folder=tmp_path)
    assert told.returncode == 2
    assert "agent.toml:3:9: no model provider 'acmee'" in told.stderr


def test_verbose_says_which_plugins_are_loaded(run: Any) -> None:
    done = run(f'{AGENT}[[use]]\nplugin = "acme.cost-cap"\n', "--verbose")
    assert "note: plugin acme.cost-cap (acme-guards 1.0.0): loaded" in done.stderr.splitlines()


def test_a_lock_is_asked_for_where_it_is_not_there(run: Any) -> None:
    assert "agent-express stack lock" in refused(run(AGENT, "--locked"))


# --- bad input ------------------------------------------------------------------------------------

USE = f'{AGENT}[[use]]\nplugin = "{{0}}"\nconfig = {{{{ {{1}} }}}}\n'

BAD = {
    "a typo in a plugin name": (USE.format("acme.cost-cpa", ""), ["agent.toml:5", "nearest: acme.cost-cap"]),
    "a typo in a setting": (USE.format("acme.cost-cap", "limt = 3"), ["agent.toml:6", "limt", "limit"]),
    "a setting of the wrong type": (USE.format("acme.cost-cap", 'limit = "lots"'), ["agent.toml:6", "integer"]),
    "a setting out of its range": (USE.format("acme.cost-cap", "limit = 0"), ["agent.toml:6", "greater than or equal"]),
    "a typo in a key": (AGENT.replace("name", "nmae"), ["agent.toml:2", "'nmae'", "'name'"]),
    "what is no TOML": (f"{AGENT}[[use]\n", ["agent.toml:4"]),
    "a secret as text": (USE.format("acme.cost-cap", 'key = "sk-1"'), ["agent.toml:6", "{ env = "]),
    "no provider of that name": (AGENT.replace("offline:", "ofline:"), ["agent.toml:3", "offline"]),
    "own code that is not there": (USE.format("nowhere:It", ""), ["agent.toml:5", "nowhere"]),
    "own code that exits": (USE.format("leaves:It", ""), ["agent.toml:5", "SystemExit: 3"]),
    "a plugin for an older core": (USE.format("acme.old", ""), ["agent.toml:5", "agent-express<0.0.1"]),
    "a plugin for an older contract": (USE.format("acme.ancient", ""), ["agent.toml:5", "contract"]),
    "a plugin whose import exits": (USE.format("acme.exits", ""), ["agent.toml:5", "SystemExit: 3"]),
    "a plugin whose import fails": (USE.format("acme.fails", ""), ["agent.toml:5", "no licence"]),
    "a blocked plugin": (USE.format("acme.blocked", ""), ["agent.toml:5", "AGENT_EXPRESS_BLOCK"]),
    "a name of two distributions": (USE.format("acme.twice", ""), ["agent.toml:5", "acme-one:acme.twice", "acme-two:"]),
}


@pytest.fixture
def others(site: Any, tmp_path: Path) -> None:
    """Plugins that cannot be used, each for its reason."""
    (tmp_path / "leaves.py").write_text("raise SystemExit(3)", encoding="utf-8")
    site.add("acme.old", GUARD, group="middleware", requires=["agent-express<0.0.1"])
    site.add("acme.ancient", GUARD, group="middleware", manifest={"contract": 0, "entries": {}})
    site.add("acme.exits", "raise SystemExit(3)", group="middleware")
    site.add("acme.fails", "raise RuntimeError('no licence')", group="middleware")
    site.add("acme.blocked", "raise SystemExit(3)", group="middleware")
    site.add("acme.twice", GUARD, group="middleware", dist="acme-one")
    site.add("acme.twice", GUARD, group="middleware", dist="acme-two")


@pytest.mark.usefixtures("others")
@pytest.mark.parametrize(("text", "said"), list(BAD.values()), ids=list(BAD))
def test_bad_input_is_one_sentence_that_says_where_and_what_to_do(run: Any, text: str, said: list[str]) -> None:
    env = {"AGENT_EXPRESS_BLOCK": "acme.blocked"}
    told = refused(run(text, env=env))
    assert [word for word in said if word not in told] == [], told


@pytest.mark.usefixtures("others")
@pytest.mark.parametrize("case", ["a typo in a setting", "a blocked plugin", "what is no TOML"])
def test_bad_input_is_an_object_where_a_machine_reads(run: Any, case: str) -> None:
    text, said = BAD[case]
    done = run(text, "--json", env={"AGENT_EXPRESS_BLOCK": "acme.blocked"})
    (error,) = [each for each in map(json.loads, done.stderr.splitlines()) if each["type"] == "error"]
    assert (done.returncode, done.stdout, error["exit_code"]) == (2, "", 2)
    assert [word for word in said if word not in error["message"]] == []


def test_several_faults_are_told_together(run: Any) -> None:
    text = f"{AGENT.replace('name', 'nmae')}[[use]]\nplugin = 'acme.cost-cpa'\n"
    done = run(text, "-s", "agent.toml")
    assert (done.returncode, done.stdout) == (2, "")
    first, second = done.stderr.splitlines()
    assert first.startswith("error: agent.toml:2")
    assert second.startswith("error: agent.toml:5")
    told = json.loads(run(text, "-s", "agent.toml", "--json").stderr)
    assert told["message"] == f"{first}; {second}".replace("error: ", "")


def test_where_the_policy_forbids_what_loads_a_file_it_is_said(run: Any) -> None:
    told = refused(run(AGENT, env={"AGENT_EXPRESS_ALLOW": "acme.*"}))
    assert "nothing here loads the stack agent.toml" in told
    assert "cli.toml-stacks is not allowed: AGENT_EXPRESS_ALLOW names only acme.*" in told


@pytest.mark.usefixtures("others")
def test_plugins_that_cannot_be_used_are_in_nobodys_way(run: Any) -> None:
    done = run(AGENT)
    assert done.returncode == 0
    assert done.stderr.count("\n") == 1
