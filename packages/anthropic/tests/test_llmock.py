"""Against llmock, a chaos server written by others: every fault it has, in Anthropic's dialect."""

from __future__ import annotations

from agent_express.errors import ContextOverflowError
from agent_express.testing.llmock_kit import LLMockKit
from agent_express_anthropic import AnthropicModel


class TestMessages(LLMockKit):
    answers_as = "claude-sonnet-4-6"
    too_large = ContextOverflowError

    def model(self, url: str, *, timeout: float | None = None) -> AnthropicModel:
        return AnthropicModel("claude-sonnet-4-6", base_url=f"{url}/anthropic", api_key="any", timeout=timeout)
