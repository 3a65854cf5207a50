"""The agent: what it is made of, and what `run` does."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path
from typing import Any

import pytest

from agent_express import (
    Agent,
    AgentContext,
    Answer,
    End,
    Limits,
    Middleware,
    ModelContext,
    ModelResponse,
    Next,
    SessionContext,
    TextDelta,
    TurnContext,
    tool,
)
from agent_express.errors import UseError
from agent_express.messages import Settings
from agent_express.testing import FunctionModel, ScriptedModel, call, no_leaks, text_of

Passing = Next[ModelResponse]


@tool
async def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def look(ctx: ModelContext, next: Passing) -> ModelResponse:
    return await next()


async def test_ten_lines_make_an_agent_with_a_tool_and_a_middleware() -> None:
    spent: list[int] = []

    async def budget(ctx: ModelContext, next: Passing) -> ModelResponse:
        response = await next()
        spent.append(response.usage.total_tokens or 0)
        return response

    model = ScriptedModel([call("add", a=1, b=2)], "It is 3.")
    async with Agent(model, instructions="Be brief.", tools=[add]).use(budget) as agent:
        answer = await agent.run("What is 1 + 2?")
    assert answer.text == "It is 3."
    assert len(spent) == 2


# --- making one ---------------------------------------------------------------------------------


async def test_an_agent_is_made_of_model_name_instructions_tools_use_and_limits() -> None:
    model = ScriptedModel("ok")
    agent = Agent(model, name="helper", instructions="Help.", tools=[add], use=[look], limits=Limits(max_steps=7))
    assert (agent.name, agent.instructions, agent.limits.max_steps, agent.model) == ("helper", "Help.", 7, model)
    await agent.run("hi")
    [request] = model.requests
    assert (request.system_text, [each.name for each in request.tools]) == ("Help.", ["add"])


def test_tools_and_middleware_given_at_making_are_checked_like_those_of_use() -> None:
    with pytest.raises(UseError, match="two tools are named 'add'"):
        Agent(ScriptedModel(), tools=[add, tool(name="add")(lambda: "")])
    with pytest.raises(UseError, match="a middleware named 'look' is in use already"):
        Agent(ScriptedModel(), use=[look]).use(look)


async def test_without_instructions_there_is_no_system_prompt() -> None:
    model = ScriptedModel("ok")
    await Agent(model).run("hi")
    assert model.requests[0].system == ()


# --- run ----------------------------------------------------------------------------------------


async def test_run_opens_and_closes_an_agent_that_is_not_open() -> None:
    seen: list[str] = []

    class Life(Middleware):
        async def init(self, ctx: AgentContext) -> None:
            seen.append("init")

        async def dispose(self) -> None:
            seen.append("dispose")

    agent = Agent(ScriptedModel("a", "b", "c")).use(Life())
    async with no_leaks():
        await agent.run("one")
        assert seen == ["init", "dispose"]
        async with agent:
            await agent.run("two")
            await agent.run("three")
            assert seen == ["init", "dispose", "init"]


async def test_each_run_is_a_session_of_its_own() -> None:
    seen: list[tuple[str, int]] = []

    async def watch(ctx: SessionContext, next: Next[None]) -> None:
        await next()
        seen.append((ctx.session_id, len(ctx.history)))

    async with Agent(ScriptedModel("a", "b")).use(watch) as agent:
        await agent.run("one")
        await agent.run("two")
    assert [length for _, length in seen] == [2, 2]
    assert len({session_id for session_id, _ in seen}) == 2


async def test_runs_at_once_share_one_agent_and_nothing_else() -> None:
    both = asyncio.Barrier(2)

    async def meet(ctx: ModelContext, next: Passing) -> ModelResponse:
        await both.wait()
        return await next()

    agent = Agent(FunctionModel(lambda request: request.messages[-1].text)).use(meet)
    answers = await asyncio.gather(agent.run("one"), agent.run("two"))
    assert [answer.text for answer in answers] == ["one", "two"]


async def test_run_takes_what_a_session_takes() -> None:
    seen: list[Any] = []

    async def extra(ctx: ModelContext, next: Passing) -> ModelResponse:
        seen.append((ctx.model.name, ctx.request.settings.seed, ctx.metadata["a"]))
        return await next()

    other = ScriptedModel("3", name="other")
    answer = await Agent(ScriptedModel()).run(
        "hi", use=[extra], model=other, settings=Settings(seed=7), limits=Limits(), metadata={"a": 1}
    )
    assert (answer.text, seen) == ("3", [("other", 7, 1)])


async def test_an_answer_says_what_a_turn_gave_and_where_it_stands() -> None:
    async with Agent(ScriptedModel("hello")) as agent, agent.session("s1") as session:
        answer = await session.run("hi")
        assert isinstance(answer, Answer)
        assert (answer.text, answer.output, answer.status, answer.limit) == ("hello", "hello", "completed", None)
        assert (answer.session_id, answer.message) == ("s1", session.history[-1])
        assert answer.turn_id
        assert answer.usage.model_calls == 1


async def test_a_session_hook_wraps_the_whole_run() -> None:
    seen: list[str] = []

    async def watch(ctx: SessionContext, next: Next[None]) -> None:
        seen.append("open")
        await next()
        seen.append("closed")

    async def turn(ctx: TurnContext, next: Next[None]) -> None:
        seen.append("turn")
        await next()

    await Agent(ScriptedModel("ok")).use(watch, turn).run("hi")
    assert seen == ["open", "turn", "closed"]


async def test_run_and_stream_give_the_same_answer_and_the_same_events() -> None:
    async def turns(streaming: bool) -> tuple[str, list[str]]:
        model = ScriptedModel([call("add", a=1, b=2)], "It is 3.")
        async with Agent(model, tools=[add]).use(look) as agent, agent.session() as session:
            if not streaming:
                answer = await session.run("hi")
            else:
                async with session.stream("hi") as stream:
                    items = [item async for item in stream]
                assert text_of(items) == "It is 3."
                assert sum(isinstance(item, TextDelta) for item in items) == 3
                assert isinstance(items[-1], End)
                answer = stream.answer
            return answer.text, [event.type for event in answer.events]

    assert await turns(streaming=False) == await turns(streaming=True)


# --- the README ---------------------------------------------------------------------------------


def readme_samples() -> list[str]:
    text = (Path(__file__).parents[1] / "README.md").read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("sample", readme_samples(), ids=lambda sample: sample.splitlines()[-1].strip()[:30])
def test_the_samples_of_the_readme_run(sample: str, capsys: pytest.CaptureFixture[str]) -> None:
    scope: dict[str, Any] = {"model": ScriptedModel([call("weather", city="Oslo")], "Take a coat.")}
    exec(compile(sample.replace('"openai:gpt-5"', "model"), "README.md", "exec"), scope)
    if "asyncio.run(" in sample:
        assert capsys.readouterr().out.splitlines()[-1] == "Take a coat."
    if "chat" in scope:
        asyncio.run(scope["chat"](Agent(FunctionModel(lambda request: f"turn {len(request.messages)}"))))
        assert capsys.readouterr().out.startswith("turn 1\nturn 3TurnUsage(")
    if "TokenBudget" in scope:
        stack = [scope["TokenBudget"](limit=1000), scope["Shout"](), scope["read_only"]]
        assert Agent(ScriptedModel("hello")).use(stack).run_sync("hi").text == "HELLO"
    for name in [name for name in scope if name.startswith("test_")]:
        asyncio.run(scope[name]())
