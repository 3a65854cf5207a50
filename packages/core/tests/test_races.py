"""Sessions and turns that run at once: one agent serves many, and a session one turn after the other."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from packages.core.tests.stepping import ended, give_way, until
from pydantic import BaseModel

from agent_express import (
    Agent,
    End,
    Events,
    Message,
    ModelContext,
    ModelRequest,
    ModelResponse,
    Next,
    Session,
    SessionContext,
    TextDelta,
    Tool,
    ToolContext,
    ToolResult,
    TurnContext,
    TurnEnded,
    tool,
)
from agent_express.errors import SessionBusyError
from agent_express.events import ToolCalled, ToolReturned
from agent_express.testing import FunctionModel, Say, call, check_history, no_leaks, text_of

# --- sessions side by side ------------------------------------------------------------------------


class Baton:
    """Lets tasks go on one at a time, in the order that the test has chosen."""

    def __init__(self) -> None:
        self.waiting: dict[str, list[asyncio.Future[None]]] = {}

    async def wait(self, name: str) -> None:
        """Wait until it is the turn of *name*."""
        gate: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.waiting.setdefault(name, []).append(gate)
        await gate

    def step(self, name: str) -> bool:
        """Let one task of *name* go on; whether one waited."""
        gates = [gate for gate in self.waiting.get(name, []) if not gate.done()]
        if gates:
            gates[0].set_result(None)
        return bool(gates)


class Owned(BaseModel):
    """What belongs to one session."""

    words: list[str] = []


class Keeper:
    """Writes the session's name wherever a hook can write, and stops at every hook."""

    name = "keeper"
    state = Owned

    def __init__(self, baton: Baton) -> None:
        self.baton = baton

    async def session(self, ctx: SessionContext, next: Next[None]) -> None:
        ctx.resources[str] = ctx.session_id
        await next()

    async def turn(self, ctx: TurnContext, next: Next[None]) -> None:
        await self.keep(ctx, "turn")
        ctx.input = Message("user", f"{ctx.input.text} says {ctx.session_id}")
        await next()
        await self.keep(ctx, "turn again")

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> Events[ModelResponse]:
        await self.keep(ctx, "model")
        ctx.add_system_message(ctx.session_id)
        if ctx.session_id == "a":
            ctx.remove_tools("private_b")
        async for event in next():
            await self.baton.wait(ctx.session_id)
            yield event

    async def tool(self, ctx: ToolContext, next: Next[ToolResult]) -> ToolResult:
        await self.keep(ctx, "tool")
        result = await next()
        await self.keep(ctx, "tool again")
        return result

    async def keep(self, ctx: TurnContext, word: str) -> None:
        before = list(ctx.state[self].words)
        await self.baton.wait(ctx.session_id)
        assert ctx.state[self].words[: len(before)] == before
        assert ctx.resources[str] == ctx.session_id
        ctx.state[self].words.append(f"{ctx.session_id} {word}")


def parrot(request: ModelRequest) -> Any:
    """Call a tool with the name that stands in the system prompt, then answer with it."""
    name = request.system_text
    if request.messages[-1].role == "tool":
        return f"This was {name}."
    return ["Let me see,", f" {name}.", call("sign", name=name).replace(id=f"{name}-1")]


def signing(baton: Baton) -> list[Tool]:
    @tool
    async def sign(name: str, ctx: ToolContext) -> AsyncIterator[str | End[str]]:
        """Sign with a name."""
        await baton.wait(ctx.session_id)
        assert ctx.session_id == name
        yield f"{name} signs"
        yield End(f"signed by {name}")

    @tool
    async def private_b() -> str:
        """Only for b."""
        return "b"

    return [sign, private_b]


async def listen(session: Session, name: str) -> list[Any]:
    async with session.stream(f"this is {name}") as events:
        return [event async for event in events]


@settings(max_examples=60, derandomize=True)
@given(order=st.lists(st.sampled_from(["a", "b"]), min_size=10, max_size=60))
async def test_two_sessions_of_one_agent_do_not_mix_however_they_are_interleaved(order: list[str]) -> None:
    baton = Baton()
    keeper = Keeper(baton)
    model = FunctionModel(parrot)
    agent = Agent(model, tools=signing(baton)).use(keeper)
    async with agent, agent.session("a") as a, agent.session("b") as b, no_leaks():
        tasks = {name: asyncio.create_task(listen(each, name)) for name, each in (("a", a), ("b", b))}
        for name in order:
            await give_way(6)
            baton.step(name)
        while not all(task.done() for task in tasks.values()):
            await give_way(6)
            for name in tasks:
                baton.step(name)
        for name, session in (("a", a), ("b", b)):
            check_own(name, session, keeper, tasks[name].result())
    assert {tool.name for request in model.requests for tool in request.tools if request.system_text == "b"} == {
        "sign",
        "private_b",
    }


def check_own(name: str, session: Session, keeper: Keeper, events: list[Any]) -> None:
    """Check that everything a session has is its own."""
    other = "b" if name == "a" else "a"
    words = ["turn", "model", "tool", "tool again", "model", "turn again"]
    assert session.state[keeper].words == [f"{name} {word}" for word in words]
    assert [message.text for message in session.history if message.role == "user"] == [f"this is {name} says {name}"]
    assert text_of(events) == f"Let me see, {name}.This was {name}."
    assert f"signed by {name}" in repr(session.history)
    assert f"{other}." not in repr(session.history)
    assert session.usage.model_calls == 2
    assert session.usage.tool_calls == 1
    check_history(session.history)


async def test_ending_one_session_cancels_nothing_in_another() -> None:
    stalls = {"a": asyncio.Event(), "b": asyncio.Event()}
    model = FunctionModel(lambda request: Say("a b", delay=stalls[request.messages[-1].text], delay_after=1))
    async with Agent(model) as agent, agent.session("b") as b, no_leaks():
        async with agent.session("a") as a:
            first, second = asyncio.create_task(a.run("a")), asyncio.create_task(b.run("b"))
            await until(lambda: model.open_streams == 2)
        await asyncio.wait([first])
        assert model.open_streams == 1
        stalls["b"].set()
        assert (await second).text == "a b"


# --- one turn at a time ---------------------------------------------------------------------------


class Queue:
    """A session whose turns wait in the model until they are let go."""

    def __init__(self) -> None:
        self.gates: dict[str, asyncio.Event] = {}
        self.began: list[str] = []
        self.agent = Agent(FunctionModel(self.reply))

    def reply(self, request: ModelRequest) -> Say:
        said = request.messages[-1].text
        self.began.append(said)
        return Say(["so ", said], delay=self.gates.setdefault(said, asyncio.Event()), delay_after=1)

    async def has_begun(self, turns: int) -> None:
        await until(lambda: len(self.began) == turns)

    def let_go(self, said: str) -> None:
        self.gates.setdefault(said, asyncio.Event()).set()


async def test_a_second_turn_is_refused_while_the_first_runs_and_nothing_is_written() -> None:
    queue = Queue()
    async with queue.agent, queue.agent.session() as session, no_leaks():
        first = asyncio.create_task(session.run("one"))
        await until(lambda: queue.began == ["one"])
        before = len(session.log)
        with pytest.raises(SessionBusyError, match='on_busy="wait"'):
            await session.run("two")
        with pytest.raises(SessionBusyError):
            async with session.stream("three") as events:
                await anext(events)
        assert len(session.log) == before
        queue.let_go("one")
        assert (await first).text == "so one"
    assert queue.began == ["one"]


async def test_turns_that_wait_are_run_in_the_order_in_which_they_came() -> None:
    queue = Queue()
    async with queue.agent, queue.agent.session() as session, no_leaks():
        tasks = []
        for said in ("one", "two", "three", "four"):
            tasks.append(asyncio.create_task(session.run(said, on_busy="wait")))
            await give_way(2)
        for n, said in enumerate(("one", "two", "three", "four")):
            await queue.has_begun(n + 1)
            queue.let_go(said)
        assert [(await task).text for task in tasks] == ["so one", "so two", "so three", "so four"]
        assert [message.text for message in session.history if message.role == "user"] == queue.began
        check_history(session.history)


@pytest.mark.parametrize("gone", ["two", "three"])
async def test_a_turn_that_is_cancelled_while_it_waits_leaves_no_trace_and_the_others_keep_their_order(
    gone: str,
) -> None:
    queue = Queue()
    async with queue.agent, queue.agent.session() as session, no_leaks():
        tasks = {}
        for said in ("one", "two", "three", "four"):
            tasks[said] = asyncio.create_task(session.run(said, on_busy="wait"))
            await give_way(2)
        tasks[gone].cancel()
        assert isinstance(await ended(tasks[gone]), asyncio.CancelledError)
        left = [said for said in tasks if said != gone]
        for n, said in enumerate(left):
            await queue.has_begun(n + 1)
            queue.let_go(said)
        assert [(await tasks[said]).text for said in left] == [f"so {said}" for said in left]
        assert queue.began == left
        assert gone not in [message.text for message in session.history]


async def test_a_turn_that_is_cancelled_in_the_moment_it_is_let_in_passes_the_session_on() -> None:
    queue = Queue()
    async with queue.agent, queue.agent.session() as session, no_leaks():
        first, second, third = (asyncio.create_task(session.run(said, on_busy="wait")) for said in ("1", "2", "3"))
        await until(lambda: queue.began == ["1"])
        first.add_done_callback(lambda _: second.cancel())
        queue.let_go("1")
        await asyncio.wait([second])
        queue.let_go("2")
        queue.let_go("3")
        assert (await third).text == "so 3"
        assert [each.status for each in session.log.of(TurnEnded)][-1] == "completed"
        assert (await session.run("1")).text == "so 1"


async def test_a_session_that_is_promised_to_a_waiting_turn_is_busy() -> None:
    queue = Queue()
    queue.let_go("one")
    async with queue.agent, queue.agent.session() as session, no_leaks():

        async def impatient() -> str:
            await session.run("one")
            return (await session.run("three")).text

        first = asyncio.create_task(impatient())
        await give_way(1)
        waiting = asyncio.create_task(session.run("two", on_busy="wait"))
        assert isinstance(await ended(first), SessionBusyError)
        queue.let_go("two")
        assert (await waiting).text == "so two"


async def test_parallel_calls_of_one_batch_keep_their_results_apart() -> None:
    gates = [asyncio.Event() for _ in range(4)]

    @tool
    async def number(n: int) -> str:
        """Answer with the number."""
        await gates[n].wait()
        if n:
            gates[n - 1].set()
        return f"number {n}"

    model = FunctionModel(
        lambda request: "Done." if request.messages[-1].role == "tool" else [call("number", n=n) for n in range(4)]
    )
    async with Agent(model, tools=[number]) as agent, agent.session() as session, no_leaks():
        gates[3].set()
        answer = await session.run("go")
        called = [event for event in answer.events if isinstance(event, ToolCalled)]
        returned = [event for event in answer.events if isinstance(event, ToolReturned)]
        assert [event.result.text for event in returned] == ["number 3", "number 2", "number 1", "number 0"]
        assert [part.text for part in session.history[2].parts if isinstance(part, ToolResult)] == [
            f"number {event.args['n']}" for event in called
        ]
        check_history(session.history)


async def test_the_events_of_two_streams_at_once_stay_apart() -> None:
    model = FunctionModel(lambda request: f"{request.messages[-1].text} " * 20)

    async def listener(agent: Agent, said: str) -> list[str]:
        async with agent.session() as session, session.stream(said) as events:
            return [event.text.strip() async for event in events if isinstance(event, TextDelta)]

    async with Agent(model) as agent, no_leaks():
        heard = await asyncio.gather(*[listener(agent, f"word{n}") for n in range(10)])
    assert [set(words) - {""} for words in heard] == [{f"word{n}"} for n in range(10)]
