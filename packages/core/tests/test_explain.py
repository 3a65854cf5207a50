"""`explain()`: the onion as text."""

from __future__ import annotations

from importlib.metadata import version

import pytest

from agent_express import (
    Agent,
    AgentContext,
    App,
    Events,
    Middleware,
    ModelContext,
    ModelResponse,
    Next,
    SessionContext,
    TurnContext,
    named,
    tool,
)
from agent_express.testing import ScriptedModel


class Everything(Middleware):
    """Has an `init` and three onion hooks, one of them streaming."""

    async def init(self, ctx: AgentContext) -> None:
        raise AssertionError

    async def session(self, ctx: SessionContext, next: Next[None]) -> None:
        await next()

    async def turn(self, ctx: TurnContext, next: Next[None]) -> None:
        await next()

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> Events[ModelResponse]:
        async for event in next():
            yield event


async def guard(ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
    return await next()


@tool
async def search(query: str) -> str:
    """Search."""
    return query


HERE = f"local {__name__.partition('.')[0]}"


def test_an_agent_without_middleware_says_so() -> None:
    assert Agent(ScriptedModel()).explain() == "no middleware"


def test_the_onion_is_shown_per_hook_outermost_first_with_what_streams_and_the_tools() -> None:
    agent = Agent(ScriptedModel(), tools=[search]).use(Everything(), named("last", guard))
    assert agent.explain().splitlines() == [
        "init",
        f"  everything  {HERE}",
        "session",
        f"  everything  {HERE}",
        "turn",
        f"  everything  {HERE}",
        "model",
        f"  everything  {HERE}  streaming",
        f"    last  {HERE}",
        "tools",
        "  search  (tool:search)",
    ]


@pytest.mark.parametrize(("module", "package"), [("pydantic.main", "pydantic"), ("agent_express.app", "agent-express")])
def test_a_layer_of_a_distribution_is_shown_with_its_package_and_version(module: str, package: str) -> None:
    kind = type("Installed", (Everything,), {"__module__": module})
    shown = Agent(ScriptedModel()).use(kind()).explain()
    assert f"installed  {package} {version(package)}" in shown


def test_an_app_shows_its_own_onion_and_that_of_each_agent_with_the_apps_layers_outermost() -> None:
    async def inner(ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        return await next()

    app = App().use(guard).mount(Agent(ScriptedModel(), name="sales").use(inner))
    assert app.explain().splitlines() == [
        "App",
        "model",
        f"  guard  {HERE}",
        "",
        "agent sales",
        "model",
        f"  guard  {HERE}",
        f"    inner  {HERE}",
    ]


async def test_an_open_agent_explains_itself_as_before() -> None:
    agent = Agent(ScriptedModel()).use(guard)
    before = agent.explain()
    async with agent:
        assert agent.explain() == before
