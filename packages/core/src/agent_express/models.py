"""The Model protocol, and the way from a name such as "openai:gpt-5" to a model."""

from __future__ import annotations

import difflib
from collections.abc import AsyncIterator, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, cast, runtime_checkable

from .errors import (
    AmbiguousPluginError,
    BrokenPluginError,
    MissingPackageError,
    ProviderUnavailableError,
    UnknownModelError,
    UnknownPluginError,
)
from .events import End, Event
from .messages import ModelRequest, ModelResponse

if TYPE_CHECKING:
    from .registry import Registry

PROVIDERS = ("openai", "anthropic", "offline")
"""Those of this project, named where they are not installed; a module of such a name is no model."""

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


def resolve_model(name: str, config: Mapping[str, Any] | None = None) -> Model:
    """Make the model called *name*: "provider:model", split at the first colon.

    Providers are the entry points of the group "agent_express.models": factories that take what follows the colon, and
    their settings by name.

    Args:
        name: Its name.
        config: Settings of the provider.

    Raises:
        UnknownModelError: No installed package offers that provider, or several do.
        MissingPackageError: The provider's package lacks something it needs.
        PluginError: The provider is blocked, incompatible or broken.
        SettingsError: What does not fit of the settings.
    """
    from .registry import registry  # with the packaging metadata, 40 ms that an agent with a model object need not pay

    return make_model(registry(), name, config)


def make_model(plugins: Registry, name: str, config: Mapping[str, Any] | None = None, **options: Any) -> Model:
    """`resolve_model` with a registry of one's own; *options* are those of its `create`."""
    provider, _, rest = name.partition(":")
    try:
        plugin = plugins.find(provider, "models")
    except UnknownPluginError:
        raise UnknownModelError(_unknown(name, provider, plugins)) from None
    except AmbiguousPluginError:
        offers = sorted(each.distribution for each in plugins.plugins("models") if each.name == provider)
        raise UnknownModelError(
            f"several packages offer models called {provider!r}: {', '.join(offers)}; uninstall all but one"
        ) from None
    try:
        return cast(Model, plugins.create(plugin, config, rest, **options))
    except BrokenPluginError as error:
        if not isinstance(error.__cause__, ImportError):
            raise
        raise MissingPackageError(
            f"{plugin.distribution} offers {provider!r}, but cannot be imported: {error.__cause__}; "
            f"install it again: pip install {plugin.distribution}"
        ) from error.__cause__


def _unknown(name: str, provider: str, plugins: Registry) -> str:
    have = sorted({plugin.name for plugin in plugins.plugins("models")})
    near = difflib.get_close_matches(provider, [*have, *PROVIDERS], 1)
    if near and near[0] != provider:
        hint = f"meant {near[0]!r}?"
    elif provider in PROVIDERS:
        hint = f"install it: pip install agent-express-{provider}"
    else:
        hint = 'a model is named "provider:model"'
    return f"no model provider {provider!r} for {name!r}; installed: {', '.join(have) or 'none'}; {hint}"
