"""The manifest tells the truth."""

from __future__ import annotations

import inspect
import json
from importlib.metadata import entry_points
from importlib.resources import files
from typing import Any

import pytest

from agent_express_openai import OpenAIModel, create, create_chat

MANIFEST: dict[str, Any] = json.loads(files("agent_express_openai").joinpath("agent_express.json").read_text("utf-8"))


def test_it_lists_the_entry_points() -> None:
    published = {
        entry.name
        for entry in entry_points(group="agent_express.models")
        if entry.dist is not None and entry.dist.name == "agent-express-openai"
    }
    assert set(MANIFEST["entries"]) == published == {"openai", "openai-chat"}


def test_the_config_of_a_model_is_its_constructor() -> None:
    told: dict[str, Any] = MANIFEST["entries"]["openai"]["config"]
    parameters = inspect.signature(OpenAIModel).parameters
    live = {"client"}  # an object has no place in a file
    assert set(told["properties"]) == set(parameters) - live
    assert told["required"] == [name for name, each in parameters.items() if each.default is inspect.Parameter.empty]


@pytest.mark.parametrize("name", ["openai", "openai-chat"])
def test_a_model_is_made_and_needs_nothing_but_its_name(name: str) -> None:
    factory = {"openai": create, "openai-chat": create_chat}[name]
    assert factory("gpt-5").name == f"{name}:gpt-5"
    assert MANIFEST["entries"][name]["config"]["required"] == ["model"]


@pytest.mark.parametrize("name", ["openai", "openai-chat"])
def test_a_model_has_no_state_events_or_tools(name: str) -> None:
    entry = MANIFEST["entries"][name]
    assert [entry[part] for part in ("hooks", "state", "events", "tools")] == [[], [], [], []]
    assert entry["permissions"] == ["network"]
