"""Tools: from a typed function to a schema, a call and a result."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import threading
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

import agent_express
from agent_express import (
    Agent,
    AgentContext,
    Answer,
    End,
    Event,
    Middleware,
    ModelContext,
    ModelResponse,
    Next,
    SessionContext,
    Tool,
    ToolContext,
    ToolResult,
    named,
    tool,
)
from agent_express.errors import UseError
from agent_express.events import Failed, ToolCalled, ToolProgressed, ToolReturned
from agent_express.messages import Image, Json, Text
from agent_express.testing import ScriptedModel, assert_events, call, like, no_leaks
from agent_express.typing import CancelToken


@dataclass
class Point:
    x: int


class Address(BaseModel):
    street: str
    zip: int = 0


@tool
async def weather(city: str, unit: Literal["C", "F"] = "C", days: Annotated[int, Field(ge=1, le=7)] = 1) -> str:
    """Say what the weather will be.

    Takes cities only.

    Args:
        city: The city's name,
            in English.
        unit: Of the temperature.

    Returns:
        One line per day.
    """
    return f"12 °{unit} in {city} for {days}"


async def returned(tool_: Tool, /, **args: Any) -> ToolReturned:
    """What came back when the model called *tool_* with *args*."""
    answer = await Agent(ScriptedModel([call(tool_.name, **args)], "done"), tools=[tool_]).run("hi")
    [event] = [event for event in answer.events if isinstance(event, ToolReturned)]
    return event


async def result_of(tool_: Tool, /, **args: Any) -> ToolResult:
    return (await returned(tool_, **args)).result


# --- schema and description ---------------------------------------------------------------------


def test_the_schema_comes_from_the_signature_and_the_texts_from_the_docstring() -> None:
    assert weather.name == "weather"
    assert weather.description == "Say what the weather will be.\n\nTakes cities only."
    assert weather.definition.parameters == {
        "type": "object",
        "properties": {
            "city": {"type": "string", "description": "The city's name, in English."},
            "unit": {"type": "string", "enum": ["C", "F"], "default": "C", "description": "Of the temperature."},
            "days": {"type": "integer", "minimum": 1, "maximum": 7, "default": 1},
        },
        "required": ["city"],
        "additionalProperties": False,
    }


def test_name_and_description_can_be_given() -> None:
    @tool(name="forecast", description="Look ahead.")
    def weather_of(city: str) -> str:
        """Not this."""
        return city

    assert (weather_of.name, weather_of.description) == ("forecast", "Look ahead.")


def test_what_is_handed_in_is_no_argument_of_the_model() -> None:
    @tool
    def look(ctx: ToolContext, token: CancelToken, query: str) -> str:
        """Look."""
        return query

    assert list(look.definition.parameters["properties"]) == ["query"]


def test_a_tool_can_be_called_as_the_function_it_is() -> None:
    @tool
    def add(a: int, b: int = 1) -> int:
        """Add."""
        return a + b

    assert add(2, b=3) == 5


async def test_a_pydantic_model_as_parameter_arrives_as_that_model() -> None:
    @tool
    async def deliver(to: Address, notes: list[Address] | None = None) -> str:
        """Deliver."""
        assert isinstance(to, Address)
        return f"{to.street} {to.zip} {notes}"

    assert (await result_of(deliver, to={"street": "Main", "zip": 7})).text == "Main 7 None"


class Socket:
    pass


def has_no_schema(at: Socket) -> None:
    raise AssertionError


def has_a_callback(then: Callable[[int], int]) -> None:
    raise AssertionError


def takes_anything(*values: int) -> None:
    raise AssertionError


def takes_names(**values: int) -> None:
    raise AssertionError


def takes_by_place(value: int, /) -> None:
    raise AssertionError


def unresolved(value: NoSuchType) -> None:  # type: ignore[name-defined]  # noqa: F821
    raise AssertionError


NAMELESS = "cannot be described to a model: give each argument a name of its own"


@pytest.mark.parametrize(
    ("fn", "message"),
    [
        (
            has_no_schema,
            (
                "tool 'has_no_schema': parameter 'at' is annotated Socket, which has no JSON schema: "
                "take a str, a number, a list, a dict or a pydantic model"
            ),
        ),
        (
            has_a_callback,
            (
                "tool 'has_a_callback': parameter 'then' is annotated Callable, which has no JSON schema: "
                "take a str, a number, a list, a dict or a pydantic model"
            ),
        ),
        (takes_anything, f"tool 'takes_anything': parameter *values: 'int' {NAMELESS}"),
        (takes_names, f"tool 'takes_names': parameter **values: 'int' {NAMELESS}"),
        (takes_by_place, f"tool 'takes_by_place': parameter value: 'int' {NAMELESS}"),
        (
            unresolved,
            (
                "tool 'unresolved': an annotation cannot be resolved: name 'NoSuchType' is not defined; "
                "import it at module level"
            ),
        ),
    ],
)
def test_a_parameter_that_no_schema_can_describe_is_refused_with_what_to_take(fn: Any, message: str) -> None:
    with pytest.raises(UseError) as caught:
        tool(fn)
    assert str(caught.value) == message


def test_a_time_limit_must_be_positive() -> None:
    with pytest.raises(UseError, match="tool 'slow': timeout must be more than 0 seconds, got 0"):
        tool(name="slow", timeout=0)(lambda: "")


# --- arguments ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "complaint"),
    [
        ({}, "city: Field required"),
        ({"city": "Oslo", "days": 9}, "days: Input should be less than or equal to 7"),
        ({"city": "Oslo", "unit": "K"}, "unit: Input should be 'C' or 'F'"),
        ({"city": "Oslo", "country": "NO"}, "country: Unexpected keyword argument"),
    ],
)
async def test_arguments_that_do_not_validate_become_an_error_result_that_names_the_field(
    args: dict[str, Any], complaint: str
) -> None:
    event = await returned(weather, **args)
    assert (event.how, event.result.is_error) == ("invalid", True)
    assert event.result.text == f"arguments of 'weather' do not fit: {complaint}"


async def test_the_function_gets_coerced_values_and_hooks_get_json() -> None:
    seen: list[Any] = []

    @tool
    async def mark(points: list[Point], at: bytes = b"") -> str:
        """Mark."""
        seen.append(points)
        return "marked"

    async def look(ctx: ToolContext, next: Next[ToolResult]) -> ToolResult:
        seen.append(dict(ctx.args))
        return await next()

    model = ScriptedModel([call("mark", points=[{"x": "1"}])], "done")
    answer = await Agent(model, tools=[mark]).use(look).run("hi")
    assert seen == [{"points": [{"x": 1}], "at": ""}, [Point(1)]]
    assert_events(answer.events, like(ToolCalled, args={"points": [{"x": 1}], "at": ""}))


async def test_a_default_that_can_be_changed_is_a_new_one_for_each_call() -> None:
    @tool
    async def collect(items: list[str] = []) -> int:
        """Collect."""
        items.append("x")
        return len(items)

    assert [(await result_of(collect)).text for _ in range(2)] == ["1", "1"]


# --- injection ----------------------------------------------------------------------------------


async def test_a_parameter_annotated_tool_context_gets_the_context_of_the_call() -> None:
    @tool
    async def whoami(ctx: ToolContext) -> str:
        """Say who asks."""
        return f"{ctx.user_id} by {ctx.call_id} of {ctx.call.name}"

    agent = Agent(ScriptedModel([call("whoami")], "done"), tools=[whoami])
    async with agent, agent.session(user_id="ann") as session:
        await session.run("hi")
        [result] = [part for part in session.history[2].parts if isinstance(part, ToolResult)]
    assert result.text == "ann by call-1 of whoami"


def test_touches_state_is_true_for_a_tool_that_takes_the_context_unless_set() -> None:
    async def plain() -> None: ...
    async def with_context(ctx: ToolContext) -> None: ...

    assert not tool(plain).flags.touches_state
    assert tool(with_context).flags.touches_state
    assert not tool(touches_state=False)(with_context).flags.touches_state
    assert tool(touches_state=True)(plain).flags.touches_state


def test_a_tool_asks_for_a_tool_context_and_no_other() -> None:
    async def reads_request(ctx: ModelContext) -> str:
        raise AssertionError

    with pytest.raises(UseError, match="ModelContext"):
        tool(reads_request)


# --- methods ------------------------------------------------------------------------------------


class Shelf(Middleware):
    """A middleware whose methods are tools, beside a `tool` hook of its own."""

    def __init__(self, *books: str) -> None:
        self.books = list(books)

    async def tool(self, ctx: ToolContext, next: Next[ToolResult]) -> ToolResult:
        return await next()

    @agent_express.tool
    async def lend(self, title: str) -> str:
        """Lend a book."""
        self.books.remove(title)
        return f"{len(self.books)} left"


async def test_a_method_is_bound_to_its_middleware_and_is_one_of_its_tools() -> None:
    shelf = Shelf("Emma", "Dune")
    model = ScriptedModel([call("lend", title="Dune")], "done")
    answer = await Agent(model).use(shelf).run("hi")
    assert shelf.books == ["Emma"]
    assert_events(answer.events, like(ToolReturned, how="ran"))
    assert list(model.requests[0].tools[0].parameters["properties"]) == ["title"]


async def test_methods_of_two_instances_are_told_apart_by_their_agents() -> None:
    shelves = [Shelf("Emma"), Shelf("Dune", "Ulysses")]
    for shelf in shelves:
        await Agent(ScriptedModel([call("lend", title=shelf.books[0])], "done")).use(shelf).run("hi")
    assert [shelf.books for shelf in shelves] == [[], ["Ulysses"]]


@pytest.mark.parametrize("derived", [False, True], ids=["in its own class", "in a base class"])
async def test_a_method_that_stands_in_tools_as_well_is_bound_and_offered_once(derived: bool) -> None:
    class Library(Middleware):
        @tool
        async def find(self, title: str) -> str:
            """Find a book."""
            return f"{title} is in {type(self).__name__}"

        tools = (find,)

    class Branch(Library):
        pass

    model = ScriptedModel([call("find", title="Emma")], "done")
    answer = await Agent(model).use(Branch() if derived else Library()).run("hi")
    assert [each.name for each in model.requests[0].tools] == ["find"]
    [event] = assert_events(answer.events, ToolReturned)
    assert isinstance(event, ToolReturned)
    assert event.result.text.startswith("Emma is in ")


# --- results ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "parts"),
    [
        ("text", (Text("text"),)),
        (3, (Json(3),)),
        (None, (Json(None),)),
        ({"a": [1, 2.5, True]}, (Json({"a": [1, 2.5, True]}),)),
        (Address(street="Main"), (Json({"street": "Main", "zip": 0}),)),
        (Point(1), (Json({"x": 1}),)),
        ([Address(street="Main")], (Json([{"street": "Main", "zip": 0}]),)),
        (Image(url="https://x/y.png"), (Image(url="https://x/y.png"),)),
        ([Text("see"), Image(data=b"png")], (Text("see"), Image(data=b"png"))),
        ([], (Json([]),)),
        (ToolResult("no", is_error=True), (Text("no"),)),
    ],
    ids=repr,
)
async def test_a_result_is_text_json_a_model_parts_or_a_tool_result(value: Any, parts: tuple[Any, ...]) -> None:
    @tool
    async def give() -> Any:
        """Give."""
        return value

    result = await result_of(give)
    assert result.parts == parts
    assert result.is_error == (isinstance(value, ToolResult) and value.is_error)


@pytest.mark.parametrize(
    ("value", "complaint"),
    [
        (object(), "give returned a object that JSON cannot hold"),
        (float("nan"), "give returned a float that JSON cannot hold"),
        ({"deep": [float("inf")]}, "give returned a dict that JSON cannot hold"),
        ("a\x00b", "give returned text that no store takes: a NUL character or a lone surrogate; remove it"),
        ({"a": "\x00"}, "give returned .* NUL character"),
        ("\ud800", "give returned text that no store takes"),
        (ToolResult("a\x00b"), "give returned text that no store takes"),
        (Json(object()), "give returned a object that JSON cannot hold"),
        (Json({1, 2}), "give returned Json.* which is not made of JSON values"),
    ],
    ids=[
        "object",
        "nan",
        "inf inside",
        "nul",
        "nul inside",
        "surrogate",
        "tool result",
        "json part",
        "set in a json part",
    ],
)
async def test_a_result_that_json_cannot_hold_is_a_clear_error_result(value: Any, complaint: str) -> None:
    @tool
    async def give() -> Any:
        """Give."""
        return value

    event = await returned(give)
    assert (event.how, event.result.is_error) == ("failed", True)
    with pytest.raises(AssertionError, match=f"TypeError: {complaint}"):
        raise AssertionError(event.result.text)


async def test_a_generator_streams_its_progress_and_ends_with_its_result() -> None:
    @tool
    async def download(url: str) -> AsyncIterator[Any]:
        """Download."""
        yield {"percent": 50}
        yield "almost"
        yield End(f"got {url}")

    agent = Agent(ScriptedModel([call("download", url="x")], "done"), tools=[download])
    async with agent, agent.session() as session, session.stream("hi") as stream:
        events = [event async for event in stream]
        assert not session.log.of(ToolProgressed)
    assert_events(
        events,
        ToolProgressed("call-1", "download", {"percent": 50}),
        ToolProgressed("call-1", "download", "almost"),
        like(ToolReturned, result=ToolResult("got x", call_id="call-1", name="download")),
    )


async def test_a_generator_without_end_is_an_error_result_that_says_how_to_finish() -> None:
    @tool
    async def download() -> AsyncIterator[str]:
        """Download."""
        yield "almost"

    result = await result_of(download)
    assert result.text == ("TypeError: download yields progress but no End: finish it with `yield End(result)`")


async def test_a_generator_is_closed_when_its_turn_ends_before_it() -> None:
    closed: list[str] = []

    @tool
    async def endless() -> AsyncIterator[int]:
        """Count."""
        try:
            for number in range(1_000_000):
                yield number
        finally:
            closed.append("endless")

    async with no_leaks():
        agent = Agent(ScriptedModel([call("endless")]), tools=[endless])
        async with agent, agent.session() as session, session.stream("hi") as stream:
            async for event in stream:
                if isinstance(event, ToolProgressed):
                    break
    assert closed == ["endless"]


# --- synchronous tools --------------------------------------------------------------------------


async def test_a_synchronous_tool_runs_in_a_thread_and_the_loop_goes_on() -> None:
    release = threading.Event()

    @tool
    def blocks() -> bool:
        """Block."""
        return release.wait(60)

    @tool
    async def releases() -> str:
        """Release."""
        release.set()
        return "released"

    model = ScriptedModel([call("blocks"), call("releases")], "done")
    answer = await Agent(model, tools=[blocks, releases]).run("hi")
    assert [event.result.text for event in _returned(answer)] == ["released", "true"]


def _returned(answer: Answer[Any]) -> list[ToolReturned]:
    return [event for event in answer.events if isinstance(event, ToolReturned)]


async def test_a_synchronous_tool_sees_the_context_variables_of_its_caller() -> None:
    tenant: contextvars.ContextVar[str] = contextvars.ContextVar("tenant")
    tenant.set("acme")

    @tool
    def whose() -> str:
        """Say whose."""
        return tenant.get()

    assert (await result_of(whose)).text == "acme"


async def test_a_synchronous_tool_may_emit() -> None:
    class Moved(Event, type="tools-test:moved"):
        pass

    class Declares:
        events = (Moved,)

    @tool
    def move(ctx: ToolContext) -> str:
        """Move."""
        ctx.emit(Moved())  # type: ignore[unused-awaitable]
        return "moved"

    agent = Agent(ScriptedModel([call("move")], "done"), tools=[move]).use(Declares())
    async with agent, agent.session() as session, session.stream("hi") as stream:
        items = [item async for item in stream]
    gc.collect()
    assert_events(stream.answer.events, Moved())
    assert_events(items, Moved())


async def test_the_time_limit_of_a_synchronous_tool_is_enforced_and_its_token_told() -> None:
    told = threading.Event()

    @tool(timeout=0.01)
    def blocks(token: CancelToken) -> str:
        """Block."""
        if token.wait(60) and token.is_cancelled:
            told.set()
        return "late"

    event = await returned(blocks)
    assert event.result.text == "TimeoutError: blocks took longer than 0.01 seconds"
    assert await asyncio.to_thread(told.wait, 60)


async def test_a_synchronous_tool_that_cannot_be_stopped_is_reported_and_its_turn_ends_at_once() -> None:
    started, release = asyncio.Event(), threading.Event()
    loop = asyncio.get_running_loop()

    @tool
    def stubborn() -> str:
        """Block."""
        loop.call_soon_threadsafe(started.set)
        release.wait(60)
        return "late"

    async with Agent(ScriptedModel([call("stubborn")]), tools=[stubborn]) as agent, agent.session() as session:
        turn = asyncio.create_task(session.run("hi"))
        await started.wait()
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn
        assert_events(session.log, Failed("tool stubborn", "cancelled; its thread may still be running"))
    release.set()


async def test_the_time_limit_of_an_asynchronous_tool_is_enforced() -> None:
    @tool(timeout=0.01)
    async def waits() -> str:
        """Wait."""
        await asyncio.Event().wait()
        return "late"

    event = await returned(waits)
    assert (event.how, event.result.text) == ("failed", "TimeoutError: waits took longer than 0.01 seconds")


async def test_a_tools_own_cancelled_error_is_a_tool_failure() -> None:
    @tool
    async def gives_up() -> str:
        """Give up."""
        raise asyncio.CancelledError("lost the connection")

    event = await returned(gives_up)
    assert (event.how, event.result.text) == ("failed", "CancelledError: lost the connection")


# --- flags --------------------------------------------------------------------------------------


def test_read_only_implies_idempotent() -> None:
    flags = tool(name="look", read_only=True)(lambda: "").flags
    assert (flags.read_only, flags.idempotent) == (True, True)


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        (
            {"requires_approval": True},
            "tool 'pay' needs approval, and this version has nobody to ask: it was not run",
        ),
        (
            {"requires_approval": lambda args: args["amount"] > 10},
            "tool 'pay' needs approval, and this version has nobody to ask: it was not run",
        ),
        (
            {"external": True},
            "tool 'pay' is executed elsewhere, and this version cannot wait for it",
        ),
    ],
    ids=["approval", "predicate", "external"],
)
async def test_a_tool_that_waits_for_somebody_is_answered_with_an_error_result_that_says_so(
    flags: dict[str, Any], complaint: str
) -> None:
    @tool(**flags)
    async def pay(amount: int) -> str:
        """Pay."""
        raise AssertionError("it ran")

    event = await returned(pay, amount=20)
    assert (event.how, event.result.is_error, event.result.text) == ("refused", True, complaint)


async def test_a_predicate_that_sees_no_need_for_approval_lets_the_tool_run() -> None:
    seen: list[Mapping[str, Any]] = []

    def above_ten(args: Mapping[str, Any]) -> bool:
        seen.append(dict(args))
        return bool(args["amount"] > 10)

    @tool(requires_approval=above_ten)
    async def pay(amount: int, currency: str = "EUR") -> str:
        """Pay."""
        return "paid"

    assert (await result_of(pay, amount=5)).text == "paid"
    assert seen == [{"amount": 5, "currency": "EUR"}]


async def test_a_predicate_that_fails_lets_nothing_run() -> None:
    def broken(args: Mapping[str, Any]) -> bool:
        raise LookupError("no policy")

    @tool(requires_approval=broken)
    async def pay() -> str:
        """Pay."""
        raise AssertionError("it ran")

    event = await returned(pay)
    assert (event.how, event.result.is_error) == ("refused", True)
    assert "whether it needs approval cannot be told: LookupError('no policy')" in event.result.text


async def test_approval_is_asked_of_the_arguments_as_the_hooks_left_them() -> None:
    @tool(requires_approval=lambda args: args["amount"] > 10)
    async def pay(amount: int) -> str:
        """Pay."""
        return f"paid {amount}"

    async def raises_amount(ctx: ToolContext, next: Next[ToolResult]) -> ToolResult:
        ctx.modify_args({"amount": 100})
        return await next()

    answer = await Agent(ScriptedModel([call("pay", amount=5)], "done"), tools=[pay]).use(raises_amount).run("hi")
    assert_events(answer.events, like(ToolReturned, how="refused"))


async def test_a_tool_whose_scopes_the_session_does_not_hold_is_refused_by_name() -> None:
    @tool(scopes=["mail.send", "mail.read"])
    async def send() -> str:
        """Send."""
        return "sent"

    async def login(ctx: SessionContext, next: Next[None]) -> None:
        ctx.identify("ann", ctx.metadata["scopes"])
        await next()

    model = ScriptedModel([call("send")], "no", [call("send")], "yes")
    async with Agent(model, tools=[send]).use(login) as agent:
        texts: list[str] = []
        for scopes in (["mail.read"], ["mail.read", "mail.send"]):
            async with agent.session(metadata={"scopes": scopes}) as session:
                texts += [event.result.text for event in _returned(await session.run("hi"))]
    assert texts == ["tool 'send' needs mail.send, which this session does not hold", "sent"]


# --- use=[...]: hooks around one tool -----------------------------------------------------------


class Note(Middleware):
    """Notes every call, and its own opening and closing."""

    def __init__(self, name: str, seen: list[str]) -> None:
        self.name, self.seen = name, seen

    async def init(self, ctx: AgentContext) -> None:
        self.seen.append(f"{self.name} opens")

    async def dispose(self) -> None:
        self.seen.append(f"{self.name} closes")

    async def tool(self, ctx: ToolContext, next: Next[ToolResult]) -> ToolResult:
        self.seen.append(f"{self.name} sees {ctx.call.name}")
        return await next()


def noted(*hooks: Any, name: str = "noted") -> Tool:
    async def body() -> str:
        return "ok"

    return tool(name=name, description="Note.", use=hooks)(body)


async def test_hooks_of_a_tool_stand_inside_the_agents_and_see_this_tool_only() -> None:
    seen: list[str] = []
    model = ScriptedModel([call("noted")], [call("plain")], "done")
    tools = [noted(Note("inner", seen)), noted(name="plain")]
    await Agent(model, tools=tools).use(Note("outer", seen)).run("hi")
    assert seen == [
        "outer opens",
        "inner opens",
        "outer sees noted",
        "inner sees noted",
        "outer sees plain",
        "inner closes",
        "outer closes",
    ]


async def test_hooks_of_a_tool_that_is_registered_in_init_are_opened_and_closed_too() -> None:
    seen: list[str] = []

    class Brings:
        async def init(self, ctx: AgentContext) -> None:
            ctx.register_tool(noted(Note("late", seen)))

    await Agent(ScriptedModel([call("noted")], "done")).use(Brings()).run("hi")
    assert seen == ["late opens", "late sees noted", "late closes"]


async def test_a_tool_of_one_session_takes_plain_tool_hooks_and_says_where_others_go() -> None:
    seen: list[str] = []

    async def look(ctx: ToolContext, next: Next[ToolResult]) -> ToolResult:
        seen.append(ctx.call.name)
        return await next()

    async def brings(ctx: SessionContext, next: Next[None]) -> None:
        ctx.register_tool(noted(look))
        with pytest.raises(UseError, match="has init, dispose or state: register the tool in init"):
            ctx.register_tool(noted(Note("late", seen), name="other"))
        await next()

    await Agent(ScriptedModel([call("noted")], "done")).use(brings).run("hi")
    assert seen == ["noted"]


class Calls(BaseModel):
    n: int = 0


class CallCap(Middleware):
    """Refuse a tool after *limit* calls."""

    state = Calls

    def __init__(self, limit: int) -> None:
        self.limit = limit

    async def tool(self, ctx: ToolContext, next: Next[ToolResult]) -> ToolResult:
        if ctx.state[self].n >= self.limit:
            return ctx.deny("too many calls")
        ctx.state[self].n += 1
        return await next()


async def test_hooks_of_a_tool_have_state() -> None:
    model = ScriptedModel([call("noted")], [call("noted")], "done")
    answer = await Agent(model, tools=[noted(CallCap(1))]).run("hi")
    assert [event.how for event in _returned(answer)] == ["ran", "denied"]


async def test_hooks_of_two_tools_keep_their_state_apart() -> None:
    model = ScriptedModel([call("one")], [call("two")], "done")
    tools = [noted(CallCap(1), name="one"), noted(CallCap(1), name="two")]
    answer = await Agent(model, tools=tools).run("hi")
    assert [event.how for event in _returned(answer)] == ["ran", "ran"]


async def test_a_hook_of_a_tool_and_one_of_the_agent_keep_their_state_apart() -> None:
    model = ScriptedModel([call("noted")], "done")
    answer = await Agent(model, tools=[noted(CallCap(1))]).use(CallCap(1)).run("hi")
    assert [event.how for event in _returned(answer)] == ["ran"]


async def test_only_tool_hooks_can_stand_around_one_tool() -> None:
    async def on_model(ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        return await next()

    with pytest.raises(UseError, match=r"tool 'noted', use=.* takes no 'model' hook, and .*on_model has one"):
        async with Agent(ScriptedModel(), tools=[noted(on_model)]):
            raise AssertionError


def test_a_tool_can_be_used_under_another_layer_name() -> None:
    agent = Agent(ScriptedModel()).use(named("search", noted()))
    assert agent.explain() == "tools\n  noted  (search)"
