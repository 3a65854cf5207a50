"""The layers of one onion, from their entries in the file."""

from __future__ import annotations

from typing import Any, cast

from ..checks import Stack as Together
from ..checks import read
from ..errors import UseError
from ..middleware import Entry, named
from ..order import better_order, broken_rules
from ..plugins import Plugin, PluginState
from .file import UseTable
from .loaded import StackLayer
from .making import Maker
from .positions import KeyPath
from .profiles import short_name


class Layers:
    """Makes the layers that stand together in one onion.

    Args:
        maker: Makes what the file names, and is told of what goes wrong.
        agent: Whose they are; "" for the App's, and for those of the only agent.
        outer: What stands around them: the App's.
    """

    def __init__(self, maker: Maker, agent: str = "", outer: Layers | None = None) -> None:
        self.maker, self.report = maker, maker.report
        self._agent = agent
        self._outer: list[Entry] = outer.entries if outer is not None else []
        self._together = Together(self._outer)
        self._paths: dict[str, KeyPath] = {**outer._paths} if outer is not None else {}
        self.entries: list[Entry] = []
        self.layers: list[StackLayer] = []

    def tool(self, thing: object, path: KeyPath) -> Entry | None:
        """Take one of the agent's own tools."""
        return next((entry for entry in self.read(thing, path, "the stack") if self.take(entry, path)), None)

    def check_order(self) -> None:
        """Report each rule of order that is broken, at the layer whose rule it is."""
        together = [*self._outer, *self.entries]
        outer = {id(entry) for entry in self._outer}
        for broken in broken_rules(together):
            entry, other = cast(Entry, broken.entry), cast(Entry, broken.other)
            if not {id(entry), id(other)} <= outer:
                self.report.add(str(broken), self._paths[entry.name], advice=better_order(together))

    def use(self, table: UseTable) -> None:
        """Take the plugin, or own code, that one `[[use]]` names."""
        found = self.maker.find(table.plugin, "middleware", (*table.path, "plugin"))
        if found is None:
            return None
        if not table.enabled:
            name = table.name or short_name(table.plugin)
            return self.add(name, found.plugin, table.path, target=found.target, enabled=False, config=table.config)
        made = self.maker.make(found, table.config, (*table.path, "config"))
        if isinstance(made, list | tuple):
            return self.report.add(f"{found.text} gives a list", found.path, advice="write bundle instead of plugin")
        if made is None:
            return None
        for entry in self.read(named(table.name, made) if table.name else made, found.path, found.text):
            if self.take(entry, table.path):
                self.add(entry.name, found.plugin, table.path, target=found.target, entry=entry, config=table.config)
        return None

    def read(self, thing: Any, path: KeyPath, who: str) -> list[Entry]:
        """Check *thing*, which *who* made, and read what it offers; nothing where that is reported."""
        try:
            return read([thing], where=who)
        except UseError as error:
            self.report.add(str(error), path)
            return []

    def take(self, entry: Entry, path: KeyPath) -> bool:
        """Whether *entry* fits beside the others; it is kept then, and reported where it does not."""
        if entry.name in self._paths:
            line = self.report.places.value(self._paths[entry.name]).line
            there = f", on line {line}" if line else ""
            self.report.add(
                f"a layer is called {entry.name!r} already{there}", path, advice=f'write name = "{entry.name}-2"'
            )
            return False
        plugin = self.maker.registry.of(entry.thing)
        if plugin is not None and plugin.state is PluginState.BLOCKED:
            self.report.add(plugin.reason, path)
            return False
        try:
            self._together.add(entry, "the stack")
        except UseError as error:
            self.report.add(str(error).removeprefix("the stack: "), path)
            return False
        self._paths[entry.name] = path
        self.entries.append(entry)
        return True

    def add(self, name: str, plugin: Plugin | None, path: KeyPath, **held: Any) -> None:
        """Note a layer; *held* are its other attributes."""
        place = self.report.places.value(path)
        self.layers.append(
            StackLayer(
                name,
                plugin,
                agent=self._agent,
                manifest=self.maker.manifest(plugin),
                line=place.line,
                column=place.column,
                **held,
            )
        )
