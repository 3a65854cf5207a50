"""What hooks see through their context, and what they may change there."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_express import (
    Agent,
    AgentContext,
    Limits,
    Message,
    Middleware,
    ModelContext,
    ModelResponse,
    Next,
    SessionContext,
    ToolContext,
    ToolResult,
    TurnAbortedError,
    TurnContext,
    tool,
)
from agent_express.errors import HookError, TooLateError, ToolError, UnknownModelError, UseError
from agent_express.events import ContextCompacted, ModelCalled, ModelResponded, ToolRegistered, ToolReturned, dump
from agent_express.messages import Section, Settings
from agent_express.testing import FunctionModel, ScriptedModel, assert_events, call, check_history, like

Passing = Next[ModelResponse]


class Database:
    def __init__(self, rows: int = 0) -> None:
        self.rows = rows


@tool
def add(a: int, b: int = 1) -> int:
    """Add two numbers."""
    return a + b


class Seer:
    """Hands each of its contexts to *look*."""

    def __init__(self, look: Any) -> None:
        self.look = look

    async def session(self, ctx: SessionContext, next: Next[None]) -> None:
        self.look(ctx)
        await next()

    async def turn(self, ctx: TurnContext, next: Next[None]) -> None:
        self.look(ctx)
        await next()

    async def model(self, ctx: ModelContext, next: Passing) -> ModelResponse:
        self.look(ctx)
        return await next()

    async def tool(self, ctx: ToolContext, next: Next[ToolResult]) -> ToolResult:
        self.look(ctx)
        return await next()


def calls_add(*then: Any) -> ScriptedModel:
    return ScriptedModel([call("add", a=1)], *(then or ("done",)))


async def contexts_of_a_turn(**session: Any) -> list[Any]:
    """The contexts of session, turn, first model call, tool call and second model call, in this order."""
    seen: list[Any] = []
    async with Agent(calls_add(), tools=[add]).use(Seer(seen.append)) as agent, agent.session(**session) as opened:
        await opened.run("hi", metadata={"channel": "mail"})
    return seen


# --- inheritance, sharing, what is read-only ----------------------------------------------------


async def test_a_deeper_context_is_one_of_the_outer_kind_and_shows_the_same_session_and_turn() -> None:
    session, turn, model, used, again = await contexts_of_a_turn()
    assert issubclass(SessionContext, AgentContext)
    assert [type(each) for each in (session, turn, model, used, again)] == [
        SessionContext,
        TurnContext,
        ModelContext,
        ToolContext,
        ModelContext,
    ]
    assert all(isinstance(each, TurnContext) for each in (turn, model, used))
    assert len({each.session_id for each in (session, turn, model, used)}) == 1
    assert turn.turn_id == model.turn_id == used.turn_id
    assert session.resources is used.resources
    assert session.state is model.state


async def test_contexts_are_made_anew_for_each_call() -> None:
    _, _, first, _, second = await contexts_of_a_turn()
    assert first is not second
    assert (first.call_index, second.call_index) == (0, 1)


IDENTITY = {
    "session": "agent tools session_id user_id scopes is_resumed history log metadata credentials session_usage",
    "turn": "turn_id turn_index started_at trace_id status usage",
    "model": "call_index purpose model tool_defs",
    "tool": "call_id call_index tool args",
}


@pytest.mark.parametrize(("level", "name"), [(level, name) for level in IDENTITY for name in IDENTITY[level].split()])
async def test_what_identifies_is_read_only(level: str, name: str) -> None:
    session, turn, model, used, _ = await contexts_of_a_turn()
    ctx = {"session": session, "turn": turn, "model": model, "tool": used}[level]
    getattr(ctx, name)
    with pytest.raises(AttributeError):
        setattr(ctx, name, None)


async def test_the_collections_that_a_context_shows_are_read_only_too() -> None:
    given = {"plan": "pro"}
    session, turn, _, used, _ = await contexts_of_a_turn(metadata=given)
    for shown in (session.tools, session.metadata, turn.metadata, used.args):
        with pytest.raises(TypeError):
            shown["added"] = 1
    assert given == {"plan": "pro"}


async def test_contexts_have_slots_and_no_dict() -> None:
    assert [hasattr(ctx, "__dict__") for ctx in await contexts_of_a_turn()] == [False] * 5


async def test_setting_an_unknown_attribute_points_to_state_and_resources() -> None:
    async def careless(ctx: ModelContext, next: Passing) -> ModelResponse:
        ctx.budget = 3  # type: ignore[attr-defined]
        return await next()

    with pytest.raises(AttributeError) as caught:
        await Agent(ScriptedModel()).use(careless).run("hi")
    assert "'budget'" in str(caught.value)
    assert any("ctx.state" in note and "ctx.resources" in note for note in caught.value.__notes__)


async def test_reading_an_unknown_attribute_points_to_state_and_resources() -> None:
    [session, *_] = await contexts_of_a_turn()
    with pytest.raises(AttributeError) as caught:
        session.budget
    assert str(caught.value) == (
        "SessionContext has no 'budget'; data of yours goes to ctx.state, live objects to ctx.resources"
    )


# --- what each context shows --------------------------------------------------------------------


async def test_init_sees_the_agent_and_its_tools() -> None:
    seen: list[Any] = []

    class Look(Middleware):
        async def init(self, ctx: AgentContext) -> None:
            assert ctx.agent is not None
            seen.extend([ctx.agent.name, ctx.agent.model.name, ctx.agent.instructions, ctx.agent.limits.max_steps])
            seen.append(list(ctx.tools))

    agent = Agent(ScriptedModel(name="m"), name="helper", instructions="Help.", tools=[add], limits=Limits(max_steps=7))
    async with agent.use(Look()):
        assert seen == ["helper", "m", "Help.", 7, ["add"]]


async def test_a_session_hook_sees_who_talks_and_what_the_session_was_opened_with() -> None:
    [ctx, *_] = await contexts_of_a_turn(
        session_id="s1", user_id="ann", metadata={"plan": "pro"}, credentials={"key": "secret"}
    )
    assert (ctx.session_id, ctx.user_id, ctx.scopes, ctx.is_resumed) == ("s1", "ann", frozenset(), False)
    assert (ctx.metadata, ctx.credentials) == ({"plan": "pro"}, {"key": "secret"})
    assert (ctx.agent.name, list(ctx.tools)) == ("agent", ["add"])


async def test_credentials_stand_in_no_log_entry() -> None:
    async with Agent(ScriptedModel("ok")) as agent, agent.session(credentials={"key": "sk-secret"}) as session:
        await session.run("hi")
        logged = json.dumps([dump(event, private=True) for event in session.log])
    assert "sk-secret" not in logged


async def test_turns_are_numbered_from_0_have_ids_of_their_own_and_share_the_trace() -> None:
    seen: list[TurnContext] = []

    async def look(ctx: TurnContext, next: Next[None]) -> None:
        seen.append(ctx)
        await next()

    async with Agent(ScriptedModel("one", "two")).use(look) as agent, agent.session() as session:
        await session.run("hi")
        await session.run("again")
    assert [ctx.turn_index for ctx in seen] == [0, 1]
    assert seen[0].turn_id != seen[1].turn_id
    assert seen[0].trace_id == seen[1].trace_id != ""
    assert seen[0].started_at <= seen[1].started_at


async def test_metadata_of_a_turn_lies_over_that_of_its_session() -> None:
    session, turn, *_ = await contexts_of_a_turn(metadata={"plan": "pro", "channel": "web"})
    assert session.metadata == {"plan": "pro", "channel": "web"}
    assert turn.metadata == {"plan": "pro", "channel": "mail"}


async def test_the_history_grows_from_turn_to_turn_and_holds_the_tool_traffic() -> None:
    seen: list[list[str]] = []

    async def look(ctx: TurnContext, next: Next[None]) -> None:
        seen.append([message.role for message in ctx.history])
        await next()

    async with Agent(calls_add("3", "bye"), tools=[add]).use(look) as agent, agent.session() as session:
        await session.run("add")
        await session.run("bye")
    assert seen == [[], ["user", "assistant", "tool", "assistant"]]


async def test_a_call_index_counts_steps_and_not_attempts() -> None:
    seen: list[int] = []

    async def retry(ctx: ModelContext, next: Passing) -> ModelResponse:
        try:
            return await next()
        except ValueError:
            return await next()

    async def look(ctx: ModelContext, next: Passing) -> ModelResponse:
        seen.append(ctx.call_index)
        return await next()

    model = ScriptedModel(ValueError("once"), [call("add", a=1)], "done")
    answer = await Agent(model, tools=[add]).use(retry, look).run("hi")
    assert seen == [0, 0, 1]
    calls = [(event.index, event.attempt) for event in answer.events if isinstance(event, ModelCalled)]
    assert calls == [(0, 1), (0, 2), (1, 1)]


async def test_a_call_that_a_turn_hook_repeats_is_the_same_step_and_another_attempt() -> None:
    async def retry(ctx: TurnContext, next: Next[None]) -> None:
        try:
            await next()
        except ValueError:
            await next()

    answer = await Agent(ScriptedModel(ValueError("once"), "ok"), limits=Limits(max_steps=1)).use(retry).run("hi")
    calls = [(event.index, event.attempt) for event in answer.events if isinstance(event, ModelCalled)]
    assert (answer.text, calls) == ("ok", [(0, 1), (0, 2)])


async def test_a_tool_context_shows_the_call_its_place_and_its_arguments_with_defaults() -> None:
    seen: list[Any] = []

    async def look(ctx: ToolContext, next: Next[ToolResult]) -> ToolResult:
        seen.append((ctx.call_id, ctx.call_index, ctx.tool is add, dict(ctx.args)))
        return await next()

    model = ScriptedModel([call("add", a=1), call("add", a=2, b=3)], "done")
    await Agent(model, tools=[add]).use(look).run("hi")
    assert seen == [("call-1", 0, True, {"a": 1, "b": 1}), ("call-2", 1, True, {"a": 2, "b": 3})]


@pytest.mark.parametrize(
    ("ending", "status"), [(None, "running"), (ValueError("boom"), "failed"), ("abort", "aborted")]
)
async def test_status_says_in_finally_how_the_turn_is_ending(ending: Any, status: str) -> None:
    seen: list[str] = []

    async def watch(ctx: TurnContext, next: Next[None]) -> None:
        try:
            await next()
        finally:
            seen.append(ctx.status)

    async def ends(ctx: ModelContext, next: Passing) -> ModelResponse:
        if ending == "abort":
            ctx.abort("enough")
        if ending is not None:
            raise ending
        return await next()

    async with Agent(ScriptedModel("ok")).use(watch, ends) as agent, agent.session() as session:
        try:
            await session.run("hi")
        except Exception:
            assert ending is not None
    assert seen == [status]


async def test_usage_is_of_the_turn_and_session_usage_of_all_turns() -> None:
    seen: list[tuple[int, int]] = []

    async def look(ctx: TurnContext, next: Next[None]) -> None:
        await next()
        seen.append((ctx.usage.model_calls, ctx.session_usage.model_calls))

    async with Agent(calls_add("3", "bye"), tools=[add]).use(look) as agent, agent.session() as session:
        await session.run("add")
        await session.run("bye")
    assert seen == [(2, 2), (1, 3)]


# --- input and output ---------------------------------------------------------------------------


async def test_a_turn_hook_may_replace_the_input_before_next_and_the_log_holds_the_final_form() -> None:
    async def masks(ctx: TurnContext, next: Next[None]) -> None:
        ctx.input = ctx.input.with_text(ctx.input.text.replace("secret", "***"))
        await next()

    model = ScriptedModel("ok")
    async with Agent(model).use(masks) as agent, agent.session() as session:
        await session.run("my secret")
        assert [message.text for message in session.history] == ["my ***", "ok"]
    assert model.requests[0].messages[0].text == "my ***"


async def test_replacing_the_input_after_it_was_logged_is_too_late() -> None:
    async def late(ctx: TurnContext, next: Next[None]) -> None:
        await next()
        ctx.input = Message("user", "something else")

    with pytest.raises(TooLateError, match=r"a turn hook replaces it before next\(\)"):
        await Agent(ScriptedModel("ok")).use(late).run("hi")


@pytest.mark.parametrize(
    "given",
    ["hi", [Message("user", "a"), Message("assistant", "b"), Message("user", "c")]],
    ids=["text", "messages"],
)
async def test_a_turn_refused_before_next_leaves_no_message_in_the_history(given: Any) -> None:
    async def refuses(ctx: TurnContext, next: Next[None]) -> None:
        raise PermissionError("closed on Sundays")

    async with Agent(ScriptedModel()).use(refuses) as agent, agent.session() as session:
        with pytest.raises(PermissionError):
            await session.run(given)
        assert session.history == ()


async def test_an_output_that_is_not_the_assistants_is_refused() -> None:
    async def confused(ctx: TurnContext, next: Next[None]) -> None:
        ctx.output = Message("user", "hi")

    with pytest.raises(HookError, match="an answer is a message of role \"assistant\", got one of role 'user'"):
        await Agent(ScriptedModel()).use(confused).run("hi")


# --- resources ----------------------------------------------------------------------------------


async def test_resources_hold_live_objects_by_type_for_the_whole_session() -> None:
    rows: list[int] = []

    async def connects(ctx: SessionContext, next: Next[None]) -> None:
        ctx.resources[Database] = Database(7)
        await next()

    async def reads(ctx: ModelContext, next: Passing) -> ModelResponse:
        rows.append(ctx.resources[Database].rows)
        return await next()

    async with Agent(ScriptedModel("a", "b")).use(connects, reads) as agent, agent.session() as session:
        await session.run("hi")
        await session.run("hi")
    assert rows == [7, 7]


async def test_a_session_can_be_opened_with_resources() -> None:
    database = Database()
    async with (
        Agent(ScriptedModel()) as agent,
        agent.session(resources={Database: database, "region": "eu"}) as session,
    ):
        assert session.resources[Database] is database
        assert session.resources["region"] == "eu"
        assert Database in session.resources
        assert session.resources.get(int) is None
        del session.resources[Database]
        assert Database not in session.resources


async def test_a_missing_resource_says_what_is_there_and_how_to_set_it() -> None:
    async with Agent(ScriptedModel()) as agent, agent.session(resources={"region": "eu"}) as session:
        with pytest.raises(KeyError) as caught:
            session.resources[Database]
    assert caught.value.args[0] == (
        "no resource Database in this session; there are: 'region'; set it in a session hook or open the session with "
        "resources={...}"
    )


# --- the request --------------------------------------------------------------------------------


async def test_edits_of_a_request_live_for_that_call() -> None:
    async def hints_once(ctx: ModelContext, next: Passing) -> ModelResponse:
        if ctx.call_index == 0:
            ctx.add_message("think hard")
            ctx.request = ctx.request.replace(settings=Settings(temperature=0.0))
        return await next()

    model = calls_add()
    async with Agent(model, tools=[add]).use(hints_once) as agent, agent.session() as session:
        await session.run("hi")
        assert [message.role for message in session.history] == ["user", "assistant", "tool", "assistant"]
    assert [len(request.messages) for request in model.requests] == [2, 3]
    assert [request.settings.temperature for request in model.requests] == [0.0, None]


async def test_a_message_that_is_kept_stands_in_every_later_request_with_its_origin() -> None:
    async def reminds(ctx: ModelContext, next: Passing) -> ModelResponse:
        if ctx.turn_index == 0:
            ctx.add_message("be brief", keep=True)
        return await next()

    model = ScriptedModel("one", "two")
    async with Agent(model).use(reminds) as agent, agent.session() as session:
        await session.run("hi")
        await session.run("more")
    assert [message.text for message in model.requests[0].messages] == ["hi", "be brief"]
    assert [message.text for message in model.requests[1].messages] == ["hi", "be brief", "one", "more"]
    assert model.requests[1].messages[1].origin == "reminds"


async def test_a_retry_around_a_kept_message_keeps_it_once() -> None:
    async def retry(ctx: ModelContext, next: Passing) -> ModelResponse:
        try:
            return await next()
        except ValueError:
            return await next()

    async def reminds(ctx: ModelContext, next: Passing) -> ModelResponse:
        ctx.add_message("be brief", keep=True)
        return await next()

    model = ScriptedModel(ValueError("down"), "ok")
    async with Agent(model).use(retry, reminds) as agent, agent.session() as session:
        await session.run("hi")
        assert [message.text for message in session.history] == ["hi", "be brief", "ok"]
    assert [message.text for message in model.requests[1].messages] == ["hi", "be brief"]


async def test_messages_can_be_replaced_for_one_call() -> None:
    async def last_only(ctx: ModelContext, next: Passing) -> ModelResponse:
        ctx.messages = ctx.messages[-1:]
        return await next()

    model = ScriptedModel("one", "two")
    async with Agent(model).use(last_only) as agent, agent.session() as session:
        await session.run("first")
        await session.run("second")
    assert [message.text for message in model.requests[1].messages] == ["second"]


async def test_messages_that_are_no_messages_are_refused() -> None:
    async def confused(ctx: ModelContext, next: Passing) -> ModelResponse:
        ctx.messages = ["hi"]  # type: ignore[list-item]
        return await next()

    with pytest.raises(HookError, match="messages"):
        await Agent(ScriptedModel()).use(confused).run("hi")


async def test_a_request_of_another_type_is_refused() -> None:
    async def confused(ctx: ModelContext, next: Passing) -> ModelResponse:
        ctx.request = {"messages": []}  # type: ignore[assignment]
        return await next()

    with pytest.raises(HookError, match=r"ctx\.request must be a ModelRequest, got dict"):
        await Agent(ScriptedModel()).use(confused).run("hi")


async def test_compact_sends_the_summary_from_now_on_and_the_entries_stay_in_the_log() -> None:
    async def summarises(ctx: ModelContext, next: Passing) -> ModelResponse:
        if ctx.turn_index == 1:
            ctx.compact(ctx.history[1], "They greeted.")
        return await next()

    model = ScriptedModel("hello", "good", "bye")
    async with Agent(model).use(summarises) as agent, agent.session() as session:
        for text in ("hi", "how are you", "bye"):
            await session.run(text)
        said = [event.response.message.text for event in session.log.of(ModelResponded)]
        assert_events(session.log, like(ContextCompacted, by="summarises"))
    assert [message.text for message in model.requests[1].messages] == ["They greeted.", "how are you"]
    assert [message.text for message in model.requests[2].messages] == ["They greeted.", "how are you", "good", "bye"]
    assert said == ["hello", "good", "bye"]


@pytest.mark.parametrize("upto", [1, 2], ids=["upto the calls", "upto the results"])
async def test_calls_and_their_results_leave_together_when_compacted(upto: int) -> None:
    async def summarises(ctx: ModelContext, next: Passing) -> ModelResponse:
        if ctx.turn_index == 1:
            ctx.compact(ctx.history[upto], "They added.")
        return await next()

    model = ScriptedModel([call("add", a=1), call("add", a=2)], "2 and 3", "bye")
    async with Agent(model, tools=[add]).use(summarises) as agent, agent.session() as session:
        await session.run("add")
        await session.run("bye")
        check_history(session.history)
    assert [message.text for message in model.requests[2].messages] == ["They added.", "2 and 3", "bye"]


async def test_compacting_up_to_a_message_that_is_not_in_the_history_is_refused() -> None:
    async def confused(ctx: ModelContext, next: Passing) -> ModelResponse:
        ctx.compact(Message("user", "hi"), "summary")
        return await next()

    with pytest.raises(ValueError, match=r"compact: that message is not in ctx\.history"):
        await Agent(ScriptedModel()).use(confused).run("hi")


# --- the system prompt --------------------------------------------------------------------------


async def test_instructions_and_the_users_message_are_sent_once_also_with_a_model_hook() -> None:
    model = calls_add()
    await Agent(model, instructions="Be kind.", tools=[add]).use(Seer(lambda ctx: None)).run("hi")
    for request in model.requests:
        assert request.system == (Section("instructions", "Be kind."),)
        assert [message.text for message in request.messages].count("hi") == 1


async def test_a_section_is_added_once_however_often_its_layer_runs_and_others_are_left_alone() -> None:
    async def memory(ctx: ModelContext, next: Passing) -> ModelResponse:
        ctx.add_system_message("Ann likes tea.")
        ctx.add_system_message("Ann likes coffee.")
        return await next()

    async def rules(ctx: ModelContext, next: Passing) -> ModelResponse:
        ctx.add_system_message("Never swear.", section="rules")
        return await next()

    model = ScriptedModel("ok")
    await Agent(model, instructions="Be kind.").use(memory, rules).run("hi")
    assert model.requests[0].system == (
        Section("instructions", "Be kind."),
        Section("memory", "Ann likes coffee."),
        Section("rules", "Never swear."),
    )
    assert model.requests[0].system_text == "Be kind.\n\nAnn likes coffee.\n\nNever swear."


async def test_the_static_part_of_the_prompt_stays_byte_identical_while_memory_changes() -> None:
    async def memory(ctx: ModelContext, next: Passing) -> ModelResponse:
        ctx.add_system_message(f"It is turn {ctx.turn_index}.")
        return await next()

    model = ScriptedModel("one", "two")
    async with Agent(model, instructions="Be kind.").use(memory) as agent, agent.session() as session:
        first, second = await session.run("hi"), await session.run("more")
    assert [request.system_text for request in model.requests] == [
        "Be kind.\n\nIt is turn 0.",
        "Be kind.\n\nIt is turn 1.",
    ]
    called = [event for answer in (first, second) for event in answer.events if isinstance(event, ModelCalled)]
    static, moving = "system:instructions", "system:memory"
    assert called[0].digests[static] == called[1].digests[static]
    assert called[0].digests[moving] != called[1].digests[moving]


async def test_transform_system_rewrites_the_assembled_text_first_registered_first() -> None:
    async def outer(ctx: ModelContext, next: Passing) -> ModelResponse:
        ctx.transform_system(lambda text: f"{text} (outer)")
        return await next()

    async def inner(ctx: ModelContext, next: Passing) -> ModelResponse:
        ctx.transform_system(lambda text: f"{text} (inner)")
        ctx.add_system_message("Added later.")
        return await next()

    model = ScriptedModel("ok")
    await Agent(model, instructions="Be kind.").use(outer, inner).run("hi")
    assert model.requests[0].system_text == "Be kind.\n\nAdded later. (outer) (inner)"


# --- model and tools of a request ---------------------------------------------------------------


async def test_set_model_really_switches_the_model_that_is_called() -> None:
    small, large = ScriptedModel(name="small"), ScriptedModel("from the large one", name="large")

    async def route(ctx: ModelContext, next: Passing) -> ModelResponse:
        ctx.set_model(large)
        assert ctx.model is large
        return await next()

    answer = await Agent(small).use(route).run("hi")
    assert (answer.text, small.requests) == ("from the large one", [])
    assert_events(answer.events, like(ModelCalled, model="large"))


async def test_set_model_to_an_unknown_name_says_what_is_installed() -> None:
    async def route(ctx: ModelContext, next: Passing) -> ModelResponse:
        ctx.set_model("nosuch:model")
        return await next()

    with pytest.raises(UnknownModelError, match="no model provider 'nosuch' for 'nosuch:model'"):
        await Agent(ScriptedModel()).use(route).run("hi")


async def test_set_model_to_what_is_no_model_is_refused() -> None:
    async def route(ctx: ModelContext, next: Passing) -> ModelResponse:
        ctx.set_model(42)  # type: ignore[arg-type]
        return await next()

    with pytest.raises(UseError, match="42 is no model"):
        await Agent(ScriptedModel()).use(route).run("hi")


async def test_a_removed_tool_is_hidden_and_refused_and_hooks_see_the_call() -> None:
    seen: list[str] = []

    async def hides(ctx: ModelContext, next: Passing) -> ModelResponse:
        ctx.remove_tools("add")
        return await next()

    async def look(ctx: ToolContext, next: Next[ToolResult]) -> ToolResult:
        seen.append(ctx.call.name)
        return await next()

    model = calls_add()
    answer = await Agent(model, tools=[add]).use(hides, look).run("hi")
    assert model.requests[0].tools == ()
    assert seen == ["add"]
    [returned] = assert_events(answer.events, like(ToolReturned, how="refused"))
    assert isinstance(returned, ToolReturned)
    assert returned.result.is_error
    assert returned.result.text == "tool 'add' may not be used now"


async def test_a_tool_that_an_answering_layer_has_hidden_is_refused_too() -> None:
    async def hides(ctx: ModelContext, next: Passing) -> ModelResponse:
        ctx.remove_tools("add")
        return await next()

    async def cached(ctx: ModelContext, next: Passing) -> ModelResponse:
        if ctx.call_index:
            return await next()
        return ModelResponse(Message("assistant", [call("add", a=1)]))

    answer = await Agent(ScriptedModel("done"), tools=[add]).use(hides, cached).run("hi")
    assert_events(answer.events, like(ToolReturned, how="refused"))


async def test_hiding_a_tool_from_one_session_leaves_it_to_the_others() -> None:
    async def hides(ctx: ModelContext, next: Passing) -> ModelResponse:
        if ctx.user_id == "guest":
            ctx.remove_tools("add")
        return await next()

    model = FunctionModel(lambda request: ", ".join(each.name for each in request.tools) or "none")
    agent = Agent(model, tools=[add]).use(hides)
    async with agent, agent.session(user_id="guest") as guest, agent.session(user_id="ann") as ann:
        assert (await guest.run("hi")).text == "none"
        assert (await ann.run("hi")).text == "add"


async def test_skip_call_answers_in_place_of_the_model() -> None:
    async def cached(ctx: ModelContext, next: Passing) -> ModelResponse:
        ctx.skip_call("from the cache")
        return await next()

    model = ScriptedModel()
    answer = await Agent(model).use(cached).run("hi")
    assert (answer.text, model.requests) == ("from the cache", [])
    assert "model:called" not in [event.type for event in answer.events]


# --- register_tool ------------------------------------------------------------------------------


async def test_a_tool_registered_in_init_serves_all_sessions() -> None:
    class Brings(Middleware):
        async def init(self, ctx: AgentContext) -> None:
            ctx.register_tool(add)

    model = ScriptedModel("one", "two")
    async with Agent(model).use(Brings()) as agent:
        for _ in range(2):
            async with agent.session() as session:
                await session.run("hi")
    assert [[each.name for each in request.tools] for request in model.requests] == [["add"], ["add"]]


async def test_all_declared_tools_are_there_before_the_first_init() -> None:
    seen: list[list[str]] = []

    class First(Middleware):
        async def init(self, ctx: AgentContext) -> None:
            seen.append(list(ctx.tools))

    class Second(Middleware):
        tools = (add,)

    async with Agent(ScriptedModel()).use(First(), Second()):
        assert seen == [["add"]]


async def test_a_tool_registered_in_a_session_serves_this_session_only_and_is_logged_by_name() -> None:
    async def brings(ctx: SessionContext, next: Next[None]) -> None:
        if ctx.user_id == "ann":
            ctx.register_tool(add)
        await next()

    model = FunctionModel(lambda request: ", ".join(each.name for each in request.tools) or "none")
    agent = Agent(model).use(brings)
    async with agent, agent.session(user_id="ann") as ann, agent.session(user_id="bob") as bob:
        assert (await ann.run("hi")).text == "add"
        assert (await bob.run("hi")).text == "none"
        assert_events(ann.log, ToolRegistered("add", "brings"))


async def test_a_tool_registered_in_mid_turn_is_usable_in_the_next_model_call_of_the_turn() -> None:
    @tool
    async def find_tools(ctx: ToolContext) -> str:
        """Load more tools."""
        ctx.register_tool(add)
        return "there is add now"

    model = ScriptedModel([call("find_tools")], [call("add", a=1)], "2")
    answer = await Agent(model, tools=[find_tools]).run("add")
    assert [[each.name for each in request.tools] for request in model.requests] == [
        ["find_tools"],
        ["find_tools", "add"],
        ["find_tools", "add"],
    ]
    assert_events(answer.events, like(ToolRegistered, name="add"), like(ToolReturned, name="add", how="ran"))


async def test_what_a_tool_does_is_signed_alike_however_the_agent_got_the_tool() -> None:
    @tool
    async def stop(ctx: ToolContext) -> str:
        """Stop."""
        ctx.abort("enough")

    class Brings(Middleware):
        tools = (stop,)

    signed: set[str] = set()
    for agent in (
        Agent(ScriptedModel([call("stop")]), tools=[stop]),
        Agent(ScriptedModel([call("stop")])).use(Brings()),
    ):
        with pytest.raises(TurnAbortedError) as caught:
            await agent.run("hi")
        signed.add(caught.value.by)
    assert len(signed) == 1


async def test_registering_a_second_tool_of_one_name_is_refused_with_the_origin() -> None:
    async def brings(ctx: SessionContext, next: Next[None]) -> None:
        ctx.register_tool(tool(name="add")(lambda: ""))
        await next()

    async with Agent(ScriptedModel(), tools=[add]).use(brings) as agent:
        with pytest.raises(UseError, match=r"two tools are named 'add' \(brings\)"):
            await agent.session().__aenter__()


async def test_registering_what_is_no_tool_is_refused() -> None:
    async def brings(ctx: SessionContext, next: Next[None]) -> None:
        ctx.register_tool(len)  # type: ignore[arg-type]
        await next()

    async with Agent(ScriptedModel()).use(brings) as agent:
        with pytest.raises(
            UseError, match=r"brings: register_tool\(.*\): not a tool; decorate the function with @tool"
        ):
            await agent.session().__aenter__()


async def test_a_tools_own_failure_is_seen_by_hooks_as_a_tool_error_with_its_cause() -> None:
    seen: list[ToolError] = []

    @tool
    async def breaks() -> str:
        """Break."""
        raise LookupError("nothing there")

    async def look(ctx: ToolContext, next: Next[ToolResult]) -> ToolResult:
        try:
            return await next()
        except ToolError as error:
            seen.append(error)
            raise

    await Agent(ScriptedModel([call("breaks")], "done"), tools=[breaks]).use(look).run("hi")
    [error] = seen
    assert (error.tool, type(error.error), str(error)) == ("breaks", LookupError, "LookupError: nothing there")
