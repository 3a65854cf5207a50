"""`AnthropicModel`: requests and answers over the official SDK, which is imported only when it is needed."""

from __future__ import annotations

import asyncio
import importlib
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Final, Literal, TypeAlias
from weakref import WeakKeyDictionary

from agent_express.errors import AuthenticationError, BadRequestError, MissingPackageError
from agent_express.events import End, Event
from agent_express.messages import ModelRequest, ModelResponse

from .answer import Answer
from .errors import no_key, reading_failed, sending_failed
from .known import known
from .wire import Sending, to_wire

if TYPE_CHECKING:
    from anthropic import AsyncAnthropic, AsyncStream
    from anthropic.lib.bedrock import AsyncAnthropicBedrock, AsyncAnthropicBedrockMantle
    from anthropic.lib.vertex import AsyncAnthropicVertex

    Client: TypeAlias = AsyncAnthropic | AsyncAnthropicBedrock | AsyncAnthropicBedrockMantle | AsyncAnthropicVertex

_MODALITIES: Final = frozenset({"text", "image", "file"})


class AnthropicModel:
    """A Claude model, or another one behind a server that speaks Anthropic's Messages API.

    Its first call, or `init()`, imports the SDK (2 to 3 seconds, in a thread) and makes a client for the running event
    loop. The SDK's own retries are off: retrying is a middleware's job.

    Args:
        model: The name at Anthropic, such as "claude-sonnet-5-5".
        api_key: Instead of the environment's ANTHROPIC_API_KEY. The SDK's other sources work too: ANTHROPIC_AUTH_TOKEN,
            its profiles, workload identity.
        base_url: Instead of the environment's ANTHROPIC_BASE_URL, where a proxy or another server is meant; "/v1" is
            not part of it.
        client: An SDK client of your own, for instance for Amazon Bedrock or Google Cloud; it is never closed here.
        timeout: Seconds without a byte after which a call fails; None for the SDK's 600.
        max_tokens: The longest answer, where a request does not say it; None for the most that the model can give
            (128,000 or 64,000 tokens; 8,192 for a model that is not known).
        cache_ttl: How long marked prefixes are kept in the prompt cache; None for the API's 5 minutes.
        context_window: Tokens of prompt and answer, for a model that is not known.

    Attributes:
        name: "anthropic:" and the model.
        context_window: Tokens; None where neither the table nor the caller knows.
        modalities: What it reads: "text", "image", "file".
    """

    def __init__(
        self,
        model: str,
        *,
        api_key: str | None = None,
        base_url: str | None = None,
        client: Client | None = None,
        timeout: float | None = None,
        max_tokens: int | None = None,
        cache_ttl: Literal["5m", "1h"] | None = None,
        context_window: int | None = None,
    ) -> None:
        _check(model, client, api_key, base_url, timeout, max_tokens, cache_ttl)
        self.name = f"anthropic:{model}"
        self.context_window = context_window if context_window is not None else known(model).context_window
        self.modalities = _MODALITIES
        self._model = model
        self._api_key, self._base_url, self._timeout = api_key, base_url, timeout
        self._max_tokens, self._cache_ttl = max_tokens, cache_ttl
        self._given = client
        self._made: WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncAnthropic] = WeakKeyDictionary()
        self._users: WeakKeyDictionary[asyncio.AbstractEventLoop, int] = WeakKeyDictionary()

    async def init(self) -> None:
        """Import the SDK and make the client, so that the first call does not have to.

        Raises:
            MissingPackageError: The SDK is not installed.
            AuthenticationError: There is no key.
        """
        await self._client()
        loop = asyncio.get_running_loop()
        self._users[loop] = self._users.get(loop, 0) + 1

    async def dispose(self) -> None:
        """Close the client made here, once called as often as `init()`; one that was handed in stays open."""
        loop = asyncio.get_running_loop()
        left = self._users.pop(loop, 0) - 1
        if left > 0:
            self._users[loop] = left
            return
        made = self._made.pop(loop, None)
        if made is not None:
            await made.close()

    async def stream(self, request: ModelRequest) -> AsyncGenerator[Event | End[ModelResponse], None]:
        """Answer *request*: deltas, then `End(ModelResponse)`. Closing it closes the connection.

        Raises:
            ModelError: See `agent_express_anthropic.errors`.
            MissingPackageError: The SDK is not installed.
        """
        sending = to_wire(request, self._model, max_tokens=self._max_tokens, cache_ttl=self._cache_ttl)
        answer = Answer(self.name)
        async with self._lent() as client:
            events = await self._send(client, sending)
            try:
                while (event := await self._next(events, answer)) is not None:
                    delta = answer.feed(event)
                    if delta is not None:
                        yield delta
            finally:
                await _close(events)
        yield End(answer.response())

    @asynccontextmanager
    async def _lent(self) -> AsyncGenerator[Client, None]:
        """A client for one call: the shared one while the model is open, else one that is closed after the call."""
        if self._given is not None or self._users.get(asyncio.get_running_loop()):
            yield await self._client()
            return
        await asyncio.to_thread(_import_sdk)
        client = self._new_client()
        try:
            yield client
        finally:
            await client.close()

    async def _send(self, client: Client, sending: Sending) -> AsyncStream[object]:
        """Start the call. The events are taken as they are: the SDK's classes would drop what they do not know."""
        from anthropic import AsyncStream

        try:
            return await client.post(
                "/v1/messages",
                cast_to=object,
                body=sending.body,
                options={"headers": sending.headers, "max_retries": 0},
                stream=True,
                stream_cls=AsyncStream[object],
            )
        except Exception as error:
            raise sending_failed(error, self.name) from error

    async def _next(self, events: AsyncStream[object], answer: Answer) -> object | None:
        """Return the next event; None at the end, and where the connection fails after the answer was whole."""
        try:
            return await anext(events)
        except StopAsyncIteration:
            return None
        except Exception as error:
            if answer.whole:
                return None
            raise reading_failed(error, self.name) from error

    async def _client(self) -> Client:
        """The client for the running event loop: connections cannot move from one to another."""
        if self._given is not None:
            return self._given
        loop = asyncio.get_running_loop()
        if loop not in self._made:
            await asyncio.to_thread(_import_sdk)
        if loop not in self._made:  # another call may have been faster
            self._made[loop] = self._new_client()
        return self._made[loop]

    def _new_client(self) -> AsyncAnthropic:
        from anthropic import AsyncAnthropic, NotGiven

        timeout = NotGiven() if self._timeout is None else self._timeout
        try:
            client = AsyncAnthropic(api_key=self._api_key, base_url=self._base_url, timeout=timeout, max_retries=0)
        except Exception as error:
            raise sending_failed(error, self.name) from error
        if client.base_url.scheme not in ("http", "https"):
            raise BadRequestError(
                f"{self.name}: base_url is {str(client.base_url)!r}, expected it to start with http:// or https://"
            )
        if not (client.api_key or client.auth_token or client.credentials or _custom_authorization()):
            raise no_key(self.name)
        if client.api_key and (not client.api_key.isascii() or client.api_key.split() != [client.api_key]):
            raise AuthenticationError(f"{self.name}: the API key holds white space or odd letters: copy it again")
        return client


def _check(
    model: str,
    client: object,
    api_key: str | None,
    base_url: str | None,
    timeout: float | None,
    max_tokens: int | None,
    cache_ttl: str | None,
) -> None:
    if not model.strip():
        raise ValueError('AnthropicModel: model is empty; name one, such as "claude-sonnet-5-5"')
    if client is not None and (api_key is not None or base_url is not None or timeout is not None):
        raise ValueError("AnthropicModel: give either a client, or api_key, base_url and timeout to make one from")
    if timeout is not None and not timeout > 0:
        raise ValueError(f"AnthropicModel: timeout must be more than 0 seconds, got {timeout}")
    if max_tokens is not None and max_tokens < 1:
        raise ValueError(f"AnthropicModel: max_tokens must be at least 1, got {max_tokens}")
    if cache_ttl not in (None, "5m", "1h"):
        raise ValueError(f'AnthropicModel: cache_ttl must be "5m" or "1h", got {cache_ttl!r}')


def _custom_authorization() -> bool:
    """Whether the SDK takes a header of its own from the environment."""
    return "authorization" in os.environ.get("ANTHROPIC_CUSTOM_HEADERS", "").lower()


def _import_sdk() -> None:
    try:
        importlib.import_module("anthropic")
    except ImportError as error:
        raise MissingPackageError(
            f"AnthropicModel needs the package anthropic ({error}); install it: pip install 'anthropic>=2.14,<3'"
        ) from error


async def _close(events: AsyncStream[object]) -> None:
    """Close the connection, then let the SDK's generators run to their end.

    Left suspended, they would be closed by stray tasks, after we have returned. On a closed connection they end at
    once, by an error that says nothing new.
    """
    await events.close()
    with suppress(Exception):
        while True:
            await anext(events)
