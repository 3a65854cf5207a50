"""State: a slice per middleware, reducers, scopes, and what is logged of it."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field, ValidationError, create_model

from agent_express import (
    Agent,
    Middleware,
    ModelContext,
    ModelResponse,
    Next,
    SessionContext,
    ToolContext,
    ToolResult,
    TurnContext,
    named,
    private,
    reduce,
    scope,
    tool,
)
from agent_express.errors import StateError, UseError
from agent_express.events import StateChanged, dump
from agent_express.testing import ScriptedModel, call

Passing = Next[ModelResponse]


class Spent(BaseModel):
    cost: float = 0.0
    calls: int = 0


class Todo(BaseModel):
    id: int
    text: str = ""


def merge_by_id(old: list[Todo], new: list[Todo]) -> list[Todo]:
    return list({todo.id: todo for todo in [*old, *new]}.values())


class Plan(BaseModel):
    todos: Annotated[list[Todo], reduce(merge_by_id)] = []
    title: str = ""


class Scoped(BaseModel):
    in_turn: Annotated[int, scope("turn")] = 0
    marks: Annotated[list[str], scope("turn")] = Field(default_factory=list)
    in_session: int = 0


class Masked(BaseModel):
    names: Annotated[dict[str, str], private] = {}
    count: int = 0


class Owner(Middleware):
    """A middleware with state that hands the context of each turn to *act*, after `next()`."""

    def __init__(self, state: type[BaseModel], act: Any = None) -> None:
        self.state: Any = state
        self.act = act

    async def turn(self, ctx: TurnContext, next: Next[None]) -> None:
        await next()
        if self.act is not None:
            self.act(ctx)


@tool
async def noop() -> str:
    """Do nothing."""
    return "done"


async def after_turn(state: type[BaseModel], act: Any) -> list[StateChanged]:
    """Let *act* work on the context of one turn; what was logged of the state."""
    async with Agent(ScriptedModel("ok")).use(Owner(state, act)) as agent, agent.session() as session:
        answer = await session.run("hi")
    return [event for event in answer.events if isinstance(event, StateChanged)]


# --- ways to a slice ----------------------------------------------------------------------------


async def test_a_slice_is_reached_by_identity_by_class_by_name_and_by_field() -> None:
    class Cap(Owner):
        async def model(self, ctx: ModelContext, next: Passing) -> ModelResponse:
            by_self = ctx.state[self]
            assert by_self is ctx.state[Spent] is ctx.state["cap"]
            by_self.cost += 0.02
            assert ctx.state.cost == 0.02
            return await next()

    async with Agent(ScriptedModel("ok")).use(Cap(Spent)) as agent, agent.session() as session:
        await session.run("hi")
        assert session.state["cap"].cost == 0.02


async def test_an_addition_adds_once() -> None:
    def spend(ctx: TurnContext) -> None:
        ctx.state.cost += 0.5
        ctx.state["owner"].cost += 0.25
        ctx.state[Spent].cost += 0.25

    [changed] = await after_turn(Spent, spend)
    assert changed.changes == {"owner": {"cost": {"set": 1.0}}}


async def test_a_field_read_on_turn_1_is_its_default_and_reading_is_no_change() -> None:
    seen: list[Any] = []
    assert await after_turn(Spent, lambda ctx: seen.append(ctx.state.cost)) == []
    assert seen == [0.0]


async def test_a_value_set_in_the_turn_hook_is_the_same_in_model_and_tool_hooks() -> None:
    seen: list[tuple[str, int]] = []

    class Cap(Middleware):
        state = Spent

        async def turn(self, ctx: TurnContext, next: Next[None]) -> None:
            ctx.state[self].calls = 7
            await next()

    async def on_model(ctx: ModelContext, next: Passing) -> ModelResponse:
        seen.append(("model", ctx.state.calls))
        return await next()

    async def on_tool(ctx: ToolContext, next: Next[ToolResult]) -> ToolResult:
        seen.append(("tool", ctx.state["cap"].calls))
        return await next()

    model = ScriptedModel([call("noop")], "done")
    await Agent(model, tools=[noop]).use(Cap(), on_model, on_tool).run("hi")
    assert seen == [("model", 7), ("tool", 7), ("model", 7)]


async def test_state_lives_on_from_turn_to_turn() -> None:
    def count(ctx: TurnContext) -> None:
        ctx.state.calls += 1

    async with Agent(ScriptedModel("a", "b")).use(Owner(Spent, count)) as agent, agent.session() as session:
        await session.run("hi")
        await session.run("hi")
        assert session.state["owner"].calls == 2


async def test_two_sessions_do_not_mix() -> None:
    both_running = asyncio.Barrier(2)

    class Cap(Middleware):
        state = Spent

        async def model(self, ctx: ModelContext, next: Passing) -> ModelResponse:
            ctx.state[self].calls += len(ctx.session_id)
            await both_running.wait()
            ctx.state[self].calls += 1
            return await next()

    agent = Agent(ScriptedModel("a", "b")).use(Cap())
    async with agent, agent.session("s") as one, agent.session("session") as other:
        await asyncio.gather(one.run("hi"), other.run("hi"))
        assert (one.state["cap"].calls, other.state["cap"].calls) == (2, 8)


async def test_two_instances_of_one_class_have_a_slice_each() -> None:
    one, two = Owner(Spent), Owner(Spent)

    async def spend(ctx: ModelContext, next: Passing) -> ModelResponse:
        ctx.state[one].calls = 1
        ctx.state[two].calls = 2
        return await next()

    async with Agent(ScriptedModel("ok")).use(one, named("two", two), spend) as agent, agent.session() as session:
        await session.run("hi")
        assert (session.state["owner"].calls, session.state["two"].calls) == (1, 2)


async def test_a_class_with_two_owners_names_them_and_says_how_to_write_it() -> None:
    agent = Agent(ScriptedModel()).use(Owner(Spent), named("two", Owner(Spent)))
    async with agent, agent.session() as session:
        with pytest.raises(StateError) as caught:
            session.state[Spent]
    assert str(caught.value) == "Spent is the state of 'owner', 'two': write ctx.state[self] or ctx.state[name]"


async def test_a_field_with_two_owners_names_them_and_says_how_to_write_it() -> None:
    class Other(BaseModel):
        calls: int = 0

    agent = Agent(ScriptedModel()).use(Owner(Spent), named("two", Owner(Other)))
    async with agent, agent.session() as session:
        said = "state field 'calls' belongs to owner and two: write ctx.state['owner'].calls"
        with pytest.raises(StateError) as read:
            session.state.calls
        with pytest.raises(StateError) as written:
            session.state.calls = 3
        with pytest.raises(StateError) as merged:
            session.state.update(calls=3)
        assert [str(error.value) for error in (read, written, merged)] == [said] * 3
        session.state.cost = 1.5
        assert session.state["owner"].cost == 1.5


async def test_a_field_that_nobody_declared_is_an_error_naming_it_and_what_is_declared() -> None:
    async with Agent(ScriptedModel()).use(Owner(Spent)) as agent, agent.session() as session:
        with pytest.raises(StateError) as caught:
            session.state.budget = 3
        assert str(caught.value) == (
            "no state field 'budget'; declared: calls, cost; add it to the `state` of a middleware"
        )
        with pytest.raises(ValueError, match="budget"):
            session.state["owner"].budget = 3


@pytest.mark.parametrize("key", ["nobody", Plan, object()], ids=["name", "class", "object"])
async def test_a_slice_that_nobody_declared_says_who_has_state(key: Any) -> None:
    async with Agent(ScriptedModel()).use(Owner(Spent)) as agent, agent.session() as session:
        with pytest.raises(StateError, match=r"no state of .*; middleware with state: owner; declare it as `state ="):
            session.state[key]


@pytest.mark.parametrize("write", ["slice", "field", "update"])
async def test_an_assigned_value_is_validated_at_once(write: str) -> None:
    async with Agent(ScriptedModel()).use(Owner(Spent)) as agent, agent.session() as session:
        with pytest.raises((StateError, ValidationError), match="cost"):
            match write:
                case "slice":
                    session.state["owner"].cost = "much"
                case "field":
                    session.state.cost = "much"
                case _:
                    session.state.update(Spent.model_construct(cost="much"))
        assert session.state.cost == 0.0


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"cost": (float, ...)}, "Broken.cost has no default: every state field needs one"),
        ({"held": (object, object())}, "the state Broken cannot be written as JSON"),
    ],
)
def test_a_state_that_cannot_be_made_or_written_is_refused_at_use(fields: dict[str, Any], message: str) -> None:
    model = create_model("Broken", __config__={"arbitrary_types_allowed": True}, **fields)
    with pytest.raises(UseError, match=message):
        Agent(ScriptedModel()).use(Owner(model))


def test_a_scope_other_than_session_and_turn_is_refused() -> None:
    with pytest.raises(UseError, match='a scope is "session" or "turn"; users and apps have stores of their own'):
        scope("user")  # type: ignore[arg-type]


# --- update reduces -----------------------------------------------------------------------------


async def test_update_goes_through_the_reducer_and_assignment_assigns() -> None:
    async with Agent(ScriptedModel()).use(Owner(Plan)) as agent, agent.session() as session:
        state = session.state
        state.update(Plan(todos=[Todo(id=1, text="buy"), Todo(id=2)]))
        state.update(todos=[Todo(id=1, text="bought")])
        assert [(todo.id, todo.text) for todo in state.todos] == [(1, "bought"), (2, "")]
        state.todos = []
        assert state[Plan].todos == []


async def test_update_takes_only_the_fields_that_were_set() -> None:
    async with Agent(ScriptedModel()).use(Owner(Plan)) as agent, agent.session() as session:
        session.state.title = "shopping"
        session.state.update(Plan(todos=[Todo(id=1)]))
        assert session.state.title == "shopping"
        session.state.update(Plan(title="chores"))
        assert (session.state.title, len(session.state.todos)) == ("chores", 1)


async def test_update_of_a_class_with_two_owners_is_told_whose_it_is() -> None:
    one, two = Owner(Plan), Owner(Plan)
    async with Agent(ScriptedModel()).use(one, named("two", two)) as agent, agent.session() as session:
        with pytest.raises(StateError, match="Plan is the state of 'owner', 'two'"):
            session.state.update(Plan(title="x"))
        session.state.update(Plan(title="one"), one)
        session.state.update(Plan(title="two"), "two")
        assert (session.state[one].title, session.state[two].title) == ("one", "two")


async def test_parallel_tools_that_update_lose_nothing() -> None:
    everyone_there = asyncio.Barrier(8)

    @tool
    async def plan(ctx: ToolContext, id: int) -> str:
        """Plan something."""
        await everyone_there.wait()
        ctx.state.update(todos=[Todo(id=id)])
        return "planned"

    model = ScriptedModel([call("plan", id=number) for number in range(8)], "done")
    async with Agent(model, tools=[plan]).use(Owner(Plan)) as agent, agent.session() as session:
        await session.run("plan")
        assert sorted(todo.id for todo in session.state.todos) == list(range(8))


# --- scopes -------------------------------------------------------------------------------------


async def test_a_field_of_a_turn_is_cleared_when_the_turn_ends_and_one_of_the_session_is_not() -> None:
    seen: list[tuple[int, list[str], int]] = []

    def count(ctx: TurnContext) -> None:
        slice_ = ctx.state[Scoped]
        slice_.in_turn += 1
        slice_.in_session += 1
        slice_.marks.append("x")
        seen.append((slice_.in_turn, list(slice_.marks), slice_.in_session))

    async with Agent(ScriptedModel("a", "b")).use(Owner(Scoped, count)) as agent, agent.session() as session:
        await session.run("hi")
        assert session.state.in_turn == 0
        await session.run("hi")
    assert seen == [(1, ["x"], 1), (1, ["x"], 2)]


async def test_a_field_of_a_turn_is_cleared_when_the_turn_fails_too() -> None:
    def fail(ctx: TurnContext) -> None:
        ctx.state.in_turn = 5
        raise ValueError("boom")

    async with Agent(ScriptedModel("a")).use(Owner(Scoped, fail)) as agent, agent.session() as session:
        with pytest.raises(ValueError, match="boom"):
            await session.run("hi")
        assert session.state.in_turn == 0


# --- what is logged -----------------------------------------------------------------------------


async def test_one_event_per_step_holds_what_was_touched_and_differs() -> None:
    class Cap(Middleware):
        state = Spent

        async def model(self, ctx: ModelContext, next: Passing) -> ModelResponse:
            ctx.state[self].calls += 1
            response = await next()
            ctx.state[self].cost += 0.5
            return response

        async def tool(self, ctx: ToolContext, next: Next[ToolResult]) -> ToolResult:
            ctx.state[self].cost += 0.25
            return await next()

    model = ScriptedModel([call("noop"), call("noop")], "done")
    answer = await Agent(model, tools=[noop]).use(Cap(), named("idle", Owner(Plan))).run("hi")
    assert [event.changes for event in answer.events if isinstance(event, StateChanged)] == [
        {"cap": {"cost": {"set": 1.0}, "calls": {"set": 1}}},
        {"cap": {"cost": {"set": 1.5}, "calls": {"set": 2}}},
    ]


async def test_what_was_touched_and_is_as_before_is_no_event() -> None:
    def undo(ctx: TurnContext) -> None:
        ctx.state.calls += 1
        ctx.state.calls -= 1

    assert await after_turn(Spent, undo) == []


async def test_a_list_that_only_grew_is_logged_as_what_was_appended() -> None:
    class Notes(BaseModel):
        lines: list[str] = ["first"]

    def grow(ctx: TurnContext) -> None:
        ctx.state[Notes].lines.append(f"turn {ctx.turn_index}")

    async with Agent(ScriptedModel("a", "b")).use(Owner(Notes, grow)) as agent, agent.session() as session:
        await session.run("hi")
        await session.run("hi")
        assert [event.changes["owner"]["lines"] for event in session.log.of(StateChanged)] == [
            {"append": ["turn 0"]},
            {"append": ["turn 1"]},
        ]


async def test_a_list_that_was_rewritten_is_logged_whole() -> None:
    [changed] = await after_turn(Plan, lambda ctx: ctx.state.update(todos=[Todo(id=1, text="x")]))
    assert changed.changes == {"owner": {"todos": {"set": [{"id": 1, "text": "x"}]}}}


async def test_a_change_in_place_is_logged_and_validated_when_the_step_is_recorded() -> None:
    [changed] = await after_turn(Plan, lambda ctx: ctx.state[Plan].todos.append(Todo(id=1)))
    assert changed.changes == {"owner": {"todos": {"set": [{"id": 1, "text": ""}]}}}


@pytest.mark.parametrize("where", ["in the loop", "after next() of a turn hook"])
async def test_a_change_in_place_to_what_the_model_refuses_ends_the_turn_and_names_the_owner(where: str) -> None:
    class Careless(Middleware):
        state = Plan

        async def turn(self, ctx: TurnContext, next: Next[None]) -> None:
            if where == "in the loop":
                ctx.state[self].todos.append("buy milk")  # type: ignore[arg-type]
            await next()
            ctx.state[self].todos.append("buy milk")  # type: ignore[arg-type]

    async with Agent(ScriptedModel("ok")).use(Careless()) as agent, agent.session() as session:
        with pytest.raises(StateError, match="state of 'careless' was changed in place to what Plan refuses"):
            await session.run("hi")
        assert session.state["careless"].todos == []


async def test_private_fields_stay_out_of_what_is_shown() -> None:
    def mask(ctx: TurnContext) -> None:
        ctx.state.names = {"<name-1>": "Ann"}
        ctx.state.count = 1

    async with Agent(ScriptedModel("ok")).use(Owner(Masked, mask)) as agent, agent.session() as session:
        [changed] = [event for event in (await session.run("hi")).events if isinstance(event, StateChanged)]
        assert changed.changes == {"owner": {"count": {"set": 1}}}
        assert "Ann" not in str(dump(changed))
        assert "Ann" not in repr(changed)
        assert "Ann" not in repr(session.state)
        assert dump(changed, private=True)["private"] == {"owner": {"names": {"set": {"<name-1>": "Ann"}}}}


async def test_values_that_json_cannot_hold_end_the_turn_by_name() -> None:
    def nul(ctx: TurnContext) -> None:
        ctx.state.title = "a\x00b"

    with pytest.raises(StateError, match="state of 'owner'"):
        await after_turn(Plan, nul)


async def test_state_set_in_a_session_hook_is_there_in_the_first_turn() -> None:
    class Greets(Middleware):
        state = Spent

        async def session(self, ctx: SessionContext, next: Next[None]) -> None:
            ctx.state[self].calls = 3
            await next()

    async with Agent(ScriptedModel("ok")).use(Greets()) as agent, agent.session() as session:
        answer = await session.run("hi")
        assert session.state.calls == 3
    assert [event.changes for event in answer.events if isinstance(event, StateChanged)] == [
        {"greets": {"calls": {"set": 3}}}
    ]


async def test_anybody_may_read_and_write_a_slice_he_can_name() -> None:
    def raise_cap(ctx: TurnContext) -> None:
        ctx.state["owner"].calls = 9

    agent = Agent(ScriptedModel("ok")).use(Owner(Spent), named("other", Owner(Plan, raise_cap)))
    async with agent, agent.session() as session:
        await session.run("hi")
        assert session.state["owner"].calls == 9
