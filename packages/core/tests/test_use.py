"""What `use()` takes, what it refuses, and what it says then.

No `from __future__ import annotations` here: hooks are read with their annotations as objects and as text.
"""

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from pydantic import BaseModel

import agent_express
from agent_express import (
    Agent,
    End,
    Event,
    Events,
    Middleware,
    ModelContext,
    ModelRequest,
    ModelResponse,
    Next,
    Order,
    SessionContext,
    Tool,
    ToolContext,
    ToolResult,
    TurnContext,
    named,
    tool,
)
from agent_express.errors import OrderError, StateError, UseError
from agent_express.events import Answered, TurnStarted
from agent_express.testing import ScriptedModel, assert_events, call, like

Passing = Next[ModelResponse]


class Count(BaseModel):
    n: int = 0


class Blank(BaseModel):
    n: int


class Noted(Event, type="use:noted"):
    text: str = ""


class NotedToo(Event, type="use:noted"):
    text: str = ""


class Tracer:
    """A model hook without the base class that notes its name."""

    def __init__(self, name: str, seen: list[str]) -> None:
        self.name, self.seen = name, seen

    async def model(self, ctx: ModelContext, next: Passing) -> ModelResponse:
        self.seen.append(self.name)
        return await next()


class CostCap(Middleware):
    async def model(self, ctx: ModelContext, next: Passing) -> ModelResponse:
        return await next()


@tool
def search(query: str) -> str:
    """Search the web."""
    return f"found {query}"


def refusal(*things: Any) -> str:
    """What `use()` says against *things*."""
    with pytest.raises(UseError) as caught:
        Agent(ScriptedModel()).use(*things)
    return str(caught.value)


def stack(agent: Agent) -> list[str]:
    """The names in use, outermost first."""
    return [line.split()[0] for line in agent.explain().splitlines() if line.startswith(" ")]


# --- what it takes ------------------------------------------------------------------------------


async def test_things_in_any_nesting_of_lists_stand_outermost_first() -> None:
    seen: list[str] = []
    a, b, c, d = (Tracer(name, seen) for name in "abcd")
    agent = Agent(ScriptedModel("ok")).use(a, [b, (c,)]).use([[d]])
    await agent.run("hi")
    assert seen == ["a", "b", "c", "d"]


def test_use_returns_the_agent() -> None:
    agent = Agent(ScriptedModel())
    assert agent.use(CostCap()) is agent


async def test_an_object_with_a_hook_is_a_middleware_without_the_base_class() -> None:
    seen: list[str] = []
    assert (await Agent(ScriptedModel("ok")).use(Tracer("plain", seen)).run("hi")).text == "ok"
    assert seen == ["plain"]


@pytest.mark.parametrize("offer", [{"tools": (search,)}, {"state": Count}, {"events": (Noted,)}, {"store": object()}])
def test_an_object_that_only_offers_something_is_a_middleware_too(offer: dict[str, Any]) -> None:
    thing = type("Offer", (), offer)()
    agent = Agent(ScriptedModel()).use(thing)
    with pytest.raises(UseError, match="this object is in use already"):
        agent.use(thing)


@pytest.mark.parametrize(("kind", "name"), [("CostCap", "cost-cap"), ("HTTPCache", "http-cache"), ("Retry", "retry")])
def test_a_name_left_out_is_the_class_name_in_kebab_case(kind: str, name: str) -> None:
    agent = Agent(ScriptedModel()).use(type(kind, (CostCap,), {})())
    assert stack(agent) == [name]


def test_an_attribute_name_or_the_name_of_a_function_is_the_name() -> None:
    async def guard(ctx: ModelContext, next: Passing) -> ModelResponse:
        return await next()

    agent = Agent(ScriptedModel()).use(Tracer("mine", []), guard)
    assert stack(agent) == ["mine", "guard"]


def test_a_bound_method_is_a_one_hook_middleware() -> None:
    class Guards:
        async def limit(self, ctx: ModelContext, next: Passing) -> ModelResponse:
            return await next()

    assert stack(Agent(ScriptedModel()).use(Guards().limit)) == ["limit"]


async def test_static_and_class_methods_are_hooks_too() -> None:
    seen: list[str] = []

    class Static:
        @staticmethod
        async def model(ctx: ModelContext, next: Passing) -> ModelResponse:
            seen.append("static")
            return await next()

        @classmethod
        async def turn(cls, ctx: TurnContext, next: Next[None]) -> None:
            seen.append(cls.__name__)
            await next()

    await Agent(ScriptedModel("ok")).use(Static()).run("hi")
    assert seen == ["Static", "static"]


async def test_two_instances_of_one_class_run_under_the_names_given_to_them() -> None:
    def bundle() -> list[Any]:
        return [named("per-user", CostCap()), [named("per-tenant", CostCap())]]

    answer = await Agent(ScriptedModel("ok")).use(CostCap(), bundle()).run("hi")
    assert_events(answer.events, like(TurnStarted, stack=("cost-cap", "per-user", "per-tenant")))


def test_named_is_kept_by_the_agent_and_not_written_on_the_object() -> None:
    cap = CostCap()
    one = Agent(ScriptedModel()).use(named("per-user", cap))
    other = Agent(ScriptedModel()).use(cap)
    assert (stack(one), stack(other)) == (["per-user"], ["cost-cap"])
    assert not hasattr(cap, "name")


# --- functions: their level is the annotation of the first parameter ----------------------------


async def sees_session(ctx: SessionContext, next: Next[None]) -> None:
    await next()


async def sees_turn(ctx: TurnContext, next: Next[None]) -> None:
    await next()


async def sees_model(ctx: ModelContext, next: Passing) -> ModelResponse:
    return await next()


async def sees_tool(ctx: ToolContext, next: Next[ToolResult]) -> ToolResult:
    return await next()


async def streams_model(ctx: ModelContext, next: Passing) -> Events[ModelResponse]:
    async for event in next():
        yield event


async def quoted(ctx: "ModelContext", next: Passing) -> ModelResponse:
    return await next()


async def quoted_in_full(ctx: "agent_express.ToolContext", next: Next[ToolResult]) -> ToolResult:
    return await next()


async def bare(ctx, next):  # type: ignore[no-untyped-def]
    await next()


@pytest.mark.parametrize(
    ("hook", "level"),
    [
        (sees_session, "session"),
        (sees_turn, "turn"),
        (sees_model, "model"),
        (sees_tool, "tool"),
        (streams_model, "model"),
        (quoted, "model"),
        (quoted_in_full, "tool"),
        (bare, "turn"),
    ],
)
def test_the_level_of_a_function_is_the_annotation_of_its_first_parameter_and_none_means_turn(
    hook: Callable[..., Any], level: str
) -> None:
    assert Agent(ScriptedModel()).use(hook).explain().splitlines()[0] == level


async def misread(ctx: ModelRequest, next: Passing) -> ModelResponse:
    raise AssertionError


async def maybe(ctx: ModelContext | None, next: Passing) -> ModelResponse:
    raise AssertionError


@pytest.mark.parametrize(("hook", "shown"), [(misread, "ModelRequest"), (maybe, "ModelContext | None")])
def test_an_annotation_that_is_no_context_is_refused(hook: Any, shown: str) -> None:
    said = refusal(hook)
    assert said.startswith(f"use(): {hook.__name__}")
    assert shown in said
    assert "ToolContext" in said


async def test_the_level_is_read_in_a_module_with_postponed_annotations() -> None:
    source = (
        "from __future__ import annotations\n"
        "from agent_express import ToolContext\n"
        "async def guard(ctx: ToolContext, next): return ctx.skip_call('guarded')\n"
    )
    scope: dict[str, Any] = {}
    exec(source, scope)
    model = ScriptedModel([call("search", query="x")], "done")
    await Agent(model, tools=[search]).use(scope["guard"]).run("hi")
    [result] = model.requests[1].messages[-1].parts
    assert isinstance(result, ToolResult)
    assert result.text == "guarded"


# --- what it refuses, and what it says ----------------------------------------------------------


class SyncHook(Middleware):
    def model(self, ctx: ModelContext, next: Passing) -> ModelResponse:  # type: ignore[override]
        raise AssertionError


class SyncInit(Middleware):
    def init(self, ctx: Any) -> None:  # type: ignore[override]
        raise AssertionError


class TooShort(Middleware):
    async def turn(self, ctx: TurnContext) -> None:  # type: ignore[override]
        raise AssertionError


class TooLong:
    async def dispose(self, ctx: Any) -> None:
        raise AssertionError


class OnModel:
    async def on_model(self, ctx: ModelContext, next: Passing) -> ModelResponse:
        return await next()


class Modle:
    async def modle(self, ctx: ModelContext, next: Passing) -> ModelResponse:
        return await next()


class WrapToolCall:
    async def wrap_tool_call(self, ctx: ToolContext, next: Next[ToolResult]) -> ToolResult:
        return await next()


class SyncTypo:
    def trun(self, ctx: TurnContext, next: Next[None]) -> None:
        raise AssertionError


class Router(Middleware):
    def __init__(self) -> None:
        self.model = "haiku"  # type: ignore[assignment, method-assign]


class ClassRouter:
    model = "haiku"


class Nothing:
    def helper(self) -> None:
        raise AssertionError


class StreamingSession(Middleware):
    async def session(self, ctx: SessionContext, next: Next[None]) -> AsyncIterator[Event]:  # type: ignore[override]
        yield Noted()


class StreamingInit(Middleware):
    async def init(self, ctx: Any) -> AsyncIterator[Event]:  # type: ignore[override]
        yield Noted()


class ToolNamedLikeAHook:
    @tool
    async def model(self) -> str:
        return ""


class DictState:
    state = {"n": 0}


class NeedyState:
    state = Blank


class LooseTools:
    tools = (len,)


class OneTool:
    tools = search


class CountedTools:
    tools = 3


class EventInstances:
    events = (Noted(),)


class OneEvent:
    events = Noted


class ListOrder:
    order = ["outside memory"]
    tools = (search,)


class NumberName:
    name = 7
    tools = (search,)


def sync_function(ctx: TurnContext, next: Next[None]) -> None:
    raise AssertionError


async def one_parameter(ctx: TurnContext) -> None:
    raise AssertionError


async def streaming_session(ctx: SessionContext, next: Next[None]) -> AsyncIterator[Event]:
    yield Noted()


HOOKS = "init, dispose, session, turn, model, tool"
REFUSED: list[tuple[Any, str]] = [
    (SyncHook(), "use(): sync-hook.model is not async: write `async def model(self, ctx, next)`"),
    (SyncInit(), "use(): sync-init.init is not async: write `async def init(self, ctx)`"),
    (
        sync_function,
        "use(): sync_function is not async: a hook is written `async def sync_function(ctx, next)`; a tool has @tool",
    ),
    (OnModel(), f"use(): on-model.on_model is no hook; was 'model' meant? (hooks: {HOOKS})"),
    (Modle(), f"use(): modle.modle is no hook; was 'model' meant? (hooks: {HOOKS})"),
    (WrapToolCall(), f"use(): wrap-tool-call.wrap_tool_call is no hook; was 'tool' meant? (hooks: {HOOKS})"),
    (SyncTypo(), f"use(): sync-typo.trun is no hook; was 'turn' meant? (hooks: {HOOKS})"),
    (CostCap, "use(): got the class CostCap, expected an instance: write CostCap(...)"),
    (
        Router(),
        (
            "use(): router: the attribute self.model = 'haiku' hides the hook 'model'; call it something else, such as "
            f"self.model_name (reserved: {HOOKS}, name, tools, state, events, order, store)"
        ),
    ),
    (ClassRouter(), "use(): class-router.model = 'haiku' hides the hook 'model'; call it something else"),
    (Nothing(), f"use(): nothing (Nothing) has no hook; hooks are {HOOKS}"),
    (
        StreamingSession(),
        "use(): streaming-session.session yields, and session hooks cannot stream; remove the `yield`",
    ),
    (StreamingInit(), "use(): streaming-init.init yields, and init hooks cannot stream; remove the `yield`"),
    (
        streaming_session,
        "use(): streaming_session yields, and session hooks cannot stream: `await next()` instead",
    ),
    (
        ToolNamedLikeAHook(),
        (
            "use(): tool-named-like-a-hook.model is a tool of the same name as the hook 'model'; "
            "give the method another name"
        ),
    ),
    (DictState(), "use(): dict-state: state must be a pydantic model class, got {'n': 0}"),
    (NeedyState(), "use(): needy-state: Blank.n has no default: every state field needs one"),
    (
        LooseTools(),
        "use(): loose-tools: <built-in function len> in tools is not a tool; decorate the function with @tool",
    ),
    (OneTool(), "use(): one-tool: tools must be a tuple of tools, got Tool('search')"),
    (CountedTools(), "use(): counted-tools: tools must be a tuple of tools, got 3"),
    (EventInstances(), "use(): event-instances: Noted(text='') in events is not an Event class"),
    (OneEvent(), f"use(): one-event: events must be a tuple of event classes, got {Noted!r}"),
    (ListOrder(), "use(): list-order: order must be an Order(...), got ['outside memory']"),
    (NumberName(), "use(): the name of a NumberName is 7, expected a string"),
    (42, "use(): got 42, expected a middleware, a function, a tool, or a list of these"),
    (None, "use(): got None, expected a middleware, a function, a tool, or a list of these"),
    ("retry", "use(): got 'retry', expected a middleware, a function, a tool, or a list of these"),
    (named("two", [CostCap()]), "named('two', ...) takes one middleware, not a list: name its members"),
]


@pytest.mark.parametrize(("thing", "message"), REFUSED, ids=[message.split(":")[1][:40] for _, message in REFUSED])
def test_what_is_not_right_is_refused_at_use_with_what_to_write_instead(thing: Any, message: str) -> None:
    assert refusal(thing) == message


@pytest.mark.parametrize(
    ("thing", "who", "expected"),
    [
        (TooShort(), "too-short.turn", "(self, ctx, next)"),
        (TooLong(), "too-long.dispose", "(self)"),
        (one_parameter, "one_parameter", "(ctx, next)"),
    ],
)
def test_a_wrong_signature_is_shown_with_the_right_one(thing: Any, who: str, expected: str) -> None:
    said = refusal(thing)
    assert said.startswith(f"use(): {who}(")
    assert said.endswith(f"must take {expected}")


@pytest.mark.parametrize("hiding", [search, CostCap()], ids=["a tool", "a middleware"])
def test_an_attribute_that_hides_a_hook_is_refused_whatever_it_is(hiding: Any) -> None:
    class Holder(Middleware):
        def __init__(self) -> None:
            self.tool = hiding  # type: ignore[method-assign]

        async def tool(self, ctx: ToolContext, next: Next[ToolResult]) -> ToolResult:
            raise AssertionError

    assert "hides the hook 'tool'" in refusal(Holder())


def test_a_method_that_only_sounds_like_a_hook_is_none_of_our_business() -> None:
    class Guard(CostCap):
        def models(self) -> list[str]:
            return []

        def on_tool_end(self, name: str) -> None:
            raise AssertionError

    assert stack(Agent(ScriptedModel()).use(Guard())) == ["guard"]


def test_a_name_used_twice_says_how_to_name_the_second() -> None:
    assert refusal(CostCap(), CostCap()) == (
        "use(): a middleware named 'cost-cap' is in use already; name this one: "
        'use(named("cost-cap-2", CostCap(...)))'
    )


def test_one_object_is_used_once_per_agent() -> None:
    cap = CostCap()
    assert "this object is in use already; make a second instance" in refusal(cap, named("other", cap))


def test_two_tools_of_one_name_are_refused_with_both_origins() -> None:
    class Web:
        tools = (search,)

    class Library:
        tools = (tool(name="search")(lambda: ""),)

    assert refusal(Web(), Library()) == "two tools are named 'search': one of web, one of library"
    assert refusal(search, Web()) == "two tools are named 'search': one of tool:search, one of web"


def test_two_event_classes_of_one_type_are_refused() -> None:
    class One:
        events = (Noted,)

    class Two:
        events = (NotedToo,)

    assert refusal(One(), Two()) == "two: two event classes have the type 'use:noted': Noted and NotedToo"


def test_one_event_class_may_be_declared_by_two() -> None:
    class One:
        events = (Noted,)

    class Two:
        events = (Noted,)

    assert Agent(ScriptedModel()).use(One(), Two()).explain() == "no middleware"


def test_a_refused_use_leaves_the_stack_as_it_was() -> None:
    agent = Agent(ScriptedModel()).use(named("first", CostCap()))
    with pytest.raises(UseError):
        agent.use(named("second", CostCap()), 42)  # type: ignore[arg-type]
    assert stack(agent) == ["first"]


async def test_use_after_the_agent_was_opened_is_an_error() -> None:
    agent = Agent(ScriptedModel(), name="helper")
    async with agent:
        with pytest.raises(UseError, match=r"agent 'helper' is open: use\(\) comes before `async with agent`"):
            agent.use(CostCap())


async def test_hooks_are_read_once() -> None:
    seen: list[str] = []
    tracer = Tracer("first", seen)
    agent = Agent(ScriptedModel("ok")).use(tracer)
    tracer.model = None  # type: ignore[assignment, method-assign]
    await agent.run("hi")
    assert seen == ["first"]


# --- for one turn: run(use=[...]) ---------------------------------------------------------------


async def test_use_for_one_turn_adds_hooks_innermost_and_for_that_turn_only() -> None:
    seen: list[str] = []
    agent = Agent(ScriptedModel("one", "two")).use(Tracer("agent", seen))
    async with agent, agent.session() as session:
        await session.run("hi", use=[Tracer("turn", seen)])
        await session.run("hi")
    assert seen == ["agent", "turn", "agent"]


async def test_use_for_one_turn_brings_turn_model_and_tool_hooks() -> None:
    seen: list[str] = []

    async def on_turn(ctx: TurnContext, next: Next[None]) -> None:
        seen.append("turn")
        await next()

    async def on_tool(ctx: ToolContext, next: Next[ToolResult]) -> ToolResult:
        seen.append("tool")
        return await next()

    model = ScriptedModel([call("search", query="x")], "done")
    async with Agent(model, tools=[search]) as agent, agent.session() as session:
        await session.run("hi", use=[on_turn, [on_tool, Tracer("model", seen)]])
    assert seen == ["turn", "model", "tool", "model"]


async def test_tools_events_and_state_of_one_turn_are_gone_in_the_next() -> None:
    class Extra(Middleware):
        tools, state, events = (search,), Count, (Noted,)

        async def model(self, ctx: ModelContext, next: Passing) -> ModelResponse:
            ctx.state[self].n += 1
            await ctx.emit(Noted(str(ctx.state[self].n)))
            return await next()

    model = ScriptedModel([call("search", query="x")], "one", "two")
    async with Agent(model) as agent, agent.session() as session:
        answer = await session.run("hi", use=[Extra()])
        assert_events(answer.events, Noted("1"), Noted("2"))
        await session.run("again")
        with pytest.raises(StateError, match="no state of 'extra'"):
            session.state["extra"]
    assert [bool(request.tools) for request in model.requests] == [True, True, False]


async def test_what_a_layer_of_one_turn_registers_stays_and_what_it_brought_goes() -> None:
    @tool
    async def extra() -> str:
        """Do more."""
        return "more"

    class Brings(Middleware):
        tools = (extra,)

        async def turn(self, ctx: TurnContext, next: Next[None]) -> None:
            ctx.register_tool(search)
            await next()

    model = ScriptedModel("one", "two")
    async with Agent(model) as agent, agent.session() as session:
        await session.run("hi", use=[Brings()])
        await session.run("again")
    assert [[each.name for each in request.tools] for request in model.requests] == [["extra", "search"], ["search"]]


async def test_work_that_a_layer_of_one_turn_deferred_may_still_emit_its_events() -> None:
    class Reports(Middleware):
        events = (Noted,)

        async def turn(self, ctx: TurnContext, next: Next[None]) -> None:
            async def later() -> None:
                await ctx.emit(Noted("later"))

            ctx.defer(later)
            await next()

    async with Agent(ScriptedModel("ok")) as agent, agent.session() as session:
        log = session.log
        await session.run("hi", use=[Reports()])
    assert_events(log, Noted("later"))


@pytest.mark.parametrize("hook", ["init", "dispose", "session"])
async def test_hooks_of_a_longer_life_are_refused_for_one_turn(hook: str) -> None:
    class Long:
        async def init(self, ctx: Any) -> None:
            raise AssertionError

        async def dispose(self) -> None:
            raise AssertionError

        async def session(self, ctx: SessionContext, next: Next[None]) -> None:
            raise AssertionError

    for other in {"init", "dispose", "session"} - {hook}:
        delattr(Long, other)
    async with Agent(ScriptedModel()) as agent, agent.session() as session:
        with pytest.raises(UseError) as caught:
            await session.run("hi", use=[Long()])
    assert str(caught.value) == (
        f"run(use=[...]) takes no '{hook}' hook, and long has one; register it with agent.use()"
    )


async def test_a_store_is_refused_for_one_turn() -> None:
    class Keeper:
        store = object()

    async with Agent(ScriptedModel()) as agent, agent.session() as session:
        with pytest.raises(UseError, match="takes no store, and keeper has one; register it with agent"):
            await session.run("hi", use=[Keeper()])  # type: ignore[list-item]


async def test_what_is_used_for_one_turn_is_checked_like_anything_else() -> None:
    cap = CostCap()
    async with Agent(ScriptedModel("ok")).use(cap) as agent, agent.session() as session:
        for thing, said in [(cap, "in use already"), (CostCap(), "named 'cost-cap'"), (CostCap, "got the class")]:
            with pytest.raises(UseError, match=said):
                await session.run("hi", use=[thing])  # type: ignore[list-item]
        assert (await session.run("hi")).text == "ok"


async def test_an_order_rule_holds_for_one_turn_too() -> None:
    class Outer(Middleware):
        order = Order(outside=["cost-cap"])

        async def model(self, ctx: ModelContext, next: Passing) -> ModelResponse:
            raise AssertionError

    async with Agent(ScriptedModel()).use(CostCap()) as agent, agent.session() as session:
        with pytest.raises(OrderError, match="outer must stand outside of cost-cap"):
            await session.run("hi", use=[Outer()])


async def test_a_refused_tool_of_one_turn_leaves_nothing_behind() -> None:
    async def registers(ctx: SessionContext, next: Next[None]) -> None:
        ctx.register_tool(search)
        await next()

    @tool
    def fine() -> str:
        """Do what is fine."""
        return "fine"

    twin: Tool = tool(name="search")(lambda: "")
    model = ScriptedModel("ok")
    async with Agent(model).use(registers) as agent, agent.session() as session:
        with pytest.raises(UseError, match="two tools are named 'search'"):
            await session.run("hi", use=[fine, twin])
        await session.run("hi")
    assert [each.name for each in model.requests[0].tools] == ["search"]


async def test_a_layer_of_one_turn_is_named_in_what_it_does() -> None:
    async def cached(ctx: ModelContext, next: Passing) -> ModelResponse:
        return ctx.skip_call("from the cache")

    async with Agent(ScriptedModel()) as agent, agent.session() as session:
        answer = await session.run("hi", use=[cached])
    assert_events(answer.events, Answered("model", "cached"))
    assert answer.text == "from the cache"


async def test_a_streaming_function_works_at_its_level() -> None:
    async def shout(ctx: ModelContext, next: Passing) -> Events[ModelResponse]:
        async for event in next():
            if isinstance(event, End):
                message = event.result.message
                event = End(event.result.replace(message=message.with_text(message.text.upper())))
            yield event

    assert (await Agent(ScriptedModel("hello")).use(shout).run("hi")).text == "HELLO"
