"""`agent-express` with the providers, over real sockets: the key, the network, a stream that breaks off."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import Mapping

import pytest
from checkout import ROOT

from agent_express.testing.servers import llmock
from agent_express.testing.stand_in import Reply, json_reply, never_accepting, stand_in

MODELS = {"openai": "openai:gpt-5", "anthropic": "anthropic:claude-sonnet-5-5"}
both_providers = pytest.mark.parametrize("provider", MODELS)
CHOOSE = ("AGENT_EXPRESS_MODEL", "OPENAI_API_KEY", "OPENAI_BASE_URL", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL")


def address(url: str) -> dict[str, str]:
    """The environment of somebody whose providers live at *url*, with a key for each."""
    keys = {"OPENAI_API_KEY": "sk-any", "ANTHROPIC_API_KEY": "sk-any"}
    return keys | {"OPENAI_BASE_URL": f"{url}/v1", "ANTHROPIC_BASE_URL": f"{url}/anthropic"}


async def command(*args: str, env: Mapping[str, str] = {}) -> subprocess.CompletedProcess[str]:
    plain = {name: value for name, value in os.environ.items() if name not in CHOOSE}
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-W", "error", "-m", "agent_express_cli", *args),
        cwd=ROOT,
        env=plain | dict(env),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    out, err = await process.communicate()
    return subprocess.CompletedProcess(args, process.returncode or 0, out.decode(), err.decode())


def sentence(run: subprocess.CompletedProcess[str]) -> str:
    """The one sentence of a command that failed."""
    assert run.stdout == ""
    assert "Traceback" not in run.stderr
    (line,) = [line for line in run.stderr.splitlines() if not line.startswith("note: ")]
    assert line.startswith("error: ")
    return line


@both_providers
async def test_a_provider_answers_and_its_tokens_are_counted(provider: str) -> None:
    async with llmock() as server:
        run = await command("run", "--model", MODELS[provider], "--json", "hello", env=address(server.url))
        assert (run.returncode, run.stderr) == (0, "")
        assert '"type": "answer"' in run.stdout.splitlines()[-1]
        assert '"output_tokens": null' not in run.stdout.splitlines()[-1]
        assert len(await server.requests()) == 1


@both_providers
async def test_a_key_alone_chooses_its_provider_and_says_so(provider: str) -> None:
    async with llmock() as server:
        env = {name: value for name, value in address(server.url).items() if name.startswith(provider.upper())}
        run = await command("run", "hello", env=env)
        assert run.returncode == 0
        assert run.stderr == (
            f"note: {MODELS[provider]} answers, because {provider.upper()}_API_KEY is set; --model names another\n"
        )


@both_providers
async def test_a_missing_key_is_named(provider: str) -> None:
    run = await command("run", "--model", MODELS[provider], "hello")
    assert run.returncode == 2
    assert f"set {provider.upper()}_API_KEY" in sentence(run)


@both_providers
async def test_a_key_that_is_refused_is_told_and_never_shown(provider: str) -> None:
    error = {"type": "authentication_error", "message": "incorrect API key provided", "code": "invalid_api_key"}
    async with stand_in(json_reply({"type": "error", "error": error}, 401)) as server:
        run = await command("run", "--model", MODELS[provider], "hello", env=address(server.url))
    assert run.returncode == 2
    assert "incorrect API key provided" in sentence(run)
    assert "sk-any" not in run.stderr


@both_providers
async def test_a_model_that_the_provider_does_not_know_is_told(provider: str) -> None:
    error = {"type": "not_found_error", "message": "the model gpt-55 does not exist", "code": "model_not_found"}
    async with stand_in(json_reply({"type": "error", "error": error}, 404)) as server:
        run = await command("run", "--model", f"{provider}:gpt-55", "hello", env=address(server.url))
    assert run.returncode == 2
    assert "the model gpt-55 does not exist" in sentence(run)


@both_providers
async def test_a_server_that_is_not_there_is_a_failure_of_the_turn(provider: str) -> None:
    async with stand_in(Reply()) as server:
        url = server.url
    run = await command("run", "--model", MODELS[provider], "hello", env=address(url))
    assert run.returncode == 1
    assert "connection" in sentence(run)


@both_providers
async def test_a_server_that_does_not_answer_meets_the_time_limit(provider: str) -> None:
    async with never_accepting() as url:
        run = await command("run", "--model", MODELS[provider], "--timeout", "3", "hello", env=address(url))
    assert run.returncode == 124
    assert "took longer than 3 seconds" in sentence(run)


@both_providers
async def test_a_rate_limit_says_how_long_to_wait(provider: str) -> None:
    async with llmock() as server:
        await server.script({"type": "fail", "status": 429, "retry_after": 7})
        run = await command("run", "--model", MODELS[provider], "hello", env=address(server.url))
    assert run.returncode == 1
    assert "try again in 7 seconds" in sentence(run)


@both_providers
async def test_a_stream_that_breaks_off_leaves_no_half_answer_in_a_pipe(provider: str) -> None:
    async with llmock() as server:
        await server.script({"type": "stream_fault", "kind": "disconnect"})
        run = await command("run", "--model", MODELS[provider], "hello", env=address(server.url))
    assert run.returncode == 1
    assert sentence(run)
