"""The Model protocol, and the way from a name such as "openai:gpt-5" to a model."""

from __future__ import annotations

import difflib
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any, Protocol, TypeAlias, cast, runtime_checkable

from .errors import MissingPackageError, ProviderUnavailableError, UnknownModelError
from .events import End, Event
from .messages import ModelRequest, ModelResponse

ModelStream: TypeAlias = AsyncIterator[Event | End[ModelResponse]]


@runtime_checkable
class Model(Protocol):
    """Something that answers requests. Any object of this shape will do.

    A model may also have `context_window: int | None` (tokens), `modalities: frozenset[str] | None` (of "text",
    "image", "audio", "file"; None means unknown), and async `init()` and `dispose()`, which the agent calls once
    each, in one task.
    """

    @property
    def name(self) -> str:
        """The full name, such as "openai:gpt-5"."""
        ...

    def stream(self, request: ModelRequest) -> ModelStream:
        """Answer *request*: an async generator of deltas whose last item is `End(ModelResponse)`.

        It closes its connection when it is closed, and raises `ModelError`s only: a stream that broke off or lacks
        its closing event is a retryable one.
        """
        ...


async def complete(model: Model, request: ModelRequest) -> ModelResponse:
    """Call *model* outside of any agent and return the whole response.

    Raises:
        ProviderUnavailableError: The stream ended without `End`.
    """
    async with aclosing(cast(Any, model.stream(request))) as events:
        async for event in events:
            if type(event) is End:
                return cast(ModelResponse, event.result)
    raise ProviderUnavailableError(f"{model.name}: the stream ended without End")


def resolve_model(name: str) -> Model:
    """Make the model called *name*: "provider:model", split at the first colon.

    Providers are the entry points of the group "agent_express.models": factories that take what follows the colon.

    Raises:
        UnknownModelError: No installed package offers that provider.
        MissingPackageError: The provider's package lacks something it needs.
    """
    provider, _, rest = name.partition(":")
    found = [entry for entry in _offers() if entry.name == provider]
    if not found:
        raise UnknownModelError(_unknown(name, provider))
    if len({(entry.value, _distribution(entry)) for entry in found}) > 1:
        offers = ", ".join(sorted(_distribution(entry) for entry in found))
        raise UnknownModelError(f"several packages offer models called {provider!r}: {offers}; uninstall all but one")
    try:
        model = found[0].load()(rest)
    except ImportError as error:
        raise MissingPackageError(
            f"{_distribution(found[0])} offers {provider!r}, but cannot be imported: {error}; "
            f"install it again: pip install {_distribution(found[0])}"
        ) from error
    return cast(Model, model)


def _offers() -> list[Any]:
    from importlib.metadata import entry_points  # 20 ms that an agent with a model object need not pay

    return list(entry_points(group="agent_express.models"))


def _unknown(name: str, provider: str) -> str:
    have = sorted({entry.name for entry in _offers()})
    near = difflib.get_close_matches(provider, [*have, "openai", "anthropic", "offline"], 1)
    if near and near[0] != provider:
        hint = f"meant {near[0]!r}?"
    elif provider in ("openai", "anthropic", "offline"):
        hint = f"install it: pip install agent-express-{provider}"
    else:
        hint = 'a model is named "provider:model"'
    return f"no model provider {provider!r} for {name!r}; installed: {', '.join(have) or 'none'}; {hint}"


def _distribution(entry: Any) -> str:
    return str(entry.dist.name) if entry.dist else "an unknown package"
