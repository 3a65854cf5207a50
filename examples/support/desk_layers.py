"""The layers around the help desk. Each does one thing, at the levels where it has to."""

import re
import time

from pydantic import BaseModel

from agent_express import (
    End,
    Event,
    Events,
    Middleware,
    ModelContext,
    ModelResponse,
    Next,
    SessionContext,
    TextDelta,
    ToolContext,
    ToolResult,
    TurnContext,
)
from agent_express.errors import ModelError


class Took(Event, type="desk:took"):
    """How long something took."""

    what: str
    seconds: float


class Trace(Middleware):
    """Write down how long turns, model calls and tool calls take."""

    events = (Took,)

    async def turn(self, ctx: TurnContext, next: Next[None]) -> None:
        began = time.perf_counter()
        await next()
        await ctx.emit(Took("turn", time.perf_counter() - began))

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        began = time.perf_counter()
        response = await next()
        await ctx.emit(Took(f"model call {ctx.call_index + 1}", time.perf_counter() - began))
        return response

    async def tool(self, ctx: ToolContext, next: Next[ToolResult]) -> ToolResult:
        began = time.perf_counter()
        result = await next()
        await ctx.emit(Took(ctx.call.name, time.perf_counter() - began))
        return result


class Auth(Middleware):
    """Say who is talking: whoever is not known is a guest.

    Args:
        guest: What a guest is called.
    """

    def __init__(self, guest: str = "guest") -> None:
        self.guest = guest

    async def session(self, ctx: SessionContext, next: Next[None]) -> None:
        if ctx.user_id is None:
            ctx.identify(self.guest)
        await next()


class Recent(BaseModel):
    """When the last turns of a session began."""

    began: list[float] = []


class RateLimit(Middleware):
    """Refuse a turn where too many have begun within a time.

    Args:
        turns: Turns that may begin.
        seconds: Within this time.
    """

    state = Recent

    def __init__(self, turns: int = 20, seconds: float = 60.0) -> None:
        self.turns, self.seconds = turns, seconds

    async def turn(self, ctx: TurnContext, next: Next[None]) -> None:
        recent = [began for began in ctx.state[self].began if began > ctx.started_at - self.seconds]
        if len(recent) >= self.turns:
            ctx.abort(f"{self.turns} messages within {self.seconds:g} seconds are enough")
        ctx.state[self].began = [*recent, ctx.started_at]
        await next()


def masked(text: str) -> str:
    """*text* without e-mail addresses."""
    return re.sub(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+", "[e-mail]", text)


class Redactor(Middleware):
    """Mask e-mail addresses: in what the user says, in results of tools, and in the answer while it streams."""

    async def turn(self, ctx: TurnContext, next: Next[None]) -> None:
        ctx.input = ctx.input.with_text(masked(ctx.input.text))
        await next()

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> Events[ModelResponse]:
        held = ""  # half a word waits for the rest of it
        async for event in next():
            match event:
                case TextDelta(text=text):
                    *words, held = re.split(r"(?<=\s)", held + text)
                    yield TextDelta(masked("".join(words)))
                case End(result=response):
                    yield TextDelta(masked(held))
                    said = response.message
                    yield End(response.replace(message=said.with_text(masked(said.text))))
                case _:
                    yield event

    async def tool(self, ctx: ToolContext, next: Next[ToolResult]) -> ToolResult:
        result = await next()
        return ToolResult(masked(result.text), is_error=result.is_error)


class Used(BaseModel):
    """What a session has used."""

    tokens: int = 0


class Budget(Middleware):
    """Abort the turn once the session has used its tokens; the call that crosses the limit is the last one.

    Args:
        tokens: Tokens that a session may use.
    """

    state = Used

    def __init__(self, tokens: int) -> None:
        self.tokens = tokens

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        used = ctx.state[self].tokens
        if used >= self.tokens:
            ctx.abort(f"{used} of {self.tokens} tokens are used")
        response = await next()
        ctx.state[self].tokens += response.usage.total_tokens or 0
        return response


class Permissions(Middleware):
    """Leave large refunds to a person.

    Args:
        euros: What may be refunded without one.
    """

    def __init__(self, euros: int = 50) -> None:
        self.euros = euros

    async def tool(self, ctx: ToolContext, next: Next[ToolResult]) -> ToolResult:
        if ctx.call.name == "refund" and ctx.args["euros"] > self.euros:
            return ctx.deny(f"more than {self.euros} euros are refunded by a person")
        return await next()


class Retry(Middleware):
    """Try a model call once more where that may help."""

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        try:
            return await next()
        except ModelError as error:
            if not error.retryable:
                raise
            return await next()


class Known(BaseModel):
    """What the customer has said of themselves."""

    name: str = ""


class Memory(Middleware):
    """Remember the customer's name, and let the model know it."""

    state = Known

    async def turn(self, ctx: TurnContext, next: Next[None]) -> None:
        found = re.search(r"my name is (\w+)", ctx.input.text, re.IGNORECASE)
        if found:
            ctx.state[self].name = found[1]
        await next()

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        if name := ctx.state[self].name:
            ctx.add_system_message(f"The customer is called {name}.", section="memory")
        return await next()
