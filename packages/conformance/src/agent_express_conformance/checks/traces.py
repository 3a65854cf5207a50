"""The same turn, run another way or with other neighbours: it must come to the same."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from agent_express.middleware import Usable
from agent_express.onion import Level

from ..alike import Path, first_difference, noise, without
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
    """What can be compared of one turn: its outcome, its hooks, what it logged and what the model was sent."""

    outcome: Outcome
    traces: dict[str, Any]

    def apart_from(self, noise: frozenset[Path]) -> dict[str, Any]:
        """The traces without what differs from one run to the next anyway."""
        masked: dict[str, Any] = without(self.traces, noise)
        return masked


async def _seen(scene: Scene, *, stream: bool = False) -> _Seen:
    observed = _Observed()
    scene.agent.observe(observed)
    async with scene.agent, scene.agent.session() as session:
        outcome = await run(session, question(), stream=stream)
        log = session.log
    return _Seen(
        outcome, {"the hooks are": observed.lines, "the log is": trace_of(log), "the requests are": scene.sent}
    )


async def run_is_stream(subject: Subject) -> None:
    """A turn that is run and one that is streamed enter the same hooks, log the same and end the same."""
    ran = await _seen(Scene(subject, one_by_one=True))
    chance = noise(ran.traces, (await _seen(Scene(subject, one_by_one=True))).traces)
    streamed = await _seen(Scene(subject, one_by_one=True), stream=True)
    advice = "a hook must not ask whether somebody listens: emit() drops what nobody reads"
    if ran.outcome != streamed.outcome:
        fail(f"{subject.name}: a turn ends with {streamed.outcome} streamed and with {ran.outcome} run; {advice}")
    one, other = ran.apart_from(chance), streamed.apart_from(chance)
    for what in one:
        if one[what] != other[what]:
            found = first_difference(one[what], other[what])
            fail(f"{subject.name}: {what} not the same run and streamed: {found}; {advice}")


async def order_free(subject: Subject) -> None:
    """Where it stands among neighbours that pass everything on makes no difference, unless it says where it belongs."""
    order = Scene(subject).entry.order
    if order.outside or order.inside:
        return  # it says where it belongs
    stacks: dict[str, tuple[list[Usable], list[Usable]]] = {
        "inside of a neighbour that returns, outside of one that yields": ([Quiet()], [Flowing()]),
        "inside of a neighbour that yields, outside of one that returns": ([Flowing()], [Quiet()]),
        "outermost": ([], [Quiet(), Flowing()]),
        "innermost": ([Quiet(), Flowing()], []),
    }
    # All of them streamed: a neighbour that yields is one that listens.
    alone = await _seen(Scene(subject, one_by_one=True), stream=True)
    chance = noise(alone.traces, (await _seen(Scene(subject, one_by_one=True), stream=True)).traces)
    advice = 'where that is meant, declare it: order = Order(outside=["..."], inside=["..."])'
    for place, (outside, inside) in stacks.items():
        seen = await _seen(Scene(subject, outside=outside, inside=inside, one_by_one=True), stream=True)
        if seen.outcome != alone.outcome:
            fail(f"{subject.name}: a turn ends with {seen.outcome} {place}, and with {alone.outcome} alone; {advice}")
        one, other = alone.apart_from(chance), seen.apart_from(chance)
        for what in ("the log is", "the requests are"):
            if one[what] != other[what]:
                found = first_difference(one[what], other[what])
                fail(f"{subject.name}: {place}, {what} not as alone: {found}; {advice}")
