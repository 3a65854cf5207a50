"""Opening and closing: once, again, halfway, and after something else could not be opened."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any

from agent_express.testing import no_leaks

from ..failure import ConformanceError, fail, told
from ..loop import run as run_in_loop
from ..probes import FailsToOpen, FaultError
from ..scene import Outcome, Scene, question, run
from ..stepping import Strike
from ..subject import Subject

_THREADS_MAY_TAKE = 1.0
"""Real seconds in which a thread that was told to end may do so."""


def opens_and_closes(subject: Subject) -> None:
    """`init` and `dispose` may be called again, and a half-done `init` leaves nothing."""
    before = set(threading.enumerate())
    run_in_loop(_opens_and_closes(subject))  # a loop of its own, which ends the threads that it has lent
    gc.collect()
    for thread in set(threading.enumerate()) - before:
        thread.join(_THREADS_MAY_TAKE)
        if thread.is_alive():
            fail(
                f"{subject.name}, opened, used and closed, leaves the thread {thread.name!r} running: dispose ends and "
                "joins the threads that init or a hook has started"
            )


async def _opens_and_closes(subject: Subject) -> None:
    await _dispose_alone(subject)
    await _again(subject)
    await _twice_at_once(subject)
    await _beside_a_failure(subject)
    await _cancelled(subject)


async def _dispose_alone(subject: Subject) -> None:
    """Where `init` failed, or never ran, there may be nothing to give back; and once given back, it stays so."""
    scene = Scene(subject)
    dispose = scene.entry.hooks.get("dispose")
    if dispose is None:
        return
    advice = "dispose may be called when there is nothing to give back: set what it closes to None in __init__"
    async with _tidy(subject, "dispose before init", advice):
        await dispose()
    advice_again = "an agent is opened and closed in one program many times"
    async with _tidy(subject, "init and dispose", advice_again), scene.agent:
        pass
    async with _tidy(subject, "a second dispose", f"{advice} and to None again when it is closed"):
        await dispose()


async def _again(subject: Subject) -> None:
    """An agent that was closed can be opened again, and does what it did before."""
    scene, outcomes = Scene(subject), list[Outcome]()
    advice = "what its manifest gives as an example must open without a server, a network or a key"
    for time in ("for the first time", "again"):
        tidy = _tidy(subject, f"opened and closed {time}", advice)
        advice = "init makes anew what dispose has given back"
        async with tidy, scene.agent, scene.agent.session() as session:
            outcomes.append(await run(session, question()))
    if outcomes[0] != outcomes[1]:
        fail(
            f"{subject.name}: a turn ended with {outcomes[1]} in an agent that was closed and opened again, and with "
            f"{outcomes[0]} before: init makes anew what dispose has given back"
        )


async def _twice_at_once(subject: Subject) -> None:
    """One object in two agents: `init` twice, then `dispose` twice."""
    one = Scene(subject)
    other = Scene(subject, thing=one.thing)
    advice = "init is called once per agent that uses the object: open what is not open, count the users, close at last"
    async with _tidy(subject, "opened by two agents at once", advice), one.agent, other.agent:
        pass


async def _beside_a_failure(subject: Subject) -> None:
    """A neighbour's `init` fails: what was open is closed, and the next opening works."""
    neighbour = FailsToOpen()
    scene = Scene(subject, inside=[neighbour])
    advice = "dispose gives back all that init took, so that the next init finds it new"
    async with _tidy(subject, "beside a neighbour that cannot be opened", advice):
        try:
            async with scene.agent:
                pass
        except FaultError:
            pass
        neighbour.broken = False
        async with scene.agent:
            pass


async def _cancelled(subject: Subject) -> None:
    """An opening that is cancelled at any await leaves nothing, and the next opening works."""
    if "init" not in Scene(subject).entry.hooks:
        return
    step, steps = 0, 1
    while step <= steps:
        scene = Scene(subject)
        when = f"cancelled at step {step} of {steps} of its opening" if step else "opened and closed"
        async with _tidy(subject, when, "an init that is interrupted gives back what it took so far"):
            taken = await _opened(scene, step)
            async with scene.agent:
                pass
        steps = steps if step else taken
        step += 1


async def _opened(scene: Scene, step: int) -> int:
    """Open and close the agent, cancelled at that step of it; return the steps of the opening."""
    tasks: list[asyncio.Task[Any]] = []
    strike = Strike(step, lambda: tasks[0].cancel())
    opened = 0

    async def live() -> None:
        nonlocal opened
        async with scene.agent:
            opened = strike.taken

    with strike.watching():
        tasks.append(asyncio.create_task(live()))
        await asyncio.wait(tasks)
    if not tasks[0].cancelled():
        tasks[0].result()
    return opened


@asynccontextmanager
async def _tidy(subject: Subject, when: str, advice: str) -> AsyncGenerator[None]:
    """Fail with a sentence where the block raises, or leaves something behind."""
    try:
        async with no_leaks():
            yield
    except ConformanceError:
        raise
    except AssertionError as error:
        fail(f"{subject.name}, {when}: {' '.join(str(error).split())}; {advice}")
    except Exception as error:
        notes = "; ".join(getattr(error, "__notes__", ()))
        fail(f"{subject.name}, {when}, raised {told(error)}{f' ({notes})' if notes else ''}; {advice}")
