"""The provider kit of core, with Anthropic's events."""

from __future__ import annotations

from agent_express_anthropic.conformance import MessagesKit


class TestMessages(MessagesKit): ...
