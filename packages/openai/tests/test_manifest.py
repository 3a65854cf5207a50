"""The manifest tells the truth, and settings reach the model."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import pytest

from agent_express.describe import describe_package
from agent_express.errors import SettingsError
from agent_express.models import resolve_model
from agent_express.registry import registry
from agent_express_openai import OpenAIModel

MANIFEST: dict[str, Any] = json.loads(files("agent_express_openai").joinpath("agent_express.json").read_text("utf-8"))
NAMES = ("openai", "openai-chat")


def test_the_manifest_is_as_the_code_is() -> None:
    targets = {plugin.name: plugin.target for plugin in registry().plugins("models") if plugin.name in NAMES}
    assert describe_package({"models": targets}, MANIFEST) == MANIFEST
    assert set(MANIFEST["entries"]) == set(NAMES)
    assert all(entry["permissions"] == ["network"] for entry in MANIFEST["entries"].values())


@pytest.mark.parametrize("name", NAMES)
def test_a_model_is_made_and_needs_nothing_but_its_name(name: str) -> None:
    assert resolve_model(f"{name}:gpt-5").name == f"{name}:gpt-5"
    assert "required" not in MANIFEST["entries"][name]["config"]


def test_settings_reach_the_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHOP_KEY", "sk-shop")
    config = {"base_url": "http://localhost:11434/v1", "api_key": {"env": "SHOP_KEY"}, "context_window": 8_192}
    model = resolve_model("openai:qwen", config)
    assert isinstance(model, OpenAIModel)
    assert model.endpoint.base_url == "http://localhost:11434/v1"
    assert model.context_window == 8_192


def test_a_setting_that_no_model_has_is_refused_by_name() -> None:
    with pytest.raises(SettingsError, match="openai: timeuot: no such setting; meant 'timeout'"):
        resolve_model("openai:gpt-5", {"timeuot": 3})
