"""Where requests go, and which API is spoken there."""

from __future__ import annotations

import pytest

from agent_express.errors import UseError
from agent_express_openai.endpoint import OPENAI, endpoint
from agent_express_openai.windows import context_window


def test_openai_is_spoken_to_in_responses() -> None:
    place = endpoint(None, None, {})
    assert (place.base_url, place.api, place.is_openai, place.provider) == (OPENAI, "responses", True, "openai")


@pytest.mark.parametrize("url", ["https://eu.api.openai.com/v1", "https://us.api.openai.com/v1/"])
def test_openais_regions_are_openai(url: str) -> None:
    assert endpoint(url, None, {}).api == "responses"
    assert endpoint(url, None, {}).provider == "openai"


@pytest.mark.parametrize(
    "url", ["http://localhost:11434/v1", "https://evil.example/api.openai.com", "https://xapi.openai.com.example/v1"]
)
def test_any_other_server_is_spoken_to_in_chat_completions(url: str) -> None:
    place = endpoint(url, None, {})
    assert (place.api, place.is_openai) == ("chat", False)


def test_the_environment_names_the_server_where_the_code_does_not() -> None:
    env = {"OPENAI_BASE_URL": "http://localhost:8000/v1"}
    assert endpoint(None, None, env).base_url == "http://localhost:8000/v1"
    assert endpoint("http://localhost:9000/v1/", None, env).base_url == "http://localhost:9000/v1"


def test_the_api_can_be_chosen() -> None:
    assert endpoint(None, "chat", {}).api == "chat"
    assert endpoint("http://localhost:8000/v1", "responses", {}).api == "responses"


def test_servers_do_not_share_the_mark_on_what_they_sent() -> None:
    first, second = endpoint("http://a.example/v1", None, {}), endpoint("http://b.example/v1", None, {})
    assert len({first.provider, second.provider, endpoint(None, None, {}).provider}) == 3


@pytest.mark.parametrize("url", ["localhost:8000/v1", "ftp://localhost/v1", "http://"])
def test_an_address_that_is_none_says_how_one_looks(url: str) -> None:
    with pytest.raises(UseError, match="base_url must look like 'http://localhost:8000/v1'"):
        endpoint(url, None, {})
    with pytest.raises(UseError, match="OPENAI_BASE_URL must look like"):
        endpoint(None, None, {"OPENAI_BASE_URL": url})


def test_an_api_that_does_not_exist_is_refused() -> None:
    with pytest.raises(UseError, match="api must be 'responses' or 'chat', got 'completions'"):
        endpoint(None, "completions", {})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("model", "tokens"),
    [
        ("gpt-5", 400_000),
        ("gpt-4o-2024-08-06", 128_000),
        ("o3", 200_000),
        ("gpt-99", None),
        ("gpt-5-experimental", None),
    ],
)
def test_the_window_of_a_known_model_is_known(model: str, tokens: int | None) -> None:
    assert context_window(model) == tokens
