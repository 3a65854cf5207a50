"""Models: a protocol, a name, and their life with the agent."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from agent_express import Agent, End, Event, Message, ModelContext, ModelRequest, ModelResponse, Next, TextDelta
from agent_express.errors import (
    MissingPackageError,
    ProviderUnavailableError,
    UnknownModelError,
    UseError,
    WrongResultError,
)
from agent_express.models import Model, complete, resolve_model
from agent_express.registry import registry  # before a test hides what is installed
from agent_express.testing import ScriptedModel, no_leaks

Passing = Next[ModelResponse]


class Parrot:
    """The smallest model: a name and a stream."""

    def __init__(self, name: str = "test:parrot") -> None:
        self.name = name
        self.life: list[str] = []

    async def stream(self, request: ModelRequest) -> AsyncIterator[Event | End[ModelResponse]]:
        text = request.messages[-1].text
        self.life.append("answers")
        yield TextDelta(text)
        yield End(ModelResponse(Message("assistant", text)))


class Connected(Parrot):
    """A model with a connection."""

    async def init(self) -> None:
        self.task = asyncio.current_task()
        self.life.append("init")

    async def dispose(self) -> None:
        assert asyncio.current_task() is self.task
        self.life.append("dispose")


PROVIDERS = """
from agent_express import End, Message, ModelResponse


class Parrot:
    def __init__(self, name):
        self.name = f"parrots:{name}"

    async def stream(self, request):
        yield End(ModelResponse(Message("assistant", request.messages[-1].text)))


def needs_feathers(name):
    import feathers
"""


@pytest.fixture
def offer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Install distributions that offer models, "name: function" each, and hide those that are installed already."""
    registry()
    others = [path for path in sys.path if "site-packages" not in path]
    monkeypatch.setattr(sys, "path", [str(tmp_path), *others])
    (tmp_path / "parrot_providers.py").write_text(PROVIDERS, encoding="utf-8")

    def install(**distributions: str) -> None:
        for dist, provider in distributions.items():
            name, _, function = provider.partition(": ")
            info = tmp_path / f"{dist}-1.0.dist-info"
            info.mkdir()
            (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {dist}\nVersion: 1.0\n", encoding="utf-8")
            entry = f"[agent_express.models]\n{name} = parrot_providers:{function}\n"
            (info / "entry_points.txt").write_text(entry, encoding="utf-8")

    return install


# --- the protocol -------------------------------------------------------------------------------


async def test_an_object_with_a_name_and_a_stream_is_a_model() -> None:
    model = Parrot()
    assert isinstance(model, Model)
    assert (await Agent(model).run("hello")).text == "hello"


async def test_complete_calls_a_model_outside_of_any_agent() -> None:
    model = Parrot()
    response = await complete(model, ModelRequest(model, (Message("user", "hello"),)))
    assert response.message.text == "hello"


async def test_a_stream_without_end_is_a_retryable_error_that_names_the_model() -> None:
    class Torn(Parrot):
        async def stream(self, request: ModelRequest) -> AsyncIterator[Event | End[ModelResponse]]:
            yield TextDelta("hel")

    for run in (Agent(Torn()).run("hi"), complete(Torn(), ModelRequest(Torn()))):
        with pytest.raises(ProviderUnavailableError, match="test:parrot: the stream ended without End") as caught:
            await run
        assert caught.value.retryable


class Yields(Parrot):
    """A model that yields *item* and nothing else."""

    def __init__(self, item: Any) -> None:
        super().__init__()
        self.item = item

    async def stream(self, request: ModelRequest) -> AsyncIterator[Any]:
        yield self.item


@pytest.mark.parametrize(
    ("item", "complaint"),
    [
        ("hello", "test:parrot yielded a str, expected an event or End"),
        (End("hello"), "test:parrot: End holds 'hello', expected a ModelResponse"),
        (End(ModelResponse(Message("user", "hi"))), "a model answers with role \"assistant\", got 'user' at step 0"),
    ],
)
async def test_what_a_model_may_not_yield_is_named(item: Any, complaint: str) -> None:
    with pytest.raises(WrongResultError, match=complaint):
        await Agent(Yields(item)).run("hi")


@pytest.mark.parametrize("model", [42, None, {}, "hi".upper], ids=["number", "none", "dict", "function"])
def test_what_is_no_model_is_refused_when_the_agent_is_made(model: Any) -> None:
    with pytest.raises(UseError) as caught:
        Agent(model)
    assert str(caught.value) == (
        f'Agent: {model!r} is no model: hand in a name such as "openai:gpt-5", or an object with stream()'
    )


def test_a_class_in_place_of_a_model_says_so() -> None:
    with pytest.raises(UseError, match="Agent: got the class Parrot as model, expected an instance or a name"):
        Agent(Parrot)


# --- names --------------------------------------------------------------------------------------


def test_a_name_is_split_at_the_first_colon(offer: Callable[..., None]) -> None:
    offer(birds="parrots: Parrot")
    assert resolve_model("parrots:grey:large").name == "parrots:grey:large"
    assert Agent("parrots:grey").model.name == "parrots:grey"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("nosuch:model", 'a model is named "provider:model"'),
        ("parots:grey", "meant 'parrots'"),
        ("gpt-5", 'a model is named "provider:model"'),
        ("openai:gpt-5", "install it: pip install agent-express-openai"),
    ],
)
def test_an_unknown_name_says_what_is_installed_and_what_to_do(
    offer: Callable[..., None], name: str, hint: str
) -> None:
    offer(birds="parrots: Parrot")
    with pytest.raises(UnknownModelError) as caught:
        resolve_model(name)
    provider = name.partition(":")[0]
    assert str(caught.value).startswith(f"no model provider {provider!r} for {name!r}; installed: parrots; ")
    assert hint in str(caught.value)


def test_a_provider_that_lacks_a_package_names_the_install_command(offer: Callable[..., None]) -> None:
    offer(birds="parrots: needs_feathers")
    with pytest.raises(MissingPackageError, match=r"No module named 'feathers'; install it again: pip install birds"):
        resolve_model("parrots:grey")


def test_two_packages_that_offer_one_provider_are_ambiguous_and_both_are_named(offer: Callable[..., None]) -> None:
    offer(birds="parrots: Parrot", zoo="parrots: needs_feathers")
    with pytest.raises(UnknownModelError, match="several packages offer models called 'parrots': birds, zoo"):
        resolve_model("parrots:grey")


async def test_a_name_that_a_hook_switches_to_is_resolved_once_per_open_agent(offer: Callable[..., None]) -> None:
    offer(birds="parrots: Parrot")
    seen: list[Any] = []

    async def route(ctx: ModelContext, next: Passing) -> ModelResponse:
        ctx.set_model("parrots:grey")
        seen.append(ctx.model)
        return await next()

    async with Agent(ScriptedModel()).use(route) as agent:
        for _ in range(2):
            assert (await agent.run("hello")).text == "hello"
    assert seen[0] is seen[1]


# --- their life ---------------------------------------------------------------------------------


async def test_the_agents_model_is_opened_and_closed_once_in_the_owner_task() -> None:
    model = Connected()
    agent = Agent(model)
    await agent.__aenter__()
    for _ in range(2):
        await agent.run("hi")
    await asyncio.create_task(agent.__aexit__(None, None, None))
    assert model.life == ["init", "answers", "answers", "dispose"]


async def test_another_model_is_opened_at_first_use_and_closed_with_the_agent() -> None:
    usual, other = Connected("usual"), Connected("other")
    async with no_leaks(), Agent(usual) as agent, agent.session() as session:
        assert other.life == []
        for _ in range(2):
            await session.run("hi", model=other)
        assert other.life == ["init", "answers", "answers"]
    assert (other.life[-1], usual.life) == ("dispose", ["init", "dispose"])


async def test_two_sessions_that_use_another_model_at_once_open_it_once() -> None:
    gate = asyncio.Event()

    class Slow(Connected):
        async def init(self) -> None:
            await super().init()
            await gate.wait()

    other = Slow("other")
    async with Agent(Parrot()) as agent:
        both = asyncio.gather(agent.run("a", model=other), agent.run("b", model=other))
        while not other.life:
            await asyncio.sleep(0)
        gate.set()
        assert [answer.text for answer in await both] == ["a", "b"]
    assert other.life.count("init") == 1


async def test_a_model_whose_init_fails_at_first_use_fails_that_turn_and_is_tried_again() -> None:
    class Flaky(Connected):
        async def init(self) -> None:
            await super().init()
            if self.life == ["init"]:
                raise ConnectionError("no network")

    other = Flaky("other")
    async with Agent(Parrot()) as agent, agent.session() as session:
        with pytest.raises(ConnectionError, match="no network"):
            await session.run("hi", model=other)
        assert (await session.run("again", model=other)).text == "again"
    assert other.life == ["init", "init", "answers", "dispose"]


async def test_a_model_that_a_middleware_asks_is_opened_and_closed_too() -> None:
    small = Connected("small")

    async def asks(ctx: ModelContext, next: Passing) -> ModelResponse:
        await ctx.ask("hm", model=small)
        return await next()

    await Agent(Parrot()).use(asks).run("hi")
    assert small.life == ["init", "answers", "dispose"]


async def test_a_model_shared_by_two_agents_is_opened_by_each() -> None:
    model = Connected()
    await Agent(model).run("one")
    await Agent(model).run("two")
    assert model.life == ["init", "answers", "dispose"] * 2
