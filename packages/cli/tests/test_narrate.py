"""From events to what is shown, one thing after the other."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from agent_express import Agent, Event, Message, ModelResponse, Restarted, TextDelta, ToolCalled, TurnEnded
from agent_express.events import ModelCalled, ModelResponded, ToolProgressed
from agent_express.testing import ScriptedModel
from agent_express_cli.talking.describe import Line
from agent_express_cli.talking.narrate import Narrator, Say, Shown, TakeBack


def narrate(*events: Event | str, answer: str | None = None, streaming: bool = True) -> list[Shown]:
    narrator = Narrator(streaming=streaming, room=80)
    shown: list[Shown] = []
    for event in events:
        shown += narrator.feed(TextDelta(event) if isinstance(event, str) else event)
    if answer is not None:
        shown += narrator.finish(Agent(ScriptedModel(answer)).run_sync("hi"))
    return shown


def at(path: str, event: Event | str) -> Event:
    made: Any = TextDelta(event) if isinstance(event, str) else event
    made.path = path
    return made


def responded(text: str, purpose: str = "") -> ModelResponded:
    return ModelResponded(0, ModelResponse(Message("assistant", text)), purpose)


def add() -> ToolCalled:
    return ToolCalled("0.0.0", "c1", "add", {"a": 1})


again = Restarted("retry", 2)
ADDS = Line("add(a=1)", "call")


def test_what_was_streamed_is_not_said_again() -> None:
    assert narrate("It ", "works.", answer="It works.") == [Say("It "), Say("works.")]


def test_an_answer_that_was_not_streamed_is_said_whole() -> None:
    assert narrate(answer="From the cache.") == [Say("From the cache.")]


def test_without_streaming_the_answer_comes_at_the_end() -> None:
    assert narrate("It ", add(), "works.", answer="It works.", streaming=False) == [ADDS, Say("It works.")]


def test_lines_after_the_answer_do_not_make_it_come_twice() -> None:
    assert narrate("It works.", add(), answer="It works.") == [Say("It works."), ADDS]


def test_a_repeat_takes_back_what_was_said_of_this_try_alone() -> None:
    why = "(starting again: retry, attempt 2)"
    assert narrate("Wro", again) == [Say("Wro"), TakeBack(why)]
    assert narrate("Before.", add(), again) == [Say("Before."), ADDS, Line(why, "aside")]


def test_the_white_space_between_two_texts_is_left_to_the_screen() -> None:
    assert narrate("One.", add(), "\n\n", " Two.") == [Say("One."), ADDS, Say("Two.")]


def test_a_tool_that_tells_how_far_it_is_gets_a_line() -> None:
    assert narrate(ToolProgressed("c1", "add", {"done": 3})) == [Line("add: {'done': 3}", "aside")]


def test_a_nested_agent_speaks_in_whole_lines() -> None:
    shown = narrate(at("reader", "First li"), at("reader", "ne.\nSecond"), at("reader", responded("never shown twice")))
    assert shown == [Line("First line.", "nested", "reader"), Line("Second", "nested", "reader")]


def test_a_nested_agent_that_does_not_stream_is_heard_too() -> None:
    first = [at("reader", ModelCalled(0, "a:b", {})), at("reader", responded("All at once."))]
    assert narrate(*first) == [Line("All at once.", "nested", "reader")]


def test_a_nested_agents_own_calls_on_the_side_are_not_heard() -> None:
    assert narrate(at("reader", ModelCalled(0, "a:b", {})), at("reader", responded("A summary.", "summary"))) == []


def test_two_nested_agents_at_once_do_not_mix_their_lines() -> None:
    shown = narrate(at("a", "one "), at("b", "three "), at("a", "two\n"), at("b", "four\n"))
    assert shown == [Line("one two", "nested", "a"), Line("three four", "nested", "b")]


def test_a_nested_agent_that_starts_again_drops_its_half_line() -> None:
    shown = narrate(at("a", "wro"), at("a", Restarted("retry", 2)), at("a", "right\n"))
    assert shown == [Line("(starting again: retry, attempt 2)", "aside", "a"), Line("right", "nested", "a")]


def test_a_nested_agent_that_fails_says_so() -> None:
    ended = at("a", TurnEnded("t1", "failed", "ValueError: no"))
    assert narrate(at("a", "half"), ended) == [Line("(failed: ValueError: no)", "failure", "a")]


def test_an_agent_that_works_beside_the_model_does_not_tear_its_text_apart() -> None:
    shown = narrate("It ", at("checker", add()), "works.", responded("It works."), answer="It works.")
    assert shown == [Say("It "), Say("works."), Line("add(a=1)", "call", "checker")]


def test_a_middlewares_own_calls_do_not_touch_the_text() -> None:
    aside = ModelCalled(-1, "a:b", {}, purpose="guard", by="guard")
    shown = narrate("It ", at("checker", add()), aside, responded("fine", "guard"), "works.", answer="It works.")
    assert shown == [Say("It "), Say("works."), Line("add(a=1)", "call", "checker")]


steps = st.lists(st.sampled_from(["Hello ", "world. ", "again", "tool", "nested"]), max_size=12)


@given(steps, st.booleans())
def test_what_stands_at_the_end_is_the_answer_whatever_came_before(steps: list[str], streaming: bool) -> None:
    made = {"again": lambda: Restarted("retry", 2), "tool": add, "nested": lambda: at("a", "by the way\n")}
    events = [made[step]() if step in made else step for step in steps]
    standing = ""
    for each in narrate(*events, answer="The answer.", streaming=streaming):
        match each:
            case Say(text=text):
                standing += text
            case TakeBack():
                standing = ""
            case Line():
                standing = standing if standing == "The answer." else ""
            case _:
                pass
    assert standing == "The answer."
