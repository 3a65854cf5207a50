"""How many sentences are understood: two corpora of sentences and the calls they must lead to.

`corpus.toml` is what the rules were written and tuned with, so that its share says how well the rules hold what they
were made for. `held_out.toml` was written afterwards and measured once; no rule was changed because of it. Its share
is what a new user may expect, and both shares stand in the README.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

HERE = Path(__file__).parent
README = (HERE.parent / "README.md").read_text(encoding="utf-8")


def cases(name: str) -> Iterator[tuple[str, str, list[Any]]]:
    corpus = tomllib.loads((HERE / name).read_text(encoding="utf-8"))
    for tools, sentences in corpus.items():
        for sentence, expected in sentences.items():
            yield tools, sentence, json.loads(expected)


def comparable(steps: list[Any]) -> list[list[str]]:
    """Calls of one step run side by side, so that their order says nothing."""
    return [sorted(json.dumps([name, whole(args)], sort_keys=True) for name, args in step) for step in steps]


def whole(args: dict[str, Any]) -> dict[str, Any]:
    """3.0 is the number 3."""
    return {name: int(value) if type(value) is float and value.is_integer() else value for name, value in args.items()}


async def misread(name: str, toolbox: Callable[[str], Any]) -> AsyncIterator[str]:
    for tools, sentence, expected in cases(name):
        box = toolbox(tools)
        await box.ask(sentence)
        if comparable(box.steps) != comparable(expected):
            yield f"[{tools}] {sentence!r} called {box.steps}, expected {expected}"


@pytest.mark.parametrize(("name", "title"), [("corpus.toml", "tuned on"), ("held_out.toml", "held out")])
async def test_the_readme_states_how_many_sentences_of_the_corpus_are_read_right(
    name: str, title: str, toolbox: Callable[[str], Any]
) -> None:
    total = len(list(cases(name)))
    wrong = [each async for each in misread(name, toolbox)]
    row = f"| {title} | `tests/{name}` | {total} | {total - len(wrong)} |"
    assert row in README, "\n".join([f"the README must say: {row}", *wrong])


def test_the_corpora_share_no_sentence_and_are_large_enough_to_mean_something() -> None:
    tuned = {(tools, sentence) for tools, sentence, _ in cases("corpus.toml")}
    held_out = {(tools, sentence) for tools, sentence, _ in cases("held_out.toml")}
    assert not tuned & held_out
    assert len(tuned) >= 80
    assert len(held_out) >= 60
    assert {tools for tools, _ in tuned} >= {"files", "calendar", "mail", "shop", "math", "weather"}


async def test_no_sentence_of_the_corpora_that_must_call_nothing_changes_anything(
    toolbox: Callable[[str], Any],
) -> None:
    """Not to understand is a nuisance; to delete, send or refund what nobody asked for is a fault."""
    changing = {"write_file", "delete_file", "move_file", "create_event", "cancel_event", "send_email", "delete_mail"}
    changing |= {
        "add_task",
        "complete_task",
        "add_to_cart",
        "refund_order",
        "set_light",
        "set_temperature",
        "lock_door",
    }
    checked = 0
    for tools, sentence, expected in [*cases("corpus.toml"), *cases("held_out.toml")]:
        if expected:
            continue
        box = toolbox(tools)
        await box.ask(sentence)
        called = {name for step in box.steps for name, _ in step}
        assert not called & changing, sentence
        checked += 1
    assert checked >= 30
