"""A project with a stack file and own code, and packages installed beside it with real metadata."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from agent_express.errors import StackError
from agent_express.registry import Registry
from agent_express.stack import Stack, load_stack
from agent_express.testing.distributions import write_distribution

PARTS = '''
from collections.abc import Callable
from typing import Annotated, Literal

from pydantic import BaseModel, Field, SecretStr

from agent_express import Middleware, Order, TurnContext, tool
from agent_express.testing import ScriptedModel


class Layer(Middleware):
    async def turn(self, ctx, next):
        return await next()


class Budget(Layer):
    """Stop at a limit.

    Args:
        limit: Tokens; at least 1.
        per: What is counted.
        key: Of the account.
    """

    def __init__(
        self,
        limit: Annotated[int, Field(ge=1)],
        per: Literal["turn", "session"] = "turn",
        key: SecretStr | None = None,
    ) -> None:
        if limit == 13:
            raise ValueError("13 brings bad luck")
        self.limit, self.per, self.key = limit, per, key


class Memory(Layer):
    order = Order(inside=["budget"])

    def __init__(self, path: str = "memory.db") -> None:
        self.path = path


class Where(BaseModel):
    host: str
    port: int = 80


class Trace(Layer):
    """Send spans away."""

    def __init__(self, to: Where | None = None, labels: dict[str, str] | None = None) -> None:
        self.to, self.labels = to, labels or {}


class Gate(Layer):
    """Ask before a tool runs."""

    def __init__(self, ask: Callable[[str], bool]) -> None:
        self.ask = ask


class Search(Layer):
    @tool
    async def search(self, words: str) -> str:
        """Find it."""
        return words


def deep(limit: int = 5) -> list[Layer]:
    """Stack what a long task needs."""
    return [Trace(), [Budget(limit), Memory()]]


def scripted(name: str = "", temperature: float = 0.0) -> ScriptedModel:
    """Answer from a script."""
    model = ScriptedModel("hello", "hello again")
    model.name, model.temperature = f"scripted:{name}", temperature
    return model
'''

ENTRY_POINTS = {
    "middleware": {
        "parts.budget": "agent_express_parts:Budget",
        "parts.memory": "agent_express_parts:Memory",
        "parts.trace": "agent_express_parts:Trace",
        "parts.gate": "agent_express_parts:Gate",
        "parts.search": "agent_express_parts:Search",
    },
    "bundles": {"parts.deep": "agent_express_parts:deep"},
    "models": {"scripted": "agent_express_parts:scripted"},
}


class Project:
    """A folder of the user's own, and a folder of installed packages, `agent-express-parts` among them."""

    def __init__(self, folder: Path, site: Path) -> None:
        self.folder, self.site = folder, site
        self.environ: dict[str, str] = {}

    def write(self, name: str, text: str) -> Path:
        """Write a file of the project; common leading blanks are taken away."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text), encoding="utf-8")
        return path

    def install(self, name: str, version: str = "1.0.0", **options: Any) -> None:
        """Install one more package."""
        write_distribution(self.site, name, version, **options)

    @property
    def registry(self) -> Registry:
        """What is installed."""
        return Registry(path=[str(self.site)], environ=self.environ)

    def load(self, text: str = "", name: str = "agent.toml", **options: Any) -> Stack:
        """Load a stack file that holds *text*; without one, as it lies there."""
        path = self.write(name, text) if text else self.folder / name
        return load_stack(path, registry=options.pop("registry", None) or self.registry, **options)

    def problems(self, text: str, name: str = "agent.toml", **options: Any) -> list[str]:
        """What is wrong with a stack file, one line each, from the name of the file on: "agent.toml:1:2: ..."."""
        with pytest.raises(StackError) as caught:
            self.load(text, name, **options)
        return str(caught.value).replace(f"{self.folder}/", "").replace(f"{self.folder}\\", "").splitlines()


@contextmanager
def project_in(folder: Path) -> Iterator[Project]:
    """A project whose modules are forgotten afterwards."""
    project = Project(folder / "project", folder / "site")
    project.folder.mkdir()
    project.install(
        "agent-express-parts", entry_points=ENTRY_POINTS, modules={"agent_express_parts/__init__.py": PARTS}
    )
    path, modules = list(sys.path), set(sys.modules)
    sys.path.insert(0, str(project.site))
    try:
        yield project
    finally:
        sys.path[:] = path
        for name in set(sys.modules) - modules:
            module = sys.modules[name]
            places = [getattr(module, "__file__", None), *getattr(module, "__path__", ())]
            if any(Path(place).is_relative_to(folder) for place in places if place):
                del sys.modules[name]


def entries(stack: Stack, agent: str = "") -> Mapping[str, Any]:
    """The objects in the onion of an agent, or of the App, by name and outermost first."""
    return {layer.name: layer.entry.thing for layer in stack.layers if layer.entry is not None and layer.agent == agent}
