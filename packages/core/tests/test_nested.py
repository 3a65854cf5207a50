"""Agents inside a turn: `ctx.run_agent` and `agent.as_tool()`."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import pytest
from pydantic import BaseModel

from agent_express import (
    Agent,
    AgentContext,
    Answer,
    Middleware,
    ModelContext,
    ModelResponse,
    Next,
    SessionContext,
    ToolContext,
    ToolResult,
    TurnAbortedError,
    TurnContext,
    named,
    reduce,
    tool,
)
from agent_express.errors import StateError
from agent_express.events import StateChanged, TextDelta, ToolReturned, TurnEnded
from agent_express.testing import (
    FunctionModel,
    Say,
    ScriptedModel,
    call,
    check_history,
    no_leaks,
    text_of,
)

Passing = Next[ModelResponse]


def runs(child: Agent, task: str = "work", **options: Any) -> Any:
    """A turn hook that runs *child* and keeps its answer as `ctx.resources[Answer]`."""

    async def delegates(ctx: TurnContext, next: Next[None]) -> None:
        ctx.resources[Answer] = await ctx.run_agent(child, task, **options)
        await next()

    return delegates


def child_of(*script: Any, name: str = "child", **options: Any) -> Agent:
    return Agent(ScriptedModel(*script), name=name, **options)


def results(answer: Answer[Any]) -> list[ToolReturned]:
    return [event for event in answer.events if isinstance(event, ToolReturned) and not event.path]


# --- a session of its own -----------------------------------------------------------------------


async def test_run_agent_returns_the_answer_of_the_nested_agent_and_the_turn_goes_on() -> None:
    async with Agent(ScriptedModel("done")).use(runs(child_of("found it"))) as agent, agent.session() as session:
        answer = await session.run("hi")
        assert (answer.text, session.resources[Answer].text) == ("done", "found it")


async def test_a_nested_agent_has_a_history_of_its_own() -> None:
    model = ScriptedModel("found it")
    async with Agent(ScriptedModel("done")).use(runs(Agent(model, name="child"))) as agent, agent.session() as session:
        await session.run("hi")
        assert [message.text for message in session.history] == ["hi", "done"]
        assert session.resources[Answer].session_id != session.id
    assert [message.text for message in model.requests[0].messages] == ["work"]


async def test_its_events_go_into_the_roots_log_with_their_path() -> None:
    grandchild = child_of("deep", name="reader")
    child = child_of("middle", name="researcher").use(runs(grandchild))
    answer = await Agent(ScriptedModel("top")).use(runs(child)).run("hi")
    ended = [event.path for event in answer.events if isinstance(event, TurnEnded)]
    assert ended == ["researcher/reader", "researcher", ""]
    assert [event.position for event in answer.events] == sorted({event.position for event in answer.events})


async def test_its_events_go_into_the_parents_stream_with_their_path() -> None:
    agent = Agent(ScriptedModel("top")).use(runs(child_of("a b", name="researcher")))
    async with agent, agent.session() as session, session.stream("hi") as stream:
        items = [item async for item in stream]
    assert (text_of(items), text_of(items, path="researcher")) == ("top", "a b")
    assert [(item.text, item.path) for item in items if isinstance(item, TextDelta)] == [
        ("a", "researcher"),
        (" b", "researcher"),
        ("top", ""),
    ]
    kinds = [(type(item).__name__, getattr(item, "path", "")) for item in items]
    assert kinds.index(("ModelCalled", "researcher")) < kinds.index(("TurnEnded", "researcher"))
    assert kinds.index(("TurnEnded", "researcher")) < kinds.index(("ModelCalled", ""))


async def test_its_place_in_the_path_can_be_named() -> None:
    answer = await Agent(ScriptedModel("top")).use(runs(child_of("x"), name="first")).run("hi")
    assert {event.path for event in answer.events} == {"first", ""}


async def test_a_nested_agent_is_opened_for_the_call_and_one_that_is_open_stays_open() -> None:
    seen: list[str] = []

    class Life(Middleware):
        async def init(self, ctx: AgentContext) -> None:
            seen.append("init")

        async def dispose(self) -> None:
            seen.append("dispose")

    child = Agent(FunctionModel(lambda request: "ok"), name="child").use(Life())
    parent = Agent(FunctionModel(lambda request: "ok")).use(runs(child))
    await parent.run("hi")
    assert seen == ["init", "dispose"]
    async with child:
        await parent.run("hi")
        assert seen == ["init", "dispose", "init"]


async def test_run_agent_takes_an_output_type() -> None:
    child = child_of('{"value": 3}')
    async with Agent(ScriptedModel("done")).use(runs(child, output=int)) as agent, agent.session() as session:
        await session.run("hi")
        assert session.resources[Answer].output == 3


# --- what comes from the parent -----------------------------------------------------------------


@pytest.mark.parametrize("inherit", [True, False])
async def test_user_scopes_credentials_metadata_and_trace_come_from_the_parent(inherit: bool) -> None:
    seen: list[Any] = []

    async def look(ctx: TurnContext, next: Next[None]) -> None:
        seen.append((ctx.user_id, set(ctx.scopes), ctx.credentials, ctx.metadata.get("plan")))
        seen.append(ctx.trace_id)
        await next()

    async def login(ctx: SessionContext, next: Next[None]) -> None:
        ctx.identify("ann", ["read"])
        await next()

    child = child_of("ok").use(look)
    agent = Agent(ScriptedModel("done")).use(login, named("parent", look), runs(child, inherit=inherit))
    async with agent, agent.session(credentials="key", metadata={"plan": "pro"}) as session:
        await session.run("hi")
    parent, parent_trace, nested, nested_trace = seen
    assert parent == ("ann", {"read"}, "key", "pro")
    assert nested == (parent if inherit else (None, set(), None, None))
    assert nested_trace == parent_trace


async def test_usage_counts_once_for_both() -> None:
    @tool
    async def noop() -> str:
        """Do nothing."""
        return "ok"

    child = child_of([call("noop")], "ok", tools=[noop])
    async with Agent(ScriptedModel("done")).use(runs(child)) as agent, agent.session() as session:
        answer = await session.run("hi")
        nested = session.resources[Answer].usage
        assert (nested.model_calls, nested.tool_calls) == (2, 1)
        assert (answer.usage.model_calls, answer.usage.tool_calls) == (3, 1)
        assert (session.usage.model_calls, session.usage.tool_calls) == (3, 1)


class Watch(Middleware):
    """A guard on models and tools that notes what passes."""

    def __init__(self, name: str, seen: list[str]) -> None:
        self.name, self.seen = name, seen

    async def turn(self, ctx: TurnContext, next: Next[None]) -> None:
        self.seen.append(f"{self.name} turn")
        await next()

    async def model(self, ctx: ModelContext, next: Passing) -> ModelResponse:
        self.seen.append(f"{self.name} {ctx.model.name}")
        return await next()

    async def tool(self, ctx: ToolContext, next: Next[ToolResult]) -> ToolResult:
        self.seen.append(f"{self.name} {ctx.call.name}")
        return await next()


@pytest.mark.parametrize("inherit", [True, False])
async def test_guards_of_the_parent_stand_around_the_nested_agents_own(inherit: bool) -> None:
    seen: list[str] = []

    @tool
    async def noop() -> str:
        """Do nothing."""
        return "ok"

    child = Agent(ScriptedModel([call("noop")], "ok", name="small"), name="child", tools=[noop])
    child.use(Watch("own", seen))
    await Agent(ScriptedModel("done")).use(runs(child, inherit=inherit), Watch("guard", seen)).run("hi")
    passed = ["guard small", "own small", "guard noop", "own noop", "guard small", "own small"]
    nested = ["own turn", *(each for each in passed if inherit or each.startswith("own"))]
    assert seen == [*nested, "guard turn", "guard scripted"]


async def test_a_guard_that_both_use_stands_around_the_nested_call_once() -> None:
    seen: list[str] = []
    guard = Watch("guard", seen)
    child = Agent(ScriptedModel("ok", name="small"), name="child").use(guard)
    await Agent(ScriptedModel("done")).use(runs(child), guard).run("hi")
    assert seen.count("guard small") == 1


class Stops(Middleware):
    """Aborts at the model call of the agent whose model is called *model*."""

    def __init__(self, model: str) -> None:
        self.target = model

    async def model(self, ctx: ModelContext, next: Passing) -> ModelResponse:
        if ctx.model.name == self.target:
            ctx.abort("no more")
        return await next()


@pytest.mark.parametrize("levels", [1, 2])
async def test_an_abort_of_an_inherited_guard_stops_the_parent_however_deep(levels: int) -> None:
    nested = Agent(ScriptedModel("never", name="small"), name="leaf")
    for level in range(levels - 1):
        nested = Agent(ScriptedModel([call(nested.name, task="go")]), name=f"level-{level}", tools=[nested.as_tool()])
    model = ScriptedModel([call(nested.name, task="go")], "never")
    agent = Agent(model, tools=[nested.as_tool()]).use(Stops("small"))
    async with agent, agent.session() as session:
        with pytest.raises(TurnAbortedError) as caught:
            await session.run("hi")
        assert (caught.value.reason, caught.value.by) == ("no more", "stops")
        assert {event.status for event in session.log.of(TurnEnded)} == {"aborted"}
        check_history(session.history)
    assert len(model.requests) == 1


async def test_an_abort_of_the_nested_agents_own_middleware_is_its_own_affair() -> None:
    child = Agent(ScriptedModel("never", name="small"), name="child").use(Stops("small"))
    model = ScriptedModel([call("child", task="go")], "carried on")
    answer = await Agent(model, tools=[child.as_tool()]).run("hi")
    assert answer.text == "carried on"
    [event] = results(answer)
    assert (event.how, event.result.text) == ("failed", "TurnAbortedError: stops: no more")


async def test_an_own_middleware_of_the_same_name_as_an_inherited_one_stops_the_child_alone() -> None:
    child = Agent(ScriptedModel("never", name="small"), name="child").use(Stops("small"))
    model = ScriptedModel([call("child", task="go")], "carried on")
    answer = await Agent(model, tools=[child.as_tool()]).use(Stops("another")).run("hi")
    assert answer.text == "carried on"


async def test_after_an_abort_no_nested_agent_starts() -> None:
    child_model = ScriptedModel("never")

    async def swallows(ctx: TurnContext, next: Next[None]) -> None:
        await asyncio.gather(next(), return_exceptions=True)
        await asyncio.gather(ctx.run_agent(Agent(child_model, name="child"), "go"), return_exceptions=True)

    with pytest.raises(TurnAbortedError):
        await Agent(ScriptedModel(), name="parent").use(swallows, Stops("scripted")).run("hi")
    assert child_model.requests == []


class Spent(BaseModel):
    calls: int = 0


@pytest.mark.parametrize("how", ["self", "class", "name", "field", "update", "update a model"])
async def test_a_budget_of_the_parent_counts_the_nested_calls_in_its_own_slice(how: str) -> None:
    class Budget(Middleware):
        state = Spent

        async def model(self, ctx: ModelContext, next: Passing) -> ModelResponse:
            match how:
                case "self":
                    ctx.state[self].calls += 1
                case "class":
                    ctx.state[Spent].calls += 1
                case "name":
                    ctx.state["budget"].calls += 1
                case "field":
                    ctx.state.calls += 1
                case "update":
                    ctx.state.update(calls=ctx.state.calls + 1)
                case _:
                    ctx.state.update(Spent(calls=ctx.state[Spent].calls + 1))
            return await next()

    agent = Agent(ScriptedModel("done")).use(runs(child_of("ok")), Budget())
    async with agent, agent.session() as session:
        await session.run("hi")
        assert session.state["budget"].calls == 2


async def test_two_children_of_one_parent_have_separate_sessions() -> None:
    seen: list[tuple[str, int]] = []
    both = asyncio.Barrier(2)

    async def look(ctx: TurnContext, next: Next[None]) -> None:
        await both.wait()
        await next()
        seen.append((ctx.session_id, len(ctx.history)))

    child = Agent(FunctionModel(lambda request: "ok"), name="child").use(look)
    model = ScriptedModel([call("child", task="a"), call("child", task="b")], "done")
    await Agent(model, tools=[child.as_tool()]).run("hi")
    assert [length for _, length in seen] == [2, 2]
    assert len({session for session, _ in seen}) == 2


# --- shared state -------------------------------------------------------------------------------


def append(old: list[str], new: list[str]) -> list[str]:
    return old + new


class Board(BaseModel):
    notes: Annotated[list[str], reduce(append)] = []
    title: str = ""


class Notes(Middleware):
    """A board that the nested agent shares; its tools write on it."""

    name = "notes"
    state = Board

    @tool
    async def note(self, ctx: ToolContext, text: str) -> str:
        """Note something, by the reducer."""
        ctx.state.update(Board(notes=[text]))
        return "noted"

    @tool
    async def rename(self, ctx: ToolContext, title: str) -> str:
        """Give the board a title, by assignment."""
        ctx.state[self].title = title
        return "renamed"

    @tool
    async def read(self, ctx: ToolContext) -> str:
        """Read the board."""
        return f"{ctx.state[self].title}: {ctx.state[self].notes}"


def scribe(name: str, *calls: Any) -> Agent:
    """An agent that makes *calls* on its own board, then says what the last one gave."""

    def reply(request: Any) -> Any:
        last = request.messages[-1]
        return last.parts[-1].text if last.role == "tool" else list(calls)

    return Agent(FunctionModel(reply), name=name).use(Notes())


async def board_after(*children: Agent, start: str = "") -> tuple[Board, list[ToolReturned]]:
    """The parent's board after its model called all *children* at once."""
    model = ScriptedModel([call(child.name, task="write") for child in children], "done")

    async def prepare(ctx: TurnContext, next: Next[None]) -> None:
        ctx.state[Board].title = start
        await next()

    tools = [child.as_tool(state=["notes"]) for child in {child.name: child for child in children}.values()]
    agent = Agent(model, tools=tools).use(Notes(), prepare)
    async with agent, agent.session() as session:
        answer = await session.run("hi")
        return session.state["notes"], results(answer)


async def test_shared_state_is_lent_and_what_was_assigned_comes_back() -> None:
    board, [result] = await board_after(scribe("writer", call("rename", title="Plan")), start="Draft")
    assert (board.title, result.how) == ("Plan", "ran")


async def test_a_nested_agent_sees_what_it_was_lent() -> None:
    _, [result] = await board_after(scribe("reader", call("read")), start="Draft")
    assert result.result.text == "Draft: []"


async def test_state_that_is_not_shared_stays_apart() -> None:
    writer = scribe("writer", call("rename", title="Plan"))
    agent = Agent(ScriptedModel([call("writer", task="x")], "done"), tools=[writer.as_tool()]).use(Notes())
    async with agent, agent.session() as session:
        await session.run("hi")
        assert session.state["notes"].title == ""


async def test_parallel_nested_agents_that_update_one_field_are_merged_by_its_reducer() -> None:
    board, returned = await board_after(
        scribe("one", call("note", text="a")), scribe("two", call("note", text="b"), call("note", text="c"))
    )
    assert sorted(board.notes) == ["a", "b", "c"]
    assert [event.how for event in returned] == ["ran", "ran"]


async def test_what_a_nested_agent_updated_is_logged_as_a_change_of_the_parent() -> None:
    model = ScriptedModel([call("one", task="x")], "done")
    agent = Agent(model, tools=[scribe("one", call("note", text="a")).as_tool(state=["notes"])]).use(Notes())
    async with agent, agent.session() as session:
        await session.run("hi")
        own = [event.changes for event in session.log.of(StateChanged) if not event.path]
    assert own == [{"notes": {"notes": {"set": ["a"]}}}]


async def test_parallel_nested_agents_that_assign_one_field_are_an_error_that_names_both() -> None:
    _, returned = await board_after(scribe("one", call("rename", title="A")), scribe("two", call("rename", title="B")))
    [failed] = [event for event in returned if event.how == "failed"]
    assert failed.result.text.startswith("StateError: state field notes.title was written by ")
    assert all(name in failed.result.text for name in ("one", "two", "reduce(fn)"))


async def test_two_parallel_runs_of_the_same_agent_that_assign_one_field_are_an_error_too() -> None:
    both_lent = asyncio.Barrier(2)

    async def together(ctx: TurnContext, next: Next[None]) -> None:
        await both_lent.wait()
        await next()

    writer = scribe("writer", call("rename", title="A")).use(together)
    _, returned = await board_after(writer, writer)
    assert sorted(event.how for event in returned) == ["failed", "ran"]


async def test_nested_agents_of_different_turns_may_assign_the_same_field() -> None:
    model = ScriptedModel([call("one", task="x")], "done", [call("two", task="x")], "done")
    scribes = [scribe("one", call("rename", title="A")), scribe("two", call("rename", title="B"))]
    agent = Agent(model, tools=[each.as_tool(state=["notes"]) for each in scribes]).use(Notes())
    async with agent, agent.session() as session:
        for _ in scribes:
            assert [event.how for event in results(await session.run("hi"))] == ["ran"]
        assert session.state["notes"].title == "B"


async def test_sharing_what_one_of_both_does_not_have_says_which() -> None:
    async def wants(ctx: TurnContext, next: Next[None]) -> None:
        await ctx.run_agent(child_of("ok"), "go", state=["notes"])

    with pytest.raises(StateError, match="state 'notes' cannot be shared: the nested agent has no middleware of that"):
        await Agent(ScriptedModel()).use(wants, Notes()).run("hi")
    with pytest.raises(StateError, match="state 'notes' cannot be shared: this agent has no middleware of that name"):
        await Agent(ScriptedModel()).use(runs(scribe("one"), state=["notes"])).run("hi")


# --- as_tool ------------------------------------------------------------------------------------


def test_an_agent_as_a_tool_takes_a_task_and_is_described_by_its_instructions() -> None:
    made = child_of(name="researcher", instructions="Find sources.").as_tool()
    assert (made.name, made.description) == ("researcher", "Find sources.")
    assert list(made.definition.parameters["properties"]) == ["task"]
    renamed = child_of(name="researcher").as_tool("lookup", "Look it up.")
    assert (renamed.name, renamed.description) == ("lookup", "Look it up.")


async def test_a_nested_agent_that_fails_is_an_error_result_and_siblings_finish() -> None:
    model = ScriptedModel([call("broken", task="x"), call("fine", task="y")], "done")
    tools = [child_of(ValueError("boom"), name="broken").as_tool(), child_of("all good", name="fine").as_tool()]
    answer = await Agent(model, tools=tools).run("hi")
    assert [(event.how, event.result.text) for event in results(answer)] == [
        ("failed", "ValueError: boom"),
        ("ran", "all good"),
    ]


async def test_a_nested_agent_whose_last_message_is_empty_answers_with_its_last_one_that_is_not() -> None:
    @tool
    async def noop() -> str:
        """Do nothing."""
        return "ok"

    child = child_of(Say("I found 3 sources.", calls=[call("noop")]), "", tools=[noop])
    answer = await Agent(ScriptedModel([call("child", task="x")], "done"), tools=[child.as_tool()]).run("hi")
    assert [event.result.text for event in results(answer)] == ["I found 3 sources."]


async def test_cancelling_the_parent_cancels_and_closes_the_nested_agent() -> None:
    asked, seen = asyncio.Event(), list[str]()

    class Life(Middleware):
        async def session(self, ctx: SessionContext, next: Next[None]) -> None:
            await next()
            seen.append("session left")

        async def dispose(self) -> None:
            seen.append("disposed")

    async def never(request: Any) -> str:
        asked.set()
        try:
            await asyncio.Event().wait()
        finally:
            seen.append("model cancelled")
        return ""

    child = Agent(FunctionModel(never), name="child").use(Life())
    agent = Agent(ScriptedModel([call("child", task="x")]), tools=[child.as_tool()])
    async with no_leaks(), agent, agent.session() as session:
        turn = asyncio.create_task(session.run("hi"))
        await asked.wait()
        turn.cancel()
        with pytest.raises(asyncio.CancelledError):
            await turn
        assert seen == ["model cancelled", "session left", "disposed"]
        check_history(session.history)


async def test_deferred_work_of_a_nested_agent_is_done_when_its_answer_is_there() -> None:
    done: list[str] = []

    async def defers(ctx: TurnContext, next: Next[None]) -> None:
        async def later() -> None:
            done.append("later")

        ctx.defer(later)
        await next()

    await Agent(ScriptedModel("done")).use(runs(child_of("ok").use(defers))).run("hi")
    assert done == ["later"]
