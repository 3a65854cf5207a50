"""A turn that is cancelled at any await: what the middleware leaves behind."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Generator
from contextlib import contextmanager, suppress

from agent_express import TextDelta
from agent_express.errors import RateLimitError
from agent_express.testing import check_history, no_leaks

from ..failure import fail
from ..scene import AGAIN, Scene, question, run
from ..stepping import Strike
from ..subject import Subject

LONG = 200
"""Pieces of an answer, more than are held for a client that does not read."""

FAILS_AT_FIRST = "run with a model that fails at first"
WITH_ITS_SESSION = "run with its session opened and closed around it"


async def cancelled_anywhere(subject: Subject) -> None:
    """No task, no open generator, a history that any provider takes, and a session that goes on."""
    awaits = 0
    for way in ("run", "streamed", FAILS_AT_FIRST, WITH_ITS_SESSION):
        scene = Scene(subject)
        if way == WITH_ITS_SESSION and "session" not in scene.entry.hooks:
            continue
        async with scene.agent:
            awaits += await _everywhere(subject, scene, way)
    subject.figures["awaits cancelled"] = float(awaits)
    await _left_while_full(subject)


async def _everywhere(subject: Subject, scene: Scene, way: str) -> int:
    """Run a turn that way, then again and again, each time cancelled at another of its steps; return how many."""
    with _told_by_the_loop() as lost:
        step, steps = 0, 1
        while step <= steps:  # step 0: nothing strikes
            when = (
                f"cancelled at step {step} of {steps} of a turn that is {way}" if step else f"in a turn that is {way}"
            )
            taken = await _struck(subject, scene, step, when, way)
            steps = steps if step else taken
            scene.forget()  # what passed holds what a hook has left
            if step == steps:
                gc.collect()
            if lost:
                fail(
                    f"{subject.name}, {when}, loses a failure ({lost[0]}): await what a hook starts, so that somebody "
                    "hears of it"
                )
            step += 1
    return steps


@contextmanager
def _told_by_the_loop() -> Generator[list[str]]:
    """What tasks and futures that nobody awaited have failed with: the event loop would only write it to the log."""
    loop = asyncio.get_running_loop()
    before, lost = loop.get_exception_handler(), list[str]()
    loop.set_exception_handler(lambda _, about: lost.append(f"{about['message']}: {about.get('exception')!r}"))
    try:
        yield lost
    finally:
        loop.set_exception_handler(before)


async def _struck(subject: Subject, scene: Scene, step: int, when: str, way: str) -> int:
    """Run a turn that way and cancel it at that step; return how many steps were taken."""
    if way == FAILS_AT_FIRST:
        scene.failures.append(RateLimitError("the provider of the test is busy"))
    try:
        async with no_leaks():
            if way == WITH_ITS_SESSION:
                return await _whole_session(scene, step)
            return await _turn_and_next(scene, step, stream=way == "streamed")
    except AssertionError as error:
        fail(
            f"{subject.name}, {when}, does not tidy up: {' '.join(str(error).split())}; cancel and await what a hook "
            "starts, in `finally`, and close generators with aclosing()"
        )


async def _turn_and_next(scene: Scene, step: int, *, stream: bool) -> int:
    """One turn in a new session, cancelled at that step, and another one after it."""
    async with scene.agent.session() as session:
        tasks: list[asyncio.Task[object]] = []
        strike = Strike(step, lambda: tasks[0].cancel())
        with strike.watching():
            tasks.append(asyncio.create_task(run(session, question(), stream=stream)))
            await asyncio.wait(tasks)
        check_history(session.history)
        await run(session, AGAIN)
        check_history(session.history)
        return strike.taken


async def _left_while_full(subject: Subject) -> None:
    """A client that reads one piece of an answer and goes: what hands the others on waits until then."""
    scene = Scene(subject)
    scene.words = LONG
    async with scene.agent, scene.agent.session() as session:
        try:
            async with no_leaks():
                with suppress(Exception):  # whether turns succeed is another check's
                    async with session.stream(question()) as events:
                        async for event in events:
                            if isinstance(event, TextDelta) and "fine" in event.text:
                                break
                        for _ in range(LONG):
                            await asyncio.sleep(0)
        except AssertionError as error:
            fail(
                f"{subject.name}, whose client goes while an answer is streamed, does not tidy up: "
                f"{' '.join(str(error).split())}; close generators with aclosing()"
            )
        check_history(session.history)


async def _whole_session(scene: Scene, step: int) -> int:
    """A session with one turn, cancelled at that step, and another session after it."""
    tasks: list[asyncio.Task[None]] = []
    strike = Strike(step, lambda: tasks[0].cancel())

    async def live() -> None:
        async with scene.agent.session() as session:
            await run(session, question())

    with strike.watching():
        tasks.append(asyncio.create_task(live()))
        await asyncio.wait(tasks)
    if not tasks[0].cancelled():
        tasks[0].exception()  # seen: a hook may say that it was cancelled
    async with scene.agent.session() as session:
        await run(session, AGAIN)
    return strike.taken
