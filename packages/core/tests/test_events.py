"""Events: declared by subclassing, checked when emitted, written as JSON."""

from __future__ import annotations

import json
import math
from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from agent_express import Agent, End, Event, Message, Middleware, Next, TextDelta, TurnContext
from agent_express.errors import EventError
from agent_express.events import Delta, ToolReturned, UserSaid, dump
from agent_express.messages import Image, Text
from agent_express.testing import ScriptedModel, assert_events, names


class CardMasked(Event, type="guards:card-masked", version=2):
    """A card number was masked."""

    kind: str
    count: int = 1


class Measured(Event, type="events-test:measured"):
    value: Any = None


class Ticked(Delta, type="events-test:ticked", durable=False):
    n: int = 0


class Socket:
    pass


class Holding(Event, type="events-test:holding"):
    socket: Socket


class NeverDeclared(Event):
    pass


class NeverDeclaredDelta(Delta, durable=False):
    pass


class Emits(Middleware):
    """Emits one event in a turn hook."""

    events = (CardMasked, Measured, Ticked, Holding)

    def __init__(self, event: Any) -> None:
        self.event = event

    async def turn(self, ctx: TurnContext, next: Next[None]) -> None:
        await ctx.emit(self.event)
        await next()


async def emitted(event: Any) -> list[Any]:
    """What a client and the log got of one emitted event."""
    agent = Agent(ScriptedModel("ok")).use(Emits(event))
    async with agent, agent.session() as session, session.stream("hi") as stream:
        items = [item async for item in stream]
        return [item for item in items if item is event] + [item for item in session.log if item is event]


# --- classes ------------------------------------------------------------------------------------


def test_a_subclass_is_a_slotted_dataclass_that_knows_type_version_and_durability() -> None:
    event = CardMasked("visa")
    assert (CardMasked.type, CardMasked.version, CardMasked.durable) == ("guards:card-masked", 2, True)
    assert (Ticked.type, Ticked.durable) == ("events-test:ticked", False)
    assert (event.kind, event.count) == ("visa", 1)
    assert not hasattr(event, "__dict__")
    assert repr(event) == "CardMasked(kind='visa', count=1)"


def test_a_type_left_out_is_local_and_the_class_name_in_kebab_case() -> None:
    assert NeverDeclared.type == "local:never-declared"


def test_events_are_equal_by_what_happened_and_not_by_when_it_was_logged() -> None:
    one, other = CardMasked("visa"), CardMasked("visa")
    other.position, other.at, other.id, other.path = 7, 1.0, 3, "child"
    assert one == other
    assert one != CardMasked("visa", 2)


def test_end_is_not_an_event_and_says_how_a_turn_ended() -> None:
    end = End("x")
    assert not isinstance(end, Event)
    assert (end.result, end.status) == ("x", "completed")


# --- emit ---------------------------------------------------------------------------------------


async def test_a_declared_event_goes_to_the_log_and_into_the_stream() -> None:
    event = CardMasked("visa")
    assert await emitted(event) == [event, event]


async def test_a_declared_delta_goes_into_the_stream_only() -> None:
    event = Ticked(3)
    assert await emitted(event) == [event]


async def test_the_cores_own_deltas_can_be_emitted_by_anybody() -> None:
    event = TextDelta("by hand")
    assert await emitted(event) == [event]


@pytest.mark.parametrize("event", [NeverDeclared(), NeverDeclaredDelta()])
async def test_an_event_that_nobody_declared_is_refused_with_how_to_declare_it(event: Event) -> None:
    with pytest.raises(EventError) as caught:
        await emitted(event)
    assert str(caught.value) == (
        f"{type(event).__name__} is declared by no middleware in use: list it in the middleware's `events = (...)`"
    )


@pytest.mark.parametrize("thing", [End(Message("assistant", "x")), "text", None])
async def test_emitting_an_end_or_what_is_no_event_is_refused(thing: Any) -> None:
    with pytest.raises(EventError, match=r"emit\(\) takes events, got \w+; a hook ends its stream by yielding End"):
        await emitted(thing)


@pytest.mark.parametrize(
    "value",
    [math.nan, math.inf, {1, 2}, object(), "a\x00b", "\ud800", {"deep": ["\x00"]}, {"\x00": 1}],
    ids=["nan", "inf", "set", "object", "nul", "surrogate", "nul inside", "nul as key"],
)
async def test_an_event_that_json_cannot_hold_is_refused_and_not_logged(value: Any) -> None:
    async with Agent(ScriptedModel()).use(Emits(Measured(value))) as agent, agent.session() as session:
        with pytest.raises(EventError, match="Measured"):
            await session.run("hi")
        assert "Measured" not in names(session.log)


async def test_an_event_whose_fields_do_not_validate_is_refused() -> None:
    with pytest.raises(EventError, match="CardMasked: count: "):
        await emitted(CardMasked("visa", count="many"))  # type: ignore[arg-type]


async def test_an_event_is_emitted_once() -> None:
    event = CardMasked("visa")
    await emitted(event)
    with pytest.raises(EventError, match="CardMasked was logged before: make a new event for each time it happens"):
        await emitted(event)


# --- JSON ---------------------------------------------------------------------------------------


async def test_a_logged_event_is_dumped_with_type_version_id_position_and_time() -> None:
    event = CardMasked("visa")
    await emitted(event)
    found = dump(event)
    assert found == {
        "type": "guards:card-masked",
        "version": 2,
        "id": str(event.uuid),
        "position": event.position,
        "at": event.at,
        "kind": "visa",
        "count": 1,
    }


def test_an_event_that_was_not_logged_is_dumped_without_stamps() -> None:
    assert dump(CardMasked("visa")) == {"type": "guards:card-masked", "version": 2, "kind": "visa", "count": 1}


async def test_an_event_of_a_nested_agent_is_dumped_with_its_path() -> None:
    async def delegates(ctx: TurnContext, next: Next[None]) -> None:
        await ctx.run_agent(Agent(ScriptedModel("ok"), name="child"), "go")
        await next()

    answer = await Agent(ScriptedModel("done")).use(delegates).run("hi")
    assert [dump(event).get("path") for event in answer.events if isinstance(event, UserSaid)] == ["child", None]


async def test_an_event_class_with_a_field_that_has_no_json_is_refused_when_it_is_emitted() -> None:
    with pytest.raises(EventError, match="Holding has a field that JSON cannot hold"):
        await emitted(Holding(Socket()))


def test_messages_and_bytes_in_an_event_survive_json() -> None:
    event = UserSaid(Message("user", [Text("what is this?"), Image(data=b"\x89PNG")]))
    found = json.loads(json.dumps(dump(event)))
    assert [part["kind"] for part in found["message"]["parts"]] == ["text", "image"]
    assert found["message"]["parts"][1]["data"] == "iVBORw=="


async def test_match_on_event_classes_narrows_a_stream() -> None:
    async with Agent(ScriptedModel("a b")) as agent, agent.session() as session:
        texts, ends = [], []
        async with session.stream("hi") as stream:
            async for item in stream:
                match item:
                    case TextDelta(text=text):
                        texts.append(text)
                    case End(result=answer):
                        ends.append(answer.text)
                    case _:
                        assert isinstance(item, Event)
    assert (texts, ends) == (["a", " b"], ["a b"])


async def test_events_of_an_answer_are_those_of_its_turn() -> None:
    async with Agent(ScriptedModel("a", "b")) as agent, agent.session() as session:
        first, second = await session.run("hi"), await session.run("more")
    for answer in (first, second):
        assert_events(answer.events, UserSaid)
        assert names(answer.events).count("TurnStarted") == 1
    assert not set(map(id, first.events)) & set(map(id, second.events))
    assert not [event for event in first.events if isinstance(event, ToolReturned)]
    with pytest.raises(FrozenInstanceError):
        first.message.role = "user"  # type: ignore[misc]
