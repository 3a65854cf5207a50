"""From a name in a stack file to the object: an installed plugin, or own code, "module:attr"."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Any, TypeAlias

from ..errors import BlockedPluginError, ExpressError, PluginError, SettingsError, UnknownPluginError, UseError
from ..manifest import ManifestEntry
from ..messages import Named
from ..models import PROVIDERS
from ..plugins import Plugin, PluginState, normal
from ..references import import_attr, is_reference
from ..registry import Registry
from ..secrets import Secrets
from ..settings import Settings
from ..tools import Tool
from .local import check_home, is_findable
from .positions import KeyPath
from .problems import Report

Models: TypeAlias = Callable[[str], Named | None]
"""From the name of a model to the model; None where it is not known."""


def nobody_knows(name: str) -> Named | None:
    """Know no model."""
    return None


@dataclass(frozen=True, slots=True)
class Found:
    """What a name means: *plugin*, or own code where that is None.

    Attributes:
        text: As written.
        plugin: The plugin; None for own code.
        path: Where it is written.
    """

    text: str
    plugin: Plugin | None
    path: KeyPath

    @property
    def target(self) -> str:
        """Where it lies, "module:attr"."""
        return self.plugin.target if self.plugin is not None else self.text


class Maker:
    """Finds and makes what a stack file names; what goes wrong is reported, and None returned.

    Args:
        registry: The plugins.
        secrets: What resolves the secrets in settings.
        folder: The stack file's: where own code and files are looked for.
        report: Told of what goes wrong.
        models: Knows models that no installed provider makes.
    """

    def __init__(
        self, registry: Registry, secrets: Secrets, folder: Path, report: Report, models: Models = nobody_knows
    ) -> None:
        self.registry, self.folder, self.report = registry, folder, report
        self._secrets, self._models = secrets, models
        self.plugins = registry.plugins()

    def find(self, text: str, group: str, path: KeyPath) -> Found | None:
        """Look *text* up; nothing is imported."""
        if is_own(text, group, self.plugins):
            return Found(text, None, path)
        try:
            return Found(text, self.registry.find(text, group), path)
        except UseError as error:
            self.report.add(str(error), path)
            return None

    def make(self, found: Found, config: Mapping[str, Any], path: KeyPath, *given: Any) -> Any:
        """Make the object.

        Args:
            found: What is to be made.
            config: Its settings as written.
            path: Where these stand, or would.
            given: What a factory takes before its settings.
        """
        return self.attempt(found.text, found.path, path, lambda: self._make(found, config, path, given))

    def _make(self, found: Found, config: Mapping[str, Any], path: KeyPath, given: tuple[Any, ...]) -> Any:
        factory = self._factory(found)
        if is_factory(factory):
            made = Settings.of(factory, len(given)).make(config, *given, plugin=found.plugin, **self.options)
            if made is None:
                self.report.add(
                    f"{found.text} gives nothing", found.path, advice="does its function return what it makes?"
                )
            return made
        if config:
            self.report.add(f"{found.text} takes no settings: it is {_kind(factory)}", path)
        return factory

    def other_model(self, name: str, path: KeyPath) -> Any:
        """The model *name* of a provider that is not installed: own code, or somebody else's; None: nobody knows it."""
        if name.partition(":")[0] not in PROVIDERS and is_reference(name) and is_findable(name):
            return self.make(Found(name, None, path), {}, path)
        return self.attempt(name, path, path, lambda: self._models(name))

    def own(self, text: str, path: KeyPath) -> Any:
        """Import own code."""
        return self.attempt(text, path, path, lambda: self._factory(Found(text, None, path)))

    def attempt(self, text: str, path: KeyPath, config: KeyPath, make: Callable[[], Any]) -> Any:
        """Call *make*; what it raises is reported, and None returned.

        Args:
            text: What is made.
            path: Where that is written.
            config: Where its settings stand, or would.
            make: Makes it.
        """
        try:
            return make()
        except SettingsError as error:
            for problem in error.problems:
                unknown = problem.message.startswith("no such setting")
                self.report.add(f"{text}: {problem}", (*config, *problem.path), at_key=unknown)
        except UseError as error:
            self.report.add(str(error), path)
        except ExpressError as error:  # a provider may say at once that its key is missing
            self.report.add(f"{text}: {error}", path)
        return None

    @property
    def options(self) -> dict[str, Any]:
        """For whatever makes an object of settings from the file."""
        return {"secrets": self._secrets, "base": self.folder, "from_file": True}

    def manifest(self, plugin: Plugin | None) -> ManifestEntry | None:
        """What its package says of *plugin*; nothing where that cannot be read, which is for the doctor to tell."""
        try:
            return self.registry.manifest(plugin) if plugin is not None else None
        except UseError:
            return None

    def _factory(self, found: Found) -> Any:
        if found.plugin is not None:
            return self.registry.load(found.plugin)
        self._refuse(next((plugin for plugin in self.plugins if plugin.target == found.text), None), found.text)
        try:
            factory = import_attr(found.text)
        except PluginError:
            check_home(found.text, self.folder)  # the name may lack because it is another module
            raise
        check_home(found.text, self.folder)
        self._refuse(self.registry.of(factory), found.text)
        if factory is None:
            raise UnknownPluginError(f"{found.text} is None")
        return factory

    def _refuse(self, plugin: Plugin | None, text: str) -> None:
        """Refuse a plugin that is blocked by its name and written as own code."""
        if plugin is not None and plugin.state is PluginState.BLOCKED:
            raise BlockedPluginError(f"{text} is {plugin}: {plugin.reason}")


def is_own(text: str, group: str, plugins: Iterable[Plugin]) -> bool:
    """Whether *text* is own code: "module:attr", and not a plugin written "distribution:name".

    Where the part before the colon is a distribution with plugins, what it offers comes first; own code can still have
    its name, as a project's own distribution mostly has.
    """
    if not is_reference(text):
        return False
    left, _, right = text.partition(":")
    offers = {each.name for each in plugins if each.group == group and normal(each.distribution) == normal(left)}
    return right not in offers and (not offers or PathFinder.find_spec(left.partition(".")[0]) is not None)


def split_provider(text: str, plugins: Iterable[Plugin]) -> tuple[str, str]:
    """A model's plugin and name: of "openai:gpt-5" both, of "openai", "distribution:openai" or own code the first."""
    head, colon, rest = text.partition(":")
    if not colon or any(each.group == "models" and each.qualified == text for each in plugins):
        return text, ""
    is_provider = any(each.group == "models" and each.name == head for each in plugins)
    return (head, rest) if is_provider else (text, "")


def is_factory(thing: Any) -> bool:
    """Whether *thing* makes the object, rather than being it: a hook function or a ready object is used as it is."""
    if inspect.iscoroutinefunction(thing) or inspect.isasyncgenfunction(thing):
        return False
    return isinstance(thing, type) or is_function(thing)


def is_function(thing: Any) -> bool:
    """Whether *thing* is a function; `inspect.isroutine` takes a `Tool` for one."""
    return inspect.isfunction(thing) or inspect.ismethod(thing) or inspect.isbuiltin(thing)


def _kind(thing: Any) -> str:
    if is_function(thing):
        return "a hook function"
    return "a tool" if isinstance(thing, Tool) else f"a ready {type(thing).__name__}"
