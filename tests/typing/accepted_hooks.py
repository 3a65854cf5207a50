"""What a strict type checker accepts: hooks of both kinds, with and without the base class, and typed state."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Annotated, Any, assert_type

from pydantic import BaseModel, Field

import agent_express
from agent_express import (
    Agent,
    AgentContext,
    End,
    Event,
    Events,
    Message,
    Middleware,
    ModelContext,
    ModelRequest,
    ModelResponse,
    Next,
    Order,
    SessionContext,
    TextDelta,
    ToolContext,
    ToolError,
    ToolResult,
    TurnContext,
    private,
    reduce,
    scope,
    tool,
)
from agent_express.typing import InitHook, ModelHook, Observer, SessionHook, ToolHook, TurnHook


class CardMasked(Event, type="typing:card-masked", version=1):
    kind: str
    count: int = 1


def merge(old: list[str], new: list[str]) -> list[str]:
    return [*old, *new]


class Spent(BaseModel):
    tokens: int = 0
    notes: Annotated[list[str], reduce(merge)] = Field(default_factory=list[str])
    names: Annotated[dict[str, str], private] = Field(default_factory=dict[str, str])
    calls: Annotated[int, scope("turn")] = 0


class Budget(Middleware):
    """Coroutine hooks at every level, in a subclass of the base class."""

    name = "budget"
    state = Spent
    events = (CardMasked,)
    order = Order(outside=["retry"])

    def __init__(self, limit: int) -> None:
        self.limit = limit

    async def init(self, ctx: AgentContext) -> None:
        if ctx.agent is not None:
            assert_type(ctx.agent.name, str)

    async def dispose(self) -> None:
        self.limit = 0

    async def session(self, ctx: SessionContext, next: Next[None]) -> None:
        ctx.identify("ann", ["read"])
        await next()

    async def turn(self, ctx: TurnContext, next: Next[None]) -> None:
        ctx.input = ctx.input.with_text("***")
        await next()
        assert_type(ctx.output, Message | None)
        await next.again("shorter")

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        mine = ctx.state[self]
        assert_type(mine, Spent)
        assert_type(ctx.state[Spent], Spent)
        if mine.tokens >= self.limit:
            ctx.abort("spent")
        assert_type(ctx.request, ModelRequest)
        response = await next()
        ctx.state[self].tokens += response.usage.total_tokens or 0
        ctx.state.update(Spent(notes=["asked"]))
        await ctx.emit(CardMasked("visa"))
        assert_type(await ctx.ask("ok?"), ModelResponse)
        assert_type(await ctx.ask("ok?", output=Spent, purpose="guard"), Spent)
        return response

    async def tool(self, ctx: ToolContext, next: Next[ToolResult]) -> ToolResult:
        if ctx.args.get("path") == "/":
            return ctx.deny("not the root")
        try:
            return await next()
        except ToolError:
            return ctx.skip_call("later")

    @agent_express.tool
    async def remember(self, text: str, ctx: ToolContext) -> str:
        """Remember something."""
        ctx.state[self].notes.append(text)
        return "remembered"


class Shout(Middleware):
    """Streaming hooks in a subclass of the base class."""

    async def turn(self, ctx: TurnContext, next: Next[None]) -> Events[Any]:
        async for event in next():
            yield event

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> AsyncIterator[Event | End[ModelResponse]]:
        async for event in next():
            match event:
                case TextDelta(text=text):
                    yield TextDelta(text.upper())
                case End(result=response):
                    assert_type(response, ModelResponse)
                    yield End(response.replace(message=response.message.with_text("***")))
                case _:
                    yield event

    async def tool(self, ctx: ToolContext, next: Next[ToolResult]) -> Events[ToolResult]:
        yield End(await next())


class Plain:
    """No base class: typed by the shape of its hooks."""

    state = Spent

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        assert_type(ctx.state[self], Spent)
        return await next()

    async def tool(self, ctx: ToolContext, next: Next[ToolResult]) -> Events[ToolResult]:
        async for event in next():
            yield event


class OnlyTools:
    tools = (tool(name="now")(lambda: "12:00"),)


class OnlyState:
    state = Spent


class OnlyInit:
    async def init(self, ctx: AgentContext) -> None:
        return None


async def on_session(ctx: SessionContext, next: Next[None]) -> None:
    ctx.resources[Spent] = Spent()
    await next()


async def on_turn(ctx: TurnContext, next: Next[None]) -> None:
    ctx.output = Message("assistant", "cached")


async def on_turn_streaming(ctx: TurnContext, next: Next[None]) -> Events[Any]:
    async for event in next():
        yield event


async def on_model(ctx: ModelContext, next: Next[ModelResponse]) -> Events[ModelResponse]:
    async for event in next.again():
        yield event


async def on_tool(ctx: ToolContext, next: Next[ToolResult]) -> ToolResult:
    ctx.modify_args({"a": 1})
    return await next()


class Watching:
    def entered(self, level: str, name: str, ctx: Any) -> None:
        return None

    def left(self, level: str, name: str, ctx: Any, error: BaseException | None) -> None:
        return None


def shapes() -> tuple[InitHook, SessionHook, TurnHook, ModelHook, ToolHook, Observer]:
    budget = Budget(3)
    return budget, budget, Shout(), Plain(), Plain(), Watching()


def use_them(agent: Agent) -> Agent:
    agent.use(Budget(3), Shout(), Plain(), OnlyTools(), OnlyState(), OnlyInit())
    agent.use(on_session, on_turn, on_turn_streaming, on_model, on_tool)
    return agent.use([Budget(3), [on_model, Plain()]]).observe(Watching())
