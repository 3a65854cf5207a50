"""A turn that is cancelled at any await: what the middleware leaves behind."""

from __future__ import annotations

import asyncio

from agent_express.testing import check_history, no_leaks

from ..failure import CheckFailed, fail
from ..scene import AGAIN, Scene, question, run
from ..stepping import Strike
from ..subject import Subject


async def cancelled_anywhere(subject: Subject) -> None:
    """No task, no open generator, a history that any provider takes, and a session that goes on."""
    awaits = 0
    for stream in (False, True):
        scene = Scene(subject)
        async with scene.agent:
            step, steps = 0, 1
            while step <= steps:  # step 0: nothing strikes
                taken = await _struck(subject, scene, step, steps, stream=stream)
                steps = steps if step else taken
                step += 1
        awaits += steps
    subject.figures["awaits cancelled"] = float(awaits)


async def _struck(subject: Subject, scene: Scene, step: int, steps: int, *, stream: bool) -> int:
    """Run a turn and cancel it at that step; return how many steps were taken."""
    way = "streamed" if stream else "run"
    when = f"cancelled at step {step} of {steps} of a turn that is {way}" if step else f"in a whole turn that is {way}"
    lost: list[str] = []
    loop = asyncio.get_running_loop()
    before = loop.get_exception_handler()
    loop.set_exception_handler(lambda _, about: lost.append(f"{about['message']}: {about.get('exception')!r}"))
    try:
        async with no_leaks():
            taken = await _turn_and_next(scene, step, stream=stream)
    except CheckFailed:
        raise
    except AssertionError as error:
        fail(
            f"{subject.name}, {when}, does not tidy up: {' '.join(str(error).split())}; cancel and await what a hook "
            "starts, in `finally`, and close generators with aclosing()"
        )
    finally:
        loop.set_exception_handler(before)
    if lost:
        fail(f"{subject.name}, {when}, loses a failure that nobody hears of: {'; '.join(lost)}")
    return taken


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


