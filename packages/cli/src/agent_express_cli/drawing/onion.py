"""What a picture of an onion holds, made from the view of a stack. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from ..stacks.view import LEVELS, AgentView, LayerView, StackView


@dataclass(frozen=True, slots=True)
class Shell:
    """A layer at one level.

    Attributes:
        name: What stands in it.
        package: Package and version, or "local".
        streaming: Whether its hook yields.
        colour: The layer's place in the stack, so that it has one colour wherever it stands.
    """

    name: str
    package: str = "local"
    streaming: bool = False
    colour: int = 0


@dataclass(frozen=True, slots=True)
class Row:
    """Layers that stand beside the onion, under a heading.

    Attributes:
        title: Why they stand there: "init", "switched off".
        shells: The layers, in their order.
        off: Whether they do not run.
    """

    title: str
    shells: tuple[Shell, ...]
    off: bool = False


@dataclass(frozen=True, slots=True)
class Onion:
    """One agent with the layers around it.

    Attributes:
        title: The agent's name.
        subtitle: What else to know: how many layers, from which file.
        model: The model in the middle.
        tools: The names of the tools in the middle.
        session: The shells of each level, outermost first.
        turn: Likewise.
        model_call: Likewise.
        tool_call: Likewise.
        rows: What stands beside it.
    """

    title: str
    subtitle: str = ""
    model: str = "model"
    tools: tuple[str, ...] = ()
    session: tuple[Shell, ...] = ()
    turn: tuple[Shell, ...] = ()
    model_call: tuple[Shell, ...] = ()
    tool_call: tuple[Shell, ...] = ()
    rows: tuple[Row, ...] = ()

    @property
    def levels(self) -> tuple[tuple[str, tuple[Shell, ...]], ...]:
        """The shells by level, from the outermost in."""
        return tuple(zip(LEVELS, (self.session, self.turn, self.model_call, self.tool_call), strict=True))

    @property
    def shells(self) -> tuple[Shell, ...]:
        """All shells, those beside it too."""
        inside = [shell for _, shells in self.levels for shell in shells]
        return (*inside, *(shell for row in self.rows for shell in row.shells))


def onions(view: StackView, agent: str = "") -> tuple[Onion, ...]:
    """The onion of each agent, or of the one that is named."""
    return tuple(_onion(view, each) for each in view.agents if agent in ("", each.name))


def _onion(view: StackView, agent: AgentView) -> Onion:
    written = view.written_around(agent.name)
    colours = {layer.name: place for place, layer in enumerate(written)}
    running = view.around(agent.name)
    tools = [*agent.tools, *(tool for layer in running for tool in layer.tools)]
    session, turn, model, tool = (_shells(view.onion(agent.name, level), level, colours) for level in LEVELS)
    return Onion(
        title=agent.name,
        subtitle=" · ".join(filter(None, [view.path, view.profile and f"profile {view.profile}"])),
        model=agent.model or "model",
        tools=tuple(each.name for each in tools),
        session=session,
        turn=turn,
        model_call=model,
        tool_call=tool,
        rows=_rows(view, agent.name, colours),
    )


def _rows(view: StackView, agent: str, colours: dict[str, int]) -> tuple[Row, ...]:
    """What has no shell: who opens and closes with the agent, who only brings something along, who is switched off."""
    beside = [each for each in view.around(agent) if not each.hooks]
    off = [each for each in view.written_around(agent) if not each.enabled]
    rows = [
        Row("on opening", _shells(view.onion(agent, "init"), "init", colours)),
        Row("on closing", _shells(view.onion(agent, "dispose"), "dispose", colours)),
        Row("without hooks", _shells(beside, "", colours)),
        Row("switched off", _shells(off, "", colours), off=True),
    ]
    return tuple(row for row in rows if row.shells)


def _shells(layers: Iterable[LayerView], hook: str, colours: dict[str, int]) -> tuple[Shell, ...]:
    def streams(layer: LayerView) -> bool:
        found = layer.hook(hook)
        return found is not None and found.streaming

    return tuple(Shell(each.name, each.package, streams(each), colours[each.name]) for each in layers)
