"""Where requests go: the address, the API spoken there, and the key."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias
from urllib.parse import urlsplit

from agent_express.errors import UseError

Api: TypeAlias = Literal["responses", "chat"]
ApiKey: TypeAlias = str | Callable[[], Awaitable[str]]

OPENAI = "https://api.openai.com/v1"
PATHS: Mapping[Api, str] = {"responses": "/responses", "chat": "/chat/completions"}


@dataclass(frozen=True, slots=True)
class Endpoint:
    """One server and the API that is spoken with it.

    Attributes:
        base_url: Up to and with the version, "http://localhost:8000/v1".
        api: "responses" or "chat".
    """

    base_url: str
    api: Api

    @property
    def is_openai(self) -> bool:
        """Whether it is OpenAI itself, in any of its regions."""
        return f".{urlsplit(self.base_url).hostname}".endswith(".api.openai.com")

    @property
    def provider(self) -> str:
        """The mark on reasoning and unknown parts: only the server that sent them gets them back."""
        return "openai" if self.is_openai else f"openai:{urlsplit(self.base_url).netloc}"


def endpoint(base_url: str | None, api: Api | None, env: Mapping[str, str]) -> Endpoint:
    """Return where to go: *base_url*, else OPENAI_BASE_URL, else OpenAI.

    Without a word on the API it is Responses at OpenAI and Chat Completions, which all servers speak, elsewhere.

    Raises:
        UseError: The address is no HTTP address, or there is no such API.
    """
    address = base_url or env.get("OPENAI_BASE_URL") or OPENAI
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        source = "base_url" if base_url else "OPENAI_BASE_URL"
        raise UseError(f"OpenAIModel: {source} must look like 'http://localhost:8000/v1', got {address!r}")
    if api not in (None, *PATHS):
        raise UseError(f"OpenAIModel: api must be 'responses' or 'chat', got {api!r}")
    found = Endpoint(address.rstrip("/"), api or "chat")
    return found if api or not found.is_openai else Endpoint(found.base_url, "responses")
