"""Two conversations at once over one object: each must go as if it were alone."""

from __future__ import annotations

import asyncio
import json
from dataclasses import dataclass
from typing import Any

from agent_express.events import dump
from agent_express.testing import snapshot

from ..alike import Path, noise, without
from ..failure import fail
from ..scene import AGAIN, Outcome, Scene, question, run
from ..subject import Subject

WORDS = ("Alphaville", "Betatown")
ROUNDS = 30
"""Rounds of the loop that one session waits for the other, so that both are in the same hook at once."""


@dataclass(frozen=True)
class _Told:
    """What one session came to."""

    outcomes: list[Outcome]
    kinds: list[str]
    state: Any
    text: str


class _Meeting:
    """Where sessions wait for each other: for some rounds of the loop, because one of them may be held back."""

    def __init__(self, size: int) -> None:
        self._size, self._here = size, 0

    async def wait(self) -> None:
        self._here += 1
        goal = -(-self._here // self._size) * self._size
        for _ in range(ROUNDS):
            if self._here >= goal:
                return
            await asyncio.sleep(0)


async def sessions_apart(subject: Subject) -> None:
    """Nothing of one session is seen in the other, at once or one after the other; both end as they would alone."""
    alone = [(await _sessions(subject, [word]))[0] for word in WORDS]
    once_more = [(await _sessions(subject, [word]))[0] for word in WORDS]
    both = await _sessions(subject, list(WORDS))
    in_turn = await _sessions(subject, list(WORDS), at_once=False)
    chances = [noise(one.state, other.state) for one, other in zip(alone, once_more, strict=True)]
    for when, found in (("while another session runs", both), ("after another session", in_turn)):
        _compare(subject, when, alone, found, chances)


def _compare(
    subject: Subject, when: str, alone: list[_Told], found: list[_Told], chances: list[frozenset[Path]]
) -> None:
    advice = "one object serves all sessions: keep what belongs to one in ctx.state, not on self"
    for word, other, single, mixed, chance in zip(WORDS, reversed(WORDS), alone, found, chances, strict=True):
        if other in mixed.text:
            at = mixed.text.index(other)
            fail(
                f"{subject.name}: the session about {word} holds what was said in the one about {other}: "
                f"…{mixed.text[max(0, at - 60) : at + 60]}…; {advice}"
            )
        for what, one, two in (
            ("turns end", single.outcomes, mixed.outcomes),
            ("log has", single.kinds, mixed.kinds),
            ("state is", without(single.state, chance), without(mixed.state, chance)),
        ):
            if one != two:
                fail(
                    f"{subject.name}: of the session about {word} the {what} {_short(two)} {when}, "
                    f"and {_short(one)} alone; {advice}"
                )


async def _sessions(subject: Subject, words: list[str], *, at_once: bool = True) -> list[_Told]:
    """Run one session for each word, all at once or one after the other, over one object."""
    scene, meeting = Scene(subject, one_by_one=True), _Meeting(len(words))
    if not at_once:
        async with scene.agent:
            return [await _session(scene, word) for word in words]

    async def meet() -> None:
        for level in ("turn", "model", "tool"):
            scene.inner.act.setdefault(level, meet)
        await meeting.wait()

    scene.inner.act = dict.fromkeys(("turn", "model", "tool"), meet)
    async with scene.agent:
        return list(await asyncio.gather(*(_session(scene, word) for word in words)))


async def _session(scene: Scene, word: str) -> _Told:
    async with scene.agent.session(f"about-{word}") as session:
        outcomes = [await run(session, question(word)), await run(session, AGAIN)]
        state = session.state.values(private=True)
        log = session.log
    requests = [request for held, request in scene.inner.requests if held == session.id]
    sent = [[each.system_text, snapshot(list(each.messages))] for each in requests]
    return _Told(outcomes, [type(each).__name__ for each in log], state, _text_of(log, state, sent))


def _text_of(log: Any, state: Any, sent: Any) -> str:
    return json.dumps([[dump(each, private=True) for each in log], state, sent], ensure_ascii=False, default=repr)


def _short(value: object) -> str:
    text = ", ".join(map(str, value)) if isinstance(value, list) else str(value)
    return text if len(text) <= 200 else f"{text[:199]}…"
