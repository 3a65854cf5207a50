"""From the typed file to agents, and the App that holds them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from ..agent import Agent
from ..app import App
from ..errors import UseError
from ..middleware import Entry
from ..models import make_model
from ..references import is_reference
from ..tools import Tool
from .bundles import use_bundle
from .file import AgentTable, ModelTable, StackFile, UseTable
from .layers import Layers
from .loaded import Stack, StackLayer, StackTool
from .making import Maker, is_function, split_provider
from .positions import KeyPath


class Builder:
    """Builds one stack; what is wrong is reported, and the rest built all the same, to find what else is.

    Args:
        file: What to build.
        path: Of the file.
        maker: Makes what the file names.
    """

    def __init__(self, file: StackFile, path: Path, maker: Maker) -> None:
        self._file, self._path, self._maker = file, path, maker
        self._report = maker.report
        self._layers: list[StackLayer] = []
        self._tools: list[StackTool] = []

    def build(self) -> Stack | None:
        """Build it; None where something was reported."""
        outer = Layers(self._maker)
        self._use(outer, self._file.use)
        agents = {name: self._agent(table, outer) for name, table in self._file.agents.items()}
        app = self._app(outer.entries, agents) if self._file.is_app else None
        if self._report.problems:
            return None
        return Stack(
            self._path,
            self._file,
            {name: agent for name, agent in agents.items() if agent is not None},
            app,
            tuple(self._layers),
            tuple(self._tools),
            self._maker.registry.policy,
            self._maker.registry,
        )

    def _use(self, layers: Layers, tables: Sequence[UseTable]) -> None:
        for table in tables:
            if table.bundle:
                use_bundle(layers, table)
            elif table.plugin:
                layers.use(table)
        layers.check_order()
        self._layers += layers.layers

    def _agent(self, table: AgentTable, outer: Layers) -> Agent | None:
        called = table.name if self._file.is_app else ""
        layers = Layers(self._maker, called, outer)
        for place, text in enumerate(table.tools):
            if text:
                self._tool(layers, text, called, (*table.path, "tools", place))
        self._use(layers, table.use)
        instructions = self._instructions(table)
        model = self._model(table.model) if table.model is not None else None
        if model is None:
            return None
        try:
            agent = Agent(model, name=table.name, instructions=instructions, limits=table.limits)
        except UseError as error:
            self._report.add(str(error).removeprefix("Agent: "), (*table.path, "model"))
            return None
        agent._entries += layers.entries
        agent._resolve = self._named
        return agent

    def _app(self, outer: Sequence[Entry], agents: Mapping[str, Agent | None]) -> App | None:
        if self._report.problems:
            return None
        app = App()
        app._entries += outer
        for name, agent in agents.items():
            try:
                app.mount(cast(Agent, agent))
            except UseError as error:
                self._report.add(str(error), ("agents", name))
        return app

    def _tool(self, layers: Layers, text: str, agent: str, path: KeyPath) -> None:
        if not is_reference(text):
            advice = 'write it as "module:attribute", such as "shop.tools:refund"'
            return self._report.add(f'"{text}" names no tool', path, advice=advice)
        found = self._maker.own(text, path)
        if found is None:
            return None
        if not isinstance(found, Tool):
            advice = "decorate the function with @tool" if is_function(found) else ""
            kind = "a function" if is_function(found) else f"a {type(found).__name__}"
            return self._report.add(f"{text} is {kind}, expected a tool", path, advice=advice)
        if layers.tool(found, path) is not None:
            place = self._report.places.value(path)
            self._tools.append(StackTool(found.name, text, found, agent, place.line, place.column))
        return None

    def _instructions(self, table: AgentTable) -> str:
        if not table.instructions_file:
            return table.instructions
        path = (*table.path, "instructions", "file")
        file = self._maker.folder / table.instructions_file
        try:
            return file.read_text(encoding="utf-8-sig")
        except UnicodeDecodeError:
            self._report.add(f"{file} is not UTF-8 text", path, advice="save the file as UTF-8")
        except (OSError, ValueError) as error:  # a ValueError: the name holds a null character
            why = error.strerror if isinstance(error, OSError) else None
            self._report.add(f"{file} cannot be read: {why or error}", path)
        return ""

    def _named(self, name: str) -> Any:
        """The model that is called by name while the agent runs: the policy of the file holds for it, too."""
        return make_model(self._maker.registry, name, **self._maker.options)

    def _model(self, table: ModelTable) -> Any:
        config = (*table.path, "config")
        full = table.plugin or table.name
        if not table.plugin and not table.config and not split_provider(full, self._maker.plugins)[1]:
            known = len(self._report.problems)
            other = self._maker.other_model(full, (*table.path, "name"))
            if other is not None or len(self._report.problems) > known:
                return other
        if not table.plugin or (not table.name and split_provider(full, self._maker.plugins)[1]):
            at = (*table.path, "plugin" if table.plugin else "name")
            return self._maker.attempt(
                full, at, config,
                lambda: make_model(self._maker.registry, full, table.config, **self._maker.options),
            )  # fmt: skip
        found = self._maker.find(table.plugin, "models", (*table.path, "plugin"))
        if found is None:
            return None
        given = (table.name,) if table.name or found.plugin is not None else ()
        return self._maker.make(found, table.config, config, *given)
