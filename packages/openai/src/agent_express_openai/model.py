"""The model: thin, between the wire and the SDK."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing, asynccontextmanager
from typing import TYPE_CHECKING, Any

from agent_express.errors import AuthenticationError, UnknownModelError, UseError
from agent_express.events import End, Event
from agent_express.messages import ModelRequest, ModelResponse

from . import sdk
from .endpoint import Api, ApiKey, endpoint
from .windows import context_window as known_window
from .wire.chat_request import chat_request
from .wire.chat_stream import ChatReader
from .wire.responses_request import responses_request
from .wire.responses_stream import ResponsesReader

if TYPE_CHECKING:
    from openai import AsyncOpenAI


class OpenAIModel:
    """A model of OpenAI or of any server that speaks its API.

    Args:
        model: The name the server knows, "gpt-5".
        base_url: Another server, "http://localhost:11434/v1"; OPENAI_BASE_URL where it is left out.
        api_key: The key, or an async function that returns one; OPENAI_API_KEY where it is left out. Other servers
            than OpenAI may do without.
        api: "responses" or "chat". Left out: Responses at OpenAI, Chat Completions elsewhere.
        context_window: Tokens the model takes in; for OpenAI's own models it is known, else None.
        timeout: Seconds without a byte after which a call fails; left out, the SDK's ten minutes.
        headers: Sent with every request.
        client: An `AsyncOpenAI` (or `AsyncAzureOpenAI`) of your own, with its own address, key, headers and time limit;
            only its retries are turned off. It is never closed here.

    Attributes:
        name: "openai:<model>"; "openai-chat:<model>" where *api* says "chat".
        context_window: Tokens; None where it is not known.
        modalities: None: what a model reads is for the server to say.
    """

    modalities: frozenset[str] | None = None

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: ApiKey | None = None,
        api: Api | None = None,
        context_window: int | None = None,
        timeout: float | None = None,
        headers: Mapping[str, str] | None = None,
        client: AsyncOpenAI | None = None,
    ) -> None:
        if not model:
            raise UnknownModelError("OpenAIModel: no model is named; write 'openai:gpt-5' or OpenAIModel('gpt-5')")
        told = {"base_url": base_url, "api_key": api_key, "timeout": timeout, "headers": headers}
        twice = [name for name, value in told.items() if value is not None]
        if client is not None and twice:
            raise UseError(f"OpenAIModel: client= brings its own {', '.join(twice)}; leave them out")
        address = base_url if client is None else str(client.base_url)
        self.model = model
        self.name = f"{'openai-chat' if api == 'chat' else 'openai'}:{model}"
        self.endpoint = endpoint(address, api, os.environ)
        self.context_window = context_window
        if context_window is None and self.endpoint.is_openai:
            self.context_window = known_window(model)
        self._key, self._timeout, self._headers = api_key, timeout, headers
        self._given = None if client is None else client.with_options(max_retries=0)
        self._made: AsyncOpenAI | None = None
        self._users = 0

    def __repr__(self) -> str:
        return f"OpenAIModel({self.model!r}, base_url={self.endpoint.base_url!r}, api={self.endpoint.api!r})"

    async def init(self) -> None:
        """Import the SDK and make the client that all calls share until `dispose`.

        Without it each call has a client, and so a connection, of its own.

        Raises:
            AuthenticationError: OpenAI wants a key and there is none.
            MissingPackageError: The SDK is not installed.
        """
        if self._given is None:
            key = await self._ready()
            if self._made is None:
                self._made = self._connect(key)
        self._users += 1

    async def dispose(self) -> None:
        """Close the client if it was made here, once everybody who called `init` has called this."""
        self._users = max(0, self._users - 1)
        if self._users == 0 and self._made is not None:
            made, self._made = self._made, None
            await made.close()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Event | End[ModelResponse]]:
        """Answer *request*; the connection is closed when the stream is.

        Raises:
            ModelError: Whatever goes wrong; see `agent_express.errors`.
        """
        body, reader = self._body(request), self._reader()
        async with (
            self._client() as client,
            aclosing(sdk.events(client, self.endpoint, body, self.name)) as events,
        ):
            async for event in events:
                for told in reader.feed(event):
                    yield told
        yield End(reader.response())

    def _body(self, request: ModelRequest) -> dict[str, Any]:
        place = self.endpoint
        if place.api == "responses":
            return responses_request(request, self.model, place.provider)
        return chat_request(request, self.model, place.provider, is_openai=place.is_openai)

    def _reader(self) -> ChatReader | ResponsesReader:
        kind = ResponsesReader if self.endpoint.api == "responses" else ChatReader
        return kind(self.name, self.endpoint.provider)

    @asynccontextmanager
    async def _client(self) -> AsyncGenerator[AsyncOpenAI]:
        shared = self._given or self._made
        if shared is not None:
            yield shared
            return
        own = self._connect(await self._ready())
        try:
            yield own
        finally:
            await own.close()

    async def _ready(self) -> ApiKey:
        """Return the key once the SDK is there; a missing key is said first, the import takes a second."""
        key = self._key or os.environ.get("OPENAI_API_KEY")
        if not key and self.endpoint.is_openai:
            raise AuthenticationError(
                f"{self.name}: no API key; set OPENAI_API_KEY, or pass api_key= or the base_url= of another server"
            )
        await sdk.load(self.name)
        return key or "none"  # the SDK insists on one; servers that want none ignore it

    def _connect(self, key: ApiKey) -> AsyncOpenAI:
        return sdk.connect(self.endpoint, key, self._timeout, self._headers)
