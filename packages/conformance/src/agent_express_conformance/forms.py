"""Further forms in which a plugin is to pass: what the hook `conformance_cases` of its own distribution names."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, cast

from agent_express.errors import PluginError

from .subject import Published, Subject


@dataclass(frozen=True, slots=True)
class Form:
    """One further form.

    Attributes:
        name: Which form, "with a database".
        subject: What is checked.
    """

    name: str
    subject: Subject


def forms_of(subject: Subject) -> tuple[Form, ...]:
    """The forms that the distribution of an installed plugin names for it; of others' plugins nobody names any.

    Raises:
        PluginError: The hook is there and cannot be asked.
    """
    published = subject.published
    if published is None:
        return ()
    return tuple(
        Form(name, replace(subject, name=f"{subject.name}, {name}", make=make, published=None, figures={}))
        for hook in _hooks(published)
        for name, make in _named(hook, published)
    )


def _hooks(published: Published) -> Iterator[Any]:
    """The hook functions of the same distribution that name cases."""
    registry, own = published.registry, published.plugin
    for plugin in registry.plugins("hooks"):
        if plugin.distribution != own.distribution or not plugin.usable:
            continue
        manifest = registry.manifest(plugin)
        implements: Any = manifest.raw.get("implements") if manifest is not None else None
        if implements and "conformance_cases" not in implements:
            continue
        loaded = registry.load(plugin)
        hook = getattr(loaded() if isinstance(loaded, type) else loaded, "conformance_cases", None)
        if callable(hook):
            yield hook


def _named(hook: Callable[..., Any], published: Published) -> Iterator[tuple[str, Callable[[], Any]]]:
    plugin = published.plugin
    try:
        cases: Any = hook(info=plugin) or ()
        found = [(str(case.name), cast(Callable[[], Any], case.make)) for case in cases]
    except Exception as error:
        raise PluginError(
            f"conformance_cases of {plugin.distribution} failed for {plugin.name}: {type(error).__name__}: {error}; it "
            "must return a list of cases, each with a name and a make()"
        ) from error
    yield from found
