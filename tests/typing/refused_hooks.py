"""What a strict type checker refuses in hooks: each marked line is an error, and no other line is one.

`# expect: X / Y`, behind a line or above it: mypy's code and pyright's rule.
"""

from __future__ import annotations

from pydantic import BaseModel

from agent_express import (
    Agent,
    End,
    Event,
    Events,
    Middleware,
    ModelContext,
    ModelResponse,
    Next,
    SessionContext,
    ToolContext,
    ToolResult,
    TurnContext,
)


class Spent(BaseModel):
    tokens: int = 0


class CardMasked(Event, type="typing:card-masked-2"):
    kind: str


class SyncHook(Middleware):
    # expect: override / reportIncompatibleMethodOverride
    def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        raise NotImplementedError


class WrongResult(Middleware):
    # expect: override / reportIncompatibleMethodOverride
    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> str:
        return (await next()).message.text


class WrongContext(Middleware):
    # expect: override / reportIncompatibleMethodOverride
    async def model(self, ctx: ToolContext, next: Next[ModelResponse]) -> ModelResponse:
        return await next()


class WrongNext(Middleware):
    # expect: override / reportIncompatibleMethodOverride
    async def tool(self, ctx: ToolContext, next: Next[ModelResponse]) -> ToolResult:
        return ToolResult("x")


class StreamingSession(Middleware):
    # expect: override / reportIncompatibleMethodOverride
    async def session(self, ctx: SessionContext, next: Next[None]) -> Events[None]:
        yield End(None)


class ForgetsAwait(Middleware):
    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        return next()  # expect: return-value / reportReturnType


class ForgetsReturn(Middleware):
    # expect: return / reportReturnType
    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        await next()


class YieldsText(Middleware):
    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> Events[ModelResponse]:
        yield "text"  # expect: misc / reportReturnType
        yield End(await next())


class WrongEnd(Middleware):
    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> Events[ModelResponse]:
        yield End((await next()).message)  # expect: arg-type / reportReturnType


class ReadsState(Middleware):
    state = Spent

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        ctx.state[self].dollars += 1  # expect: attr-defined / reportAttributeAccessIssue
        ctx.state[self].tokens = "many"  # expect: assignment / reportAttributeAccessIssue
        ctx.budget = 3  # expect: attr-defined / reportAttributeAccessIssue
        ctx.session_id = "s2"  # expect: misc / reportAttributeAccessIssue
        ctx.request.model = ctx.model  # expect: misc / reportAttributeAccessIssue
        ctx.modify_args({})  # expect: attr-defined / reportAttributeAccessIssue
        CardMasked()  # expect: call-arg / reportCallIssue
        answer: ToolResult = await next()  # expect: assignment / reportAssignmentType
        str(answer)
        return await next.again()


class Stateless(Middleware):
    async def turn(self, ctx: TurnContext, next: Next[None]) -> None:
        ctx.set_model("openai:gpt-5")  # expect: attr-defined / reportAttributeAccessIssue
        str(ctx.state[self])  # expect: call-overload / reportArgumentType
        await next()


class PlainSync:
    def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        raise NotImplementedError


class PlainWrongContext:
    async def model(self, ctx: ToolContext, next: Next[ModelResponse]) -> ModelResponse:
        return await next()


class PlainWrongResult:
    async def tool(self, ctx: ToolContext, next: Next[ToolResult]) -> str:
        return (await next()).text


def sync_function(ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
    raise NotImplementedError


async def wrong_result(ctx: ModelContext, next: Next[ModelResponse]) -> str:
    return (await next()).message.text


async def one_parameter(ctx: TurnContext) -> None:
    return None


class NoHook:
    def helper(self) -> None:
        return None


class Fine(Middleware):
    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        return await next()


def use_them(agent: Agent) -> None:
    agent.use(42)  # expect: arg-type / reportArgumentType
    agent.use(None)  # expect: arg-type / reportArgumentType
    agent.use(Fine)  # expect: arg-type / reportArgumentType
    agent.use(NoHook())  # expect: arg-type / reportArgumentType
    agent.use(PlainSync())  # expect: arg-type / reportArgumentType
    agent.use(PlainWrongContext())  # expect: arg-type / reportArgumentType
    agent.use(PlainWrongResult())  # expect: arg-type / reportArgumentType
    agent.use(sync_function)  # expect: arg-type / reportArgumentType
    agent.use(wrong_result)  # expect: arg-type / reportArgumentType
    agent.use(one_parameter)  # expect: arg-type / reportArgumentType
    agent.use([Fine(), 42])  # expect: list-item / reportArgumentType
