"""The entry point: from a name and settings to a model."""

from __future__ import annotations

from typing import Literal

from pydantic import PositiveFloat, PositiveInt, SecretStr

from agent_express.errors import UnknownModelError

from .model import AnthropicModel


def create(
    model: str,
    *,
    api_key: SecretStr | None = None,
    base_url: str | None = None,
    timeout: PositiveFloat | None = None,
    max_tokens: PositiveInt | None = None,
    cache_ttl: Literal["5m", "1h"] | None = None,
    context_window: PositiveInt | None = None,
) -> AnthropicModel:
    """Claude models by Anthropic's Messages API, on the official SDK.

    The entry point: it makes "anthropic:*model*".

    Args:
        model: The name at Anthropic, "claude-sonnet-5-5".
        api_key: The key; ANTHROPIC_API_KEY, or another source that the SDK knows, where it is left out.
        base_url: Another server; ANTHROPIC_BASE_URL where it is left out. "/v1" is not part of it.
        timeout: Seconds without a byte after which a call fails; left out, the SDK's ten minutes.
        max_tokens: The longest answer, where a request does not say it; left out, the most that the model can give.
        cache_ttl: How long marked prefixes are kept in the prompt cache; left out, the API's 5 minutes.
        context_window: Tokens of prompt and answer, for a model that is not known.

    Raises:
        UnknownModelError: *model* is empty.
    """
    if not model:
        raise UnknownModelError('"anthropic:" names no model: write for instance "anthropic:claude-sonnet-5-5"')
    return AnthropicModel(
        model,
        api_key=api_key.get_secret_value() if api_key is not None else None,
        base_url=base_url,
        timeout=timeout,
        max_tokens=max_tokens,
        cache_ttl=cache_ttl,
        context_window=context_window,
    )
