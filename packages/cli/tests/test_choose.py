from __future__ import annotations

import pytest

from agent_express_cli.talking.choose import OFFLINE, PROVIDERS, choose

ALL = {"openai", "anthropic", "offline"}
OPENAI = {"OPENAI_API_KEY": "sk-1"}
ANTHROPIC = {"ANTHROPIC_API_KEY": "sk-2"}


def test_the_flag_wins_over_all_and_needs_no_note() -> None:
    choice = choose("a:b", {"AGENT_EXPRESS_MODEL": "c:d", **OPENAI}, ALL)
    assert (choice.model, choice.note) == ("a:b", "")


def test_the_environment_names_a_model_where_the_flag_does_not() -> None:
    choice = choose(None, {"AGENT_EXPRESS_MODEL": " c:d ", **OPENAI}, ALL)
    assert (choice.model, choice.note) == ("c:d", "")


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_key_chooses_its_provider_and_says_so(provider: object) -> None:
    _, key, model = provider  # type: ignore[misc]
    choice = choose(None, {key: "sk-1"}, ALL)
    assert choice.model == model
    assert f"{key} is set" in choice.note


def test_of_two_keys_the_first_provider_that_is_installed_is_taken() -> None:
    assert choose(None, OPENAI | ANTHROPIC, ALL).model.startswith("openai:")
    assert choose(None, OPENAI | ANTHROPIC, {"anthropic", "offline"}).model.startswith("anthropic:")


def test_a_key_without_its_package_says_what_to_install() -> None:
    choice = choose(None, ANTHROPIC, {"offline"})
    assert choice.model == OFFLINE
    assert choice.note.endswith("ANTHROPIC_API_KEY is set, what is missing is: pip install agent-express-anthropic")


@pytest.mark.parametrize("env", [{}, {"OPENAI_API_KEY": ""}, {"AGENT_EXPRESS_MODEL": "  "}])
def test_without_any_of_these_it_is_the_offline_model_and_the_note_says_how_to_get_another(env: dict[str, str]) -> None:
    choice = choose(None, env, ALL)
    assert choice.model == OFFLINE
    assert "set OPENAI_API_KEY or ANTHROPIC_API_KEY" in choice.note
    assert "--model" in choice.note
