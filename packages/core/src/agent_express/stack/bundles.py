"""The layers of a bundle: made by its function, then cut and overridden by name."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import Any, cast

from pydantic import BaseModel

from ..middleware import Entry, named
from ..origins import origin_of
from ..plugins import Plugin, PluginState
from .file import OverrideTable, UseTable
from .layers import Layers
from .making import Found
from .positions import KeyPath
from .words import meant


def use_bundle(layers: Layers, table: UseTable) -> None:
    """Take the layers of the bundle that one `[[use]]` names."""
    _Bundle(layers, table).use()


class _Bundle:
    def __init__(self, layers: Layers, table: UseTable) -> None:
        self._layers, self._table = layers, table
        self._maker, self._report = layers.maker, layers.report
        self._name = table.name or table.bundle

    def use(self) -> None:
        table = self._table
        found = self._maker.find(table.bundle, "bundles", (*table.path, "bundle"))
        substitutes = {
            name: self._maker.find(change.plugin, "middleware", (*change.path, "plugin"))
            for name, change in table.override.items()
            if change.plugin
        }
        if found is None:
            return
        if not table.enabled:
            self._layers.add(
                self._name, found.plugin, table.path, target=found.target, enabled=False, config=table.config
            )
            return
        members = self._layers.read(self._made(found), table.path, found.text)
        self._check_names([entry.name for entry in members])
        for entry in members:
            if entry.name not in table.without:
                self._member(entry, table.override.get(entry.name), substitutes.get(entry.name))

    def _made(self, found: Found) -> list[Any]:
        made = self._maker.make(found, self._table.config, (*self._table.path, "config"))
        if made is None or isinstance(made, list | tuple):
            return list(cast("list[Any]", made or ()))
        if inspect.iscoroutine(made):
            made.close()
        kind = type(made).__name__
        self._report.add(
            f"{found.text} gives a {kind}, expected a list", found.path, advice="write plugin instead of bundle"
        )
        return []

    def _check_names(self, names: Sequence[str]) -> None:
        wrong: list[tuple[str, KeyPath]] = [
            (name, (*self._table.path, "without", place)) for place, name in enumerate(self._table.without) if name
        ]
        wrong += [(name, change.path) for name, change in self._table.override.items()]
        for name, path in wrong if names else ():
            if name not in names:
                self._report.add(f"{self._name} has no layer {name!r}", path, advice=meant(name, names), at_key=True)

    def _member(self, entry: Entry, change: OverrideTable | None, substitute: Found | None) -> None:
        plugin = self._maker.registry.of(entry.thing)
        if change is None:
            self._keep(entry, plugin)
        elif not change.enabled:
            self._layers.add(
                entry.name, plugin, change.path, target=_target(entry, plugin), enabled=False, bundle=self._name
            )
        elif change.plugin:
            if substitute is not None:
                self._replace(entry, substitute, change, change.config or {})
        elif change.config is not None:
            self._configure(entry, plugin, change)
        else:
            self._keep(entry, plugin)

    def _keep(self, entry: Entry, plugin: Plugin | None) -> None:
        path = self._table.path
        if plugin is not None and plugin.state is PluginState.BLOCKED:
            advice = f'write without = ["{entry.name}"]'
            self._report.add(f"{self._name} brings {entry.name}: {plugin.reason}", path, advice=advice)
        elif self._layers.take(entry, path):
            self._layers.add(entry.name, plugin, path, target=_target(entry, plugin), entry=entry, bundle=self._name)

    def _configure(self, entry: Entry, plugin: Plugin | None, change: OverrideTable) -> None:
        """Make the layer anew, with the settings that the bundle gave it and those that differ."""
        origin = origin_of(entry.thing)
        if origin is None or origin.plugin is None:
            advice = f'write plugin = "{plugin.name if plugin is not None else "..."}" and all of its settings'
            self._report.add(
                f"{self._name} makes {entry.name} by hand, so its settings are not known", change.path, advice=advice
            )
            return
        found = Found(origin.plugin.name, origin.plugin, change.path)
        self._replace(entry, found, change, {**_settings(origin.config), **(change.config or {})})

    def _replace(self, entry: Entry, found: Found, change: OverrideTable, config: Mapping[str, Any]) -> None:
        made = self._maker.make(found, config, (*change.path, "config"))
        for each in self._layers.read(named(entry.name, made), change.path, found.text) if made is not None else ():
            if self._layers.take(each, change.path):
                self._layers.add(
                    each.name, found.plugin, change.path, target=found.target, entry=each, bundle=self._name,
                    config=change.config or {},
                )  # fmt: skip


def _settings(held: Any) -> dict[str, Any]:
    """Validated settings by name, as values: secrets stay the objects that hide them."""
    names = type(held).model_fields if isinstance(held, BaseModel) else vars(held)
    return {name: getattr(held, name) for name in names}


def _target(entry: Entry, plugin: Plugin | None) -> str:
    kind: Any = entry.thing if inspect.isfunction(entry.thing) else type(entry.thing)
    return plugin.target if plugin is not None else f"{kind.__module__}:{kind.__qualname__}"
