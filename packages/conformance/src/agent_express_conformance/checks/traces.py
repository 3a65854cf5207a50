"""The same turn, run another way or with other neighbours: it must come to the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agent_express.middleware import Usable
from agent_express.onion import Level

from ..failure import fail
from ..probes import Flowing, Quiet
from ..scene import Outcome, Scene, question, run, trace_of
from ..subject import Subject


class _Observed:
    """Keeps which hook was entered and left, and how."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def entered(self, level: Level, name: str, ctx: Any) -> None:
        self.lines.append(f"{name}.{level} entered")

    def left(self, level: Level, name: str, ctx: Any, error: BaseException | None) -> None:
        self.lines.append(f"{name}.{level} left{f' by {type(error).__name__}' if error is not None else ''}")


@dataclass(frozen=True)
class _Seen:
    """What can be compared of one turn."""

    outcome: Outcome
    hooks: list[str]
    log: list[Any]
    sent: Any


async def _seen(scene: Scene, *, stream: bool = False) -> _Seen:
    observed = _Observed()
    scene.agent.observe(observed)
    async with scene.agent, scene.agent.session() as session:
        outcome = await run(session, question(), stream=stream)
        log = session.log
    return _Seen(outcome, observed.lines, trace_of(log), scene.sent)


async def run_is_stream(subject: Subject) -> None:
    """A turn that is run and one that is streamed enter the same hooks, log the same and end the same."""
    ran = await _seen(Scene(subject, one_by_one=True))
    streamed = await _seen(Scene(subject, one_by_one=True), stream=True)
    advice = "a hook must not ask whether somebody listens: emit() drops what nobody reads"
    if ran.outcome != streamed.outcome:
        fail(f"{subject.name}: a turn ends with {streamed.outcome} streamed and with {ran.outcome} run; {advice}")
    for what, one, other in (
        ("the hooks are", ran.hooks, streamed.hooks),
        ("the log is", ran.log, streamed.log),
        ("the requests are", ran.sent, streamed.sent),
    ):
        if one != other:
            fail(f"{subject.name}: {what} not the same run and streamed: {first_difference(one, other)}; {advice}")


async def order_free(subject: Subject) -> None:
    """Where it stands among neighbours that pass everything on makes no difference, unless it says where it belongs."""
    order = Scene(subject).entry.order
    if order.outside or order.inside:
        return  # it says where it belongs
    stacks: dict[str, tuple[list[Usable], list[Usable]]] = {
        "alone": ([], []),
        "inside of a neighbour that returns, outside of one that yields": ([Quiet()], [Flowing()]),
        "inside of a neighbour that yields, outside of one that returns": ([Flowing()], [Quiet()]),
        "outermost": ([], [Quiet(), Flowing()]),
        "innermost": ([Quiet(), Flowing()], []),
    }
    first: _Seen | None = None  # all of them streamed: a neighbour that yields is one that listens
    for place, (outside, inside) in stacks.items():
        seen = await _seen(Scene(subject, outside=outside, inside=inside, one_by_one=True), stream=True)
        if first is None:
            first = seen
            continue
        advice = 'where that is meant, declare it: order = Order(outside=["..."], inside=["..."])'
        if seen.outcome != first.outcome:
            fail(f"{subject.name}: a turn ends with {seen.outcome} {place}, and with {first.outcome} alone; {advice}")
        for what, one, other in (("the log is", first.log, seen.log), ("the requests are", first.sent, seen.sent)):
            if one != other:
                fail(f"{subject.name}: {place}, {what} not as alone: {first_difference(one, other)}; {advice}")


def first_difference(one: Any, other: Any, path: str = "") -> str:
    """Where two JSON values differ first, in one line."""
    if isinstance(one, dict) and isinstance(other, dict):
        keys = [key for key in {**one, **other} if one.get(key) != other.get(key)]
        return first_difference(one.get(keys[0]), other.get(keys[0]), f"{path}.{keys[0]}") if keys else "nothing"
    if isinstance(one, list) and isinstance(other, list):
        for place, (mine, theirs) in enumerate(zip(one, other, strict=False)):
            if mine != theirs:
                return first_difference(mine, theirs, f"{path}[{place}]")
        shorter = min(len(one), len(other))
        rest: Any = one[shorter:] or other[shorter:]
        return f"{path}[{shorter}] is there once only: {_short(rest[0])}" if rest else "nothing"
    return f"at {path.lstrip('.') or 'the top'} {_short(one)}, then {_short(other)}"


def _short(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 120 else f"{text[:119]}…"
