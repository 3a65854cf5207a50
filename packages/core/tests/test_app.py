"""The App: middleware around all agents, and agents by name."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from pydantic import BaseModel

from agent_express import (
    Agent,
    AgentContext,
    App,
    Event,
    Middleware,
    ModelContext,
    ModelResponse,
    Next,
    SessionContext,
    ToolContext,
    ToolResult,
    TurnContext,
    named,
    tool,
)
from agent_express.errors import UseError
from agent_express.testing import FunctionModel, ScriptedModel, call, no_leaks

Passing = Next[ModelResponse]


class Count(BaseModel):
    n: int = 0


class Noted(Event, type="app-test:noted"):
    pass


class NotedToo(Event, type="app-test:noted"):
    pass


class Watch(Middleware):
    """Notes its opening and closing, and each hook."""

    def __init__(self, name: str, seen: list[str]) -> None:
        self.name, self.seen = name, seen

    async def init(self, ctx: AgentContext) -> None:
        self.seen.append(f"{self.name} init of {ctx.agent.name if ctx.agent else 'the App'}")

    async def dispose(self) -> None:
        self.seen.append(f"{self.name} dispose")

    async def session(self, ctx: SessionContext, next: Next[None]) -> None:
        self.seen.append(f"{self.name} session")
        await next()

    async def turn(self, ctx: TurnContext, next: Next[None]) -> None:
        self.seen.append(f"{self.name} turn of {ctx.agent.name}")
        await next()

    async def model(self, ctx: ModelContext, next: Passing) -> ModelResponse:
        self.seen.append(f"{self.name} model")
        return await next()

    async def tool(self, ctx: ToolContext, next: Next[ToolResult]) -> ToolResult:
        self.seen.append(f"{self.name} tool")
        return await next()


@tool
async def noop() -> str:
    """Do nothing."""
    return "ok"


async def passes(ctx: ModelContext, next: Passing) -> ModelResponse:
    return await next()


def agent(name: str, *things: Any, script: tuple[Any, ...] = ("ok",), **options: Any) -> Agent:
    return Agent(ScriptedModel(*script), name=name, **options).use(*things)


# --- around all agents --------------------------------------------------------------------------


async def test_hooks_of_the_app_are_outermost_around_each_agent() -> None:
    seen: list[str] = []
    script = ([call("noop")], "done")
    sales = agent("sales", Watch("inner", seen), script=script, tools=[noop])
    async with App().use(Watch("house", seen)).mount(sales).mount(agent("support")) as app:
        seen.clear()
        assert (await app.run("sales", "hi")).text == "done"
        model = ["house model", "inner model"]
        assert seen == [
            "house session",
            "inner session",
            "house turn of sales",
            "inner turn of sales",
            *model,
            "house tool",
            "inner tool",
            *model,
        ]
        seen.clear()
        assert (await app.run("support", "hi")).text == "ok"
        assert seen == ["house session", "house turn of support", "house model"]


async def test_init_and_dispose_of_the_app_run_once_around_the_agents() -> None:
    seen: list[str] = []
    app = App().use(Watch("house", seen)).mount(agent("a", Watch("one", seen))).mount(agent("b", Watch("two", seen)))
    async with no_leaks(), app:
        assert seen == ["house init of the App", "one init of a", "two init of b"]
    assert seen[3:] == ["two dispose", "one dispose", "house dispose"]


async def test_app_middleware_keeps_state_per_session() -> None:
    class Counts(Middleware):
        state = Count

        async def model(self, ctx: ModelContext, next: Passing) -> ModelResponse:
            ctx.state[self].n += 1
            return await next()

    app = App().use(Counts()).mount(agent("a", script=("1", "2"))).mount(agent("b"))
    async with app, app.session("a", "s") as one, app.session("b", "s") as other:
        await one.run("hi")
        await one.run("hi")
        await other.run("hi")
        assert (one.state["counts"].n, other.state["counts"].n) == (2, 1)


async def test_a_tool_that_app_middleware_registers_in_init_serves_all_agents() -> None:
    class Brings(Middleware):
        async def init(self, ctx: AgentContext) -> None:
            ctx.register_tool(noop)

    models = {name: FunctionModel(lambda request: str([each.name for each in request.tools])) for name in "ab"}
    app = App().use(Brings())
    for name, model in models.items():
        app.mount(Agent(model, name=name))
    async with app:
        assert [(await app.run(name, "hi")).text for name in "ab"] == ["['noop']", "['noop']"]


async def test_an_app_can_be_opened_again() -> None:
    seen: list[str] = []
    app = App().use(Watch("house", seen)).mount(agent("a", script=("1", "2")))
    for text in ("1", "2"):
        async with app:
            assert (await app.run("a", "hi")).text == text
    assert seen.count("house init of the App") == seen.count("house dispose") == 2


# --- agents by name -----------------------------------------------------------------------------


async def test_a_session_of_an_app_is_one_of_the_agent_of_that_name() -> None:
    seen: list[Any] = []

    async def look(ctx: SessionContext, next: Next[None]) -> None:
        seen.append((ctx.agent.name, ctx.session_id, ctx.user_id, ctx.metadata, ctx.credentials, ctx.resources["r"]))
        await next()

    async with App().use(look).mount(agent("a")) as app:
        options: dict[str, Any] = {"metadata": {"m": 1}, "credentials": "c", "resources": {"r": 1}}
        async with app.session("a", "s1", user_id="ann", **options):
            pass
    assert seen == [("a", "s1", "ann", {"m": 1}, "c", 1)]


async def test_an_agent_that_is_not_mounted_is_named_with_those_that_are() -> None:
    async with App().mount(agent("sales")).mount(agent("support")) as app:
        with pytest.raises(UseError, match="App: no agent 'billing' is mounted; there are: sales, support"):
            await app.run("billing", "hi")


async def test_a_mounted_agent_runs_by_its_own_name_too_while_the_app_is_open() -> None:
    seen: list[str] = []
    sales = agent("sales")
    async with App().use(Watch("house", seen)).mount(sales):
        assert (await sales.run("hi")).text == "ok"
    assert "house turn of sales" in seen


# --- what is refused ----------------------------------------------------------------------------


async def test_running_an_app_that_is_not_open_says_how_to_open_it() -> None:
    app = App().mount(agent("a"))
    with pytest.raises(UseError, match="the App is not open: write `async with app:`"):
        await app.run("a", "hi")


async def test_a_mounted_agent_is_opened_by_its_app_only() -> None:
    sales = agent("sales")
    app = App().mount(sales)
    with pytest.raises(UseError, match="agent 'sales' is mounted in an App: open the App, not the agent"):
        await sales.run("hi")
    async with app:
        assert (await app.run("sales", "hi")).text == "ok"


async def test_use_comes_before_mount_and_before_opening() -> None:
    app = App().mount(agent("a"))
    with pytest.raises(UseError, match=r"App\.use\(\) comes before mount\(\) and before `async with app`"):
        app.use(passes)


async def test_an_app_is_opened_once_at_a_time() -> None:
    async with App().mount(agent("a")) as app:
        with pytest.raises(UseError, match="the App is open already"):
            await app.__aenter__()
        assert (await app.run("a", "hi")).text == "ok"


async def test_app_middleware_registers_tools_only_and_sees_those_that_are_there() -> None:
    seen: list[list[str]] = []

    class Brings(Middleware):
        async def init(self, ctx: AgentContext) -> None:
            ctx.register_tool(noop)
            seen.append(list(ctx.tools))
            with pytest.raises(UseError, match=r"brings: register_tool\(.*\): not a tool; decorate the function"):
                ctx.register_tool(len)  # type: ignore[arg-type]

    async with App().use(Brings()).mount(agent("a")):
        assert seen == [["noop"]]


def test_an_agent_is_mounted_once_and_names_of_agents_are_unique() -> None:
    sales = agent("sales")
    app = App().mount(sales)
    with pytest.raises(UseError, match="an agent named 'sales' is mounted already: give one another name="):
        app.mount(agent("sales"))
    with pytest.raises(UseError, match="agent 'sales' is mounted in another App, or open"):
        App().mount(sales)


def clashing_object() -> tuple[App, Agent]:
    watch = Watch("house", [])
    return App().use(watch), agent("a", named("other", watch))


def clashing_name() -> tuple[App, Agent]:
    return App().use(passes), agent("a", passes)


def clashing_tool() -> tuple[App, Agent]:
    return App().use(noop), agent("a", tools=[tool(name="noop")(lambda: "")])


def clashing_event() -> tuple[App, Agent]:
    one, other = type("One", (), {"events": (Noted,)})(), type("Other", (), {"events": (NotedToo,)})()
    return App().use(one), agent("a", other)


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (clashing_object, "in use already"),
        (clashing_name, "passes"),
        (clashing_tool, "noop"),
        (clashing_event, "app-test:noted"),
    ],
)
def test_what_app_and_agent_may_not_both_have_is_found_at_mounting(make: Any, said: str) -> None:
    app, mounted = make()
    with pytest.raises(UseError, match=said):
        app.mount(mounted)


def test_what_a_mounted_agent_adds_later_is_checked_against_the_app_too() -> None:
    sales = agent("sales")
    App().use(passes).mount(sales)
    with pytest.raises(UseError, match="a middleware named 'passes' is in use already"):
        sales.use(named("passes", Watch("other", [])))


# --- failures -----------------------------------------------------------------------------------


async def test_an_agent_that_fails_to_open_closes_what_was_open_and_the_app_is_as_before() -> None:
    seen: list[str] = []

    class Breaks(Middleware):
        async def init(self, ctx: AgentContext) -> None:
            raise ConnectionError("no network")

    app = App().use(Watch("house", seen)).mount(agent("a", Watch("one", seen))).mount(agent("b", Breaks()))
    async with no_leaks():
        with pytest.raises(ConnectionError, match="no network"):
            await app.__aenter__()
    assert seen == ["house init of the App", "one init of a", "one dispose", "house dispose"]
    with pytest.raises(UseError, match="the App is not open"):
        await app.run("a", "hi")


async def test_closing_goes_on_when_an_agent_fails_to_close_and_all_errors_are_told() -> None:
    seen: list[str] = []

    class Stuck(Middleware):
        def __init__(self, name: str) -> None:
            self.name = name

        async def dispose(self) -> None:
            seen.append(self.name)
            raise OSError(f"{self.name} is stuck")

    app = App().use(Stuck("house")).mount(agent("a", Stuck("one"))).mount(agent("b", Stuck("two")))
    await app.__aenter__()
    with pytest.raises(ExceptionGroup) as caught:
        await app.__aexit__(None, None, None)
    assert seen == ["two", "one", "house"]
    assert [str(error) for error in caught.value.exceptions] == ["two is stuck", "one is stuck", "house is stuck"]


async def test_a_cancelled_opening_ends_at_once_and_rolls_back() -> None:
    entered, seen = asyncio.Event(), list[str]()

    class Hangs(Middleware):
        async def init(self, ctx: AgentContext) -> None:
            entered.set()
            await asyncio.Event().wait()

    async with no_leaks():
        opening = asyncio.create_task(App().use(Watch("house", seen), Hangs()).mount(agent("a")).__aenter__())
        await entered.wait()
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening
    assert seen == ["house init of the App", "house dispose"]
