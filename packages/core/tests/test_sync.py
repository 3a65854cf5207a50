"""The synchronous face: for code without a loop, for many threads, and under a running loop."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from agent_express import (
    Agent,
    AgentContext,
    End,
    Middleware,
    ModelContext,
    ModelResponse,
    Next,
    TextDelta,
    TurnAbortedError,
    tool,
)
from agent_express.errors import UseError
from agent_express.events import TurnEnded
from agent_express.testing import FunctionModel, ScriptedModel, call, text_of

Passing = Next[ModelResponse]


@tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


class Life(Middleware):
    """Notes in which thread it is opened and closed."""

    def __init__(self) -> None:
        self.threads: list[int] = []

    async def init(self, ctx: AgentContext) -> None:
        self.threads.append(threading.get_ident())

    async def dispose(self) -> None:
        self.threads.append(threading.get_ident())


def echo() -> FunctionModel:
    return FunctionModel(lambda request: request.messages[-1].text)


def test_an_agent_runs_in_a_loop_of_its_own_in_one_thread() -> None:
    life = Life()
    with Agent(ScriptedModel([call("add", a=1, b=2)], "It is 3."), tools=[add]).use(life).sync() as agent:
        assert agent.run("What is 1 + 2?").text == "It is 3."
        assert len(life.threads) == 1
    assert len(set(life.threads)) == 1
    assert life.threads[0] != threading.get_ident()


def test_run_sync_is_that_for_one_call() -> None:
    life = Life()
    assert Agent(echo()).use(life).run_sync("hello").text == "hello"
    assert len(life.threads) == 2


def test_no_thread_is_left_when_the_block_is_left() -> None:
    before = threading.active_count()
    with Agent(echo()).sync() as agent:
        agent.run("hi")
        assert threading.active_count() == before + 1
    assert threading.active_count() == before


async def test_run_sync_works_under_a_running_loop() -> None:
    assert Agent(echo()).run_sync("from a notebook").text == "from a notebook"


def test_many_threads_share_one_agent() -> None:
    everyone_there = threading.Barrier(8)
    life = Life()
    with Agent(echo()).use(life).sync() as agent, ThreadPoolExecutor(8) as pool:

        def turn(number: int) -> str:
            everyone_there.wait(60)
            return agent.run(f"turn {number}").text

        assert list(pool.map(turn, range(8))) == [f"turn {number}" for number in range(8)]
    assert len(life.threads) == 2


def test_a_session_keeps_its_history() -> None:
    with Agent(echo()).sync() as agent, agent.session("s1", user_id="ann") as session:
        assert session.run("one").text == "one"
        assert session.run("two").text == "two"
        assert session.id == "s1"
        assert [message.text for message in session.history] == ["one", "one", "two", "two"]


def test_a_stream_is_iterated_and_ends_with_the_answer() -> None:
    with Agent(ScriptedModel("a b c")).sync() as agent, agent.session() as session, session.stream("hi") as stream:
        items = list(stream)
        assert text_of(items) == "a b c"
        assert isinstance(items[-1], End)
        assert items[-1].result is stream.answer


def test_leaving_a_stream_early_cancels_the_turn() -> None:
    with Agent(ScriptedModel("a b c", "fine")).sync() as agent, agent.session() as session:
        with session.stream("hi") as stream:
            for item in stream:
                if isinstance(item, TextDelta):
                    break
        assert session.run("again").text == "fine"


def test_options_go_through() -> None:
    seen: list[Any] = []

    async def look(ctx: ModelContext, next: Passing) -> ModelResponse:
        seen.append(ctx.metadata["a"])
        return await next()

    answer = Agent(ScriptedModel('{"value": 3}')).run_sync("hi", output=int, use=[look], metadata={"a": 1})
    assert (answer.output, seen) == (3, [1])


def test_errors_come_out_as_they_are() -> None:
    async def stops(ctx: ModelContext, next: Passing) -> ModelResponse:
        ctx.abort("enough")

    with Agent(echo()).use(stops).sync() as agent, agent.session() as session:
        with pytest.raises(TurnAbortedError, match="stops: enough"):
            session.run("hi")
        assert [message.text for message in session.history] == ["hi"]


def test_a_failing_opening_leaves_no_thread() -> None:
    class Breaks(Middleware):
        async def init(self, ctx: AgentContext) -> None:
            raise ConnectionError("no network")

    before = threading.active_count()
    with pytest.raises(ConnectionError, match="no network"):
        Agent(echo()).use(Breaks()).run_sync("hi")
    assert threading.active_count() == before


def test_an_agent_that_is_not_open_says_how_to_open_it() -> None:
    closed = Agent(echo()).sync()
    with pytest.raises(UseError, match=r"the agent is not open: write `with agent\.sync\(\) as a:`"):
        closed.run("hi")


async def test_an_agent_that_is_open_in_a_loop_is_not_opened_in_another() -> None:
    async with Agent(echo()) as agent:
        with pytest.raises(UseError, match="is open in another event loop"):
            await asyncio.to_thread(agent.run_sync, "hi")


def test_a_synchronous_tool_may_call_the_agent_it_serves() -> None:
    with Agent(echo()).sync() as inner:

        @tool
        def consult(question: str) -> str:
            """Consult the other agent."""
            return inner.run(question).text

        outer = Agent(ScriptedModel([call("consult", question="why?")], "done"), tools=[consult])
        with outer.sync() as agent, agent.session() as session:
            answer = session.run("hi")
            assert session.history[2].parts[0].text == "why?"  # type: ignore[union-attr]
    assert [event.status for event in answer.events if isinstance(event, TurnEnded)] == ["completed"]


def test_an_asynchronous_hook_that_calls_the_synchronous_face_is_told_to_await() -> None:
    with Agent(echo()).sync() as agent:

        async def wrong(ctx: ModelContext, next: Passing) -> ModelResponse:
            agent.run("again")
            return await next()

        with pytest.raises(UseError, match="await"):
            agent.run("hi", use=[wrong])
