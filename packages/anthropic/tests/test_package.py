"""The package as its users and the registry meet it."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from importlib.metadata import entry_points
from importlib.resources import files
from pathlib import Path

import pytest

import agent_express_anthropic
from agent_express.describe import describe_package
from agent_express.testing.stand_in import Reply, sse, stand_in
from agent_express_anthropic import AnthropicModel

README = Path(__file__).parent.parent / "README.md"


def run(code: str) -> str:
    """What a fresh Python prints."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, encoding="utf-8")
    return done.stdout.strip()


def test_importing_the_package_and_making_a_model_does_not_import_the_sdk() -> None:
    made = "from agent_express.models import resolve_model; resolve_model('anthropic:claude-sonnet-5-5')"
    heavy = "{'anthropic', 'httpx2', 'anyio'}"
    assert run(f"import sys; {made}; print(sorted({heavy} & set(sys.modules)))") == "[]"


@pytest.mark.parametrize("use", ["model.init()", "complete(model, request)"])
def test_a_missing_sdk_is_told_with_the_command_that_installs_it(use: str) -> None:
    code = f"""
import asyncio, sys
sys.modules["anthropic"] = None
from agent_express.errors import MissingPackageError
from agent_express.messages import Message, ModelRequest
from agent_express.models import complete
from agent_express_anthropic import AnthropicModel
model = AnthropicModel("claude-sonnet-5-5", api_key="kit")
request = ModelRequest(model, (Message("user", "hello"),))
try:
    asyncio.run({use})
except MissingPackageError as error:
    print(error)
"""
    assert run(code).endswith("install it: pip install 'anthropic>=2.14,<3'")


def test_the_public_names_are_these() -> None:
    assert agent_express_anthropic.__all__ == ["AnthropicModel", "create"]


def test_the_manifest_tells_the_truth() -> None:
    manifest = json.loads(files("agent_express_anthropic").joinpath("agent_express.json").read_text(encoding="utf-8"))
    (name,) = manifest["entries"]
    (found,) = entry_points(group=f"agent_express.{manifest['entries'][name]['group']}", name=name)
    assert describe_package({"models": {name: found.value}}, manifest) == manifest
    model = found.load()("claude-sonnet-5-5")
    assert isinstance(model, AnthropicModel)
    assert model.name.startswith(f"{name}:")
    assert sorted(model.modalities) == manifest["entries"][name]["modalities"]


async def test_the_sample_in_the_readme_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    events = [
        {"type": "message_start", "message": {"id": "msg_1"}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "It scatters."}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}},
        {"type": "message_stop"},
    ]
    (sample,) = re.findall(r"^```python\n(.*?)^```", README.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    async with stand_in(Reply(tuple(sse(event, str(event["type"])) for event in events))) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        monkeypatch.setenv("ANTHROPIC_API_KEY", "kit")
        assert await asyncio.to_thread(run, sample) == "It scatters."
