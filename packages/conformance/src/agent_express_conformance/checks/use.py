"""Whether it can be used at all, and whether it keeps to what it declares."""

from __future__ import annotations

import inspect

from agent_express import Agent
from agent_express.errors import EventError, StateError, UseError
from agent_express.testing import FunctionModel

from ..failure import fail, told
from ..scene import AGAIN, OWN_TOOLS, Outcome, Scene, question, run
from ..subject import Subject
from .ordinary import ordinary_turns


def signatures(subject: Subject) -> None:
    """`use()` takes it: every hook is async and takes what its level gives."""
    try:
        thing = subject.make()
    except Exception as error:
        fail(f"{subject.name}: making one raised {told(error)}: make() must return a new object each time")
    try:
        Agent(FunctionModel(lambda _: "Fine."), use=[thing])
    except UseError as error:
        fail(f"{subject.name} cannot be used: {error}")
    if subject.make() is thing and not inspect.isfunction(thing):  # a function may be used many times
        fail(
            f"{subject.name}: making one twice gave the same object; one object is used once per agent: make a new one"
        )


async def declared_only(subject: Subject) -> None:
    """It reads and writes the state, emits the events and offers the tools that it declares, and no others."""
    for turn in await ordinary_turns(subject):
        _complain_of(subject, turn.outcome)
    for stream in (False, True):
        scene = Scene(subject)
        async with scene.agent, scene.agent.session() as session:
            await run(session, question(), stream=stream)
            await run(session, AGAIN, stream=stream)
        known = {each.name for each in scene.entry.tools} | set(OWN_TOOLS) | _of_helpers(subject)
        extra = sorted(scene.inner.tools - known)
        if extra:
            fail(
                f"{subject.name} registers {', '.join(extra)}, and its tools are "
                f"{', '.join(each.name for each in scene.entry.tools) or 'none'}: list them in `tools`, or say in "
                "exempt where they come from"
            )


def _complain_of(subject: Subject, outcome: Outcome) -> None:
    if isinstance(outcome.raised, StateError):
        fail(f"{subject.name} uses state that it does not declare ({told(outcome.raised)})")
    if isinstance(outcome.raised, EventError):
        fail(f"{subject.name} emits an event that it does not declare ({told(outcome.raised)})")


def _of_helpers(subject: Subject) -> set[str]:
    helpers = [subject.entry_of(each) for each in (*subject.outside(), *subject.inside())]
    return {tool.name for helper in helpers for tool in helper.tools}
