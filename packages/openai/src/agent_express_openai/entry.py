"""The entry points: from a name and settings to a model."""

from __future__ import annotations

from pydantic import PositiveFloat, PositiveInt, SecretStr

from .endpoint import Api
from .model import OpenAIModel


def create(
    model: str,
    *,
    base_url: str | None = None,
    api_key: SecretStr | None = None,
    api: Api | None = None,
    context_window: PositiveInt | None = None,
    timeout: PositiveFloat | None = None,
    headers: dict[str, str] | None = None,
) -> OpenAIModel:
    """OpenAI's models by the Responses API, and every compatible server by Chat Completions, on the official SDK.

    The entry point: it makes "openai:*model*".

    Args:
        model: The name the server knows, "gpt-5".
        base_url: Another server, "http://localhost:11434/v1"; OPENAI_BASE_URL where it is left out.
        api_key: The key; OPENAI_API_KEY where it is left out. Other servers than OpenAI may do without.
        api: Which of the two; left out: Responses at OpenAI, Chat Completions elsewhere.
        context_window: Tokens the model takes in; for OpenAI's own models it is known.
        timeout: Seconds without a byte after which a call fails; left out, the SDK's ten minutes.
        headers: Sent with every request.
    """
    return OpenAIModel(
        model,
        base_url=base_url,
        api_key=api_key.get_secret_value() if api_key is not None else None,
        api=api,
        context_window=context_window,
        timeout=timeout,
        headers=headers,
    )


def create_chat(
    model: str,
    *,
    base_url: str | None = None,
    api_key: SecretStr | None = None,
    context_window: PositiveInt | None = None,
    timeout: PositiveFloat | None = None,
    headers: dict[str, str] | None = None,
) -> OpenAIModel:
    """OpenAI's models by Chat Completions, on the official SDK.

    The entry point: it makes "openai-chat:*model*", which speaks Chat Completions wherever it is.

    Args:
        model: The name the server knows, "gpt-5".
        base_url: Another server, "http://localhost:11434/v1"; OPENAI_BASE_URL where it is left out.
        api_key: The key; OPENAI_API_KEY where it is left out. Other servers than OpenAI may do without.
        context_window: Tokens the model takes in; for OpenAI's own models it is known.
        timeout: Seconds without a byte after which a call fails; left out, the SDK's ten minutes.
        headers: Sent with every request.
    """
    return create(
        model,
        base_url=base_url,
        api_key=api_key,
        api="chat",
        context_window=context_window,
        timeout=timeout,
        headers=headers,
    )
