"""Both APIs against llmock, a chaos server written by others: every fault it has."""

from __future__ import annotations

from typing import Any

from agent_express.messages import OutputSchema
from agent_express.models import Model, complete
from agent_express.testing.llmock_kit import LLMockKit, ask
from agent_express.testing.servers import LLMock
from agent_express_openai import OpenAIModel


class EitherAPI(LLMockKit):
    answers_as = "gpt-4o"
    api: Any

    def model(self, url: str, *, timeout: float | None = None) -> OpenAIModel:
        return OpenAIModel("gpt-4o", base_url=f"{url}/v1", api=self.api, timeout=timeout)

    async def test_structured_output_comes_in_its_schema(self, model: Model, server: LLMock) -> None:
        schema = {
            "type": "object",
            "properties": {"degrees": {"type": "integer"}},
            "required": ["degrees"],
            "additionalProperties": False,
        }
        response = await complete(model, ask(model, output=OutputSchema("weather", schema)))
        assert response.message.text.startswith('{"degrees":')
        assert (await server.requests())[0]["status"] == 200


class TestChat(EitherAPI):
    api = "chat"


class TestResponses(EitherAPI):
    api = "responses"
