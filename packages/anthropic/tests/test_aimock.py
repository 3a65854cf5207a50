"""Conversations of several turns with aimock, a fake provider written by others."""

from __future__ import annotations

from agent_express.testing.aimock_kit import AIMockKit
from agent_express_anthropic import AnthropicModel


class TestMessages(AIMockKit):
    def model(self, url: str) -> AnthropicModel:
        return AnthropicModel("claude-sonnet-5-5", base_url=url, api_key="any")

    def provider(self, url: str) -> str:
        return "anthropic"
