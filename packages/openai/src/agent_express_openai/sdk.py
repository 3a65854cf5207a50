"""The official SDK at arm's length: the one module that imports it, and only once it is used.

Importing it takes about a second, so that happens in a thread. Its retries are off: retrying is a middleware's job.
"""

from __future__ import annotations

import asyncio
import importlib
import sys
from collections.abc import AsyncGenerator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NoReturn

from agent_express.errors import (
    BadRequestError,
    MissingPackageError,
    ModelError,
    ModelTimeoutError,
    ProviderUnavailableError,
)

from .endpoint import PATHS, ApiKey, Endpoint
from .errors import fault_in, model_error

if TYPE_CHECKING:
    from openai import AsyncOpenAI, AsyncStream

_TRANSPORT = frozenset({"httpx2", "httpx", "httpcore2", "httpcore", "h11", "h2", "anyio"})
"""Packages whose errors may leak through the SDK in the middle of a stream."""


async def load(name: str) -> None:
    """Import the SDK, without holding up the event loop.

    Raises:
        MissingPackageError: It is not installed.
    """
    if sys.modules.get("openai") is not None:
        return
    try:
        await asyncio.to_thread(importlib.import_module, "openai")
    except ImportError as error:
        raise MissingPackageError(
            f"{name} needs the package openai, which cannot be imported ({error}): pip install 'openai>=3.50,<4'"
        ) from error


def connect(place: Endpoint, key: ApiKey, timeout: float | None, headers: Mapping[str, str] | None) -> AsyncOpenAI:
    """Make a client for *place*; *timeout* in seconds, None for the SDK's own. Call `load` before."""
    from openai import AsyncOpenAI, Timeout, not_given

    limit = not_given if timeout is None else Timeout(timeout)
    return AsyncOpenAI(api_key=key, base_url=place.base_url, max_retries=0, timeout=limit, default_headers=headers)


async def events(client: AsyncOpenAI, place: Endpoint, body: Mapping[str, Any], name: str) -> AsyncGenerator[Any]:
    """Send *body* and yield each event of the answer, parsed but not read.

    Raises:
        ModelError: Whatever the SDK, or what lies under it, raises.
    """
    from openai import AsyncStream

    try:
        stream = await client.post(
            PATHS[place.api], body=dict(body), cast_to=object, stream=True, stream_cls=AsyncStream[object]
        )
    except (ValueError, TypeError) as error:
        raise BadRequestError(f"{name}: the request cannot be written: {error}") from error
    except Exception as error:
        _raise(name, place, error)
    try:
        while True:
            try:
                event = await anext(stream)
            except StopAsyncIteration:
                return
            except Exception as error:
                _raise(name, place, error)
            yield event
    finally:
        await _end(stream)


async def _end(stream: AsyncStream[object]) -> None:
    """Close the connection and run the generators of the SDK to their end.

    Left suspended they would be closed by the garbage collector, each in a task of its own, some time later.
    """
    await stream.close()
    with suppress(Exception):
        while True:
            await anext(stream)


def _raise(name: str, place: Endpoint, error: Exception) -> NoReturn:
    mine = mapped(name, place, error)
    if mine is error:
        raise error
    raise mine from error


def mapped(name: str, place: Endpoint, error: Exception) -> Exception:
    """*error* as one of ours; itself where it is no failure of the provider."""
    import openai

    if isinstance(error, ModelError):
        return error
    if isinstance(error, openai.APIStatusError):
        return model_error(name, fault_in(error.body, error.status_code, error.response.headers))
    if "Timeout" in type(error).__name__:  # of the SDK, of httpx2, of Python
        return ModelTimeoutError(f"{name}: {place.base_url} did not answer in time; raise timeout= or call again")
    if isinstance(error, openai.APIConnectionError):
        return _broken(name, place, error.__cause__ or error)
    if isinstance(error, openai.APIResponseValidationError):
        return _unreadable(name, error)
    if isinstance(error, openai.APIError):
        return model_error(name, fault_in(error.body or error.message))
    if isinstance(error, openai.OpenAIError):
        return ModelError(f"{name}: {error}")
    if isinstance(error, OSError | EOFError) or _package(error) in _TRANSPORT:
        return _broken(name, place, error)
    return _unreadable(name, error) if isinstance(error, ValueError) else error


def _broken(name: str, place: Endpoint, cause: BaseException) -> ProviderUnavailableError:
    said = str(cause) or type(cause).__name__
    return ProviderUnavailableError(f"{name}: no connection to {place.base_url}, or it broke off: {said}")


def _unreadable(name: str, error: Exception) -> ProviderUnavailableError:
    return ProviderUnavailableError(f"{name}: the stream holds what cannot be read: {error}; call again")


def _package(error: Exception) -> str:
    return type(error).__module__.partition(".")[0]
