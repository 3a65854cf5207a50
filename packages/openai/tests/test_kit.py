"""The provider kit of core, run on both APIs."""

from __future__ import annotations

from agent_express_openai.conformance import ChatKit, ResponsesKit


class TestChat(ChatKit): ...


class TestResponses(ResponsesKit): ...
