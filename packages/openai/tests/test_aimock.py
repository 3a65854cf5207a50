"""Both APIs through conversations of several turns with aimock, a fake provider written by others."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

from agent_express.messages import Message, ModelRequest, Settings
from agent_express.models import Model, complete
from agent_express.testing.aimock_kit import AIMockKit
from agent_express.testing.kit_checks import WEATHER
from agent_express.testing.servers import AIMock
from agent_express_openai import OpenAIModel


class EitherAPI(AIMockKit):
    api: Any

    def model(self, url: str) -> OpenAIModel:
        return OpenAIModel("gpt-5", base_url=f"{url}/v1", api=self.api)

    def provider(self, url: str) -> str:
        return f"openai:{urlsplit(url).netloc}"

    async def test_settings_arrive_under_their_names(self, model: Model, server: AIMock) -> None:
        settings = Settings(temperature=0.5, top_p=0.9, max_tokens=50, parallel_tool_calls=False, tool_choice="none")
        request = ModelRequest(model, (Message("user", "picture"),), tools=(WEATHER,), settings=settings)
        assert (await complete(model, request)).message.text == "A red pixel."
        body = (await server.requests())[-1]["body"]
        assert (body["temperature"], body["tool_choice"]) == (0.5, "none")
        assert body.get("max_tokens", body.get("max_output_tokens")) == 50


class TestChat(EitherAPI):
    api = "chat"


class TestResponses(EitherAPI):
    api = "responses"
