"""Agents for the tests of the command: `--stack stacks:NAME`."""

from __future__ import annotations

import asyncio
import sys

from agent_express import (
    Agent,
    App,
    End,
    Events,
    Message,
    Middleware,
    ModelContext,
    ModelRequest,
    ModelResponse,
    Next,
    TextDelta,
    ToolResult,
    TurnContext,
    tool,
)
from agent_express.errors import AuthenticationError, BadRequestError, ProviderUnavailableError, RateLimitError
from agent_express.testing import FunctionModel, Say, ScriptedModel, call


def tell(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


not_an_agent = "an agent, in words"


@tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@tool
async def divide(a: int, b: int) -> float:
    """Divide two numbers."""
    return a / b


class Retry(Middleware):
    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        try:
            return await next()
        except ProviderUnavailableError:
            return await next()


def hello() -> Agent:
    return Agent(FunctionModel(lambda request: f"You said: {request.messages[-1].text}"))


def system() -> Agent:
    return Agent(FunctionModel(lambda request: f"I was told: {request.system_text}"), instructions="Be kind.")


def counting() -> Agent:
    """Answers with all that was said to it, so that a lost message shows."""

    def heard(request: ModelRequest) -> str:
        return " + ".join(message.text for message in request.messages if message.role == "user")

    return Agent(FunctionModel(heard))


def tools() -> Agent:
    first = ["Let me see.", call("add", a=2, b=3), call("divide", a=1, b=0)]
    return Agent(ScriptedModel(first, [call("subtract", a=1)], "The sum is 5."), tools=[add, divide])


def retry() -> Agent:
    broken = Say("This is wro", error=ProviderUnavailableError("the line broke off"))
    return Agent(ScriptedModel(broken, "This is right.")).use(Retry())


def nested() -> Agent:
    reader = Agent(
        ScriptedModel([call("add", a=1, b=1)], "I have read it.\nIt says two."),
        name="reader",
        instructions="Reads.",
        tools=[add],
    )
    return Agent(ScriptedModel([call("reader", task="read")], "The reader says two."), tools=[reader.as_tool()])


def redrafted() -> Agent:
    """Streams a draft that is not the answer."""

    async def polish(ctx: TurnContext, next: Next[None]) -> None:
        await next()
        ctx.output = Message("assistant", "The polished answer.")

    return Agent(ScriptedModel("A rough draft.")).use(polish)


def silent() -> Agent:
    return Agent(ScriptedModel(Message("assistant")))


def hostile() -> Agent:
    return Agent(ScriptedModel("\x1b]0;owned\x07\x1b[2Jhidden"))


async def words(request: ModelRequest) -> Events[ModelResponse]:
    """Begins to answer and never comes to an end, unless it is asked to be quick."""
    if request.messages[-1].text == "quick":
        yield End(ModelResponse(Message("assistant", f"There are {len(request.messages)} messages.")))
        return
    yield TextDelta("begun")
    await asyncio.Event().wait()


class Tidy(Middleware):
    """Says that it was left in an orderly manner."""

    async def turn(self, ctx: TurnContext, next: Next[None]) -> None:
        try:
            await next()
        finally:
            tell("[tidied up]")


def endless() -> Agent:
    return Agent(FunctionModel(words)).use(Tidy())


def stubborn() -> Agent:
    """Does not let itself be cancelled."""

    async def shielded(ctx: TurnContext, next: Next[None]) -> None:
        try:
            await next()
        finally:
            tell("[not yet]")
            while True:
                try:
                    await asyncio.Event().wait()
                except asyncio.CancelledError:
                    continue

    return Agent(FunctionModel(words)).use(shielded)


def deferring() -> Agent:
    """Goes on working after each answer."""

    async def later(ctx: TurnContext, next: Next[None]) -> None:
        async def work() -> None:
            tell("[done afterwards]")

        await next()
        ctx.defer(work)

    return Agent(ScriptedModel("That was quick.")).use(later)


def failing(error: Exception) -> Agent:
    return Agent(FunctionModel(lambda request: error))


def refused() -> Agent:
    return failing(AuthenticationError("scripted: the key was refused; set another one", status=401))


def no_such_model() -> Agent:
    return failing(BadRequestError("scripted: there is no such model", status=404))


def too_fast() -> Agent:
    return failing(RateLimitError("scripted: too many requests", retry_after=7))


def buggy() -> Agent:
    async def guard(ctx: TurnContext, next: Next[None]) -> None:
        raise KeyError("colour")

    return Agent(ScriptedModel("never said")).use(guard)


def aborting() -> Agent:
    async def guard(ctx: TurnContext, next: Next[None]) -> None:
        await next()
        ctx.abort("nobody may know that")

    return Agent(ScriptedModel("The secret is 42.")).use(guard)


def steps() -> Agent:
    return Agent(FunctionModel(lambda request: [call("add", a=1, b=1)]), tools=[add])


def a_failing_init() -> Agent:
    class Database(Middleware):
        async def init(self, ctx: object) -> None:
            raise ConnectionError("no database at port 1")

    return Agent(ScriptedModel("never said")).use(Database())


async def awaited() -> Agent:
    return hello()


def nothing() -> None:
    return None


def app() -> App:
    sales = Agent(
        FunctionModel(lambda request: f"I was told: {request.system_text}"), name="sales", instructions="Sell."
    )
    support = Agent(FunctionModel(lambda request: "I am the support."), name="support")
    return App().mount(support).mount(sales)


router = FunctionModel(lambda request: f"The router says {request.messages[-1].text}.")


def broken_router() -> FunctionModel:
    raise LookupError("no route")


def make_router() -> FunctionModel:
    return router


def unsupported_annotation() -> Agent:
    @tool
    def draw(canvas: asyncio.Event) -> str:
        """Draw."""
        return str(canvas)

    return Agent(ScriptedModel(), tools=[draw])


def wrong_kind_of_hook() -> Agent:
    class Audit(Middleware):
        def tool(self, ctx: object, next: Next[ToolResult]) -> None:  # type: ignore[override]
            return None

    return Agent(ScriptedModel()).use(Audit())


def name_clash() -> Agent:
    return Agent(ScriptedModel()).use(Retry(), Retry())


def tool_clash() -> Agent:
    return Agent(ScriptedModel(), tools=[add]).use(Adding())


class Adding(Middleware):
    tools = (add,)


def leaving() -> Agent:
    """Asks Python to exit, in the middle of a turn."""

    async def leave(ctx: TurnContext, next: Next[None]) -> None:
        await asyncio.sleep(0)
        sys.exit(3)

    return Agent(ScriptedModel("never said")).use(leave)


def cancelled_within() -> Agent:
    async def cancel(ctx: TurnContext, next: Next[None]) -> None:
        raise asyncio.CancelledError

    return Agent(ScriptedModel("never said")).use(cancel)


def group() -> Agent:
    async def gather(ctx: TurnContext, next: Next[None]) -> None:
        raise ExceptionGroup("two failures", [ValueError("the first"), KeyError("the second")])

    return Agent(ScriptedModel("never said")).use(gather)
