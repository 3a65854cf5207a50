"""What must pass through a middleware untouched, in a turn that gives it no reason to step in."""

from __future__ import annotations

import asyncio
from typing import Any

from agent_express.errors import HookError, MissingEndError, NextCalledTwiceError, RateLimitError
from agent_express.messages import Message, ModelResponse, ToolResult
from agent_express.middleware import HOOKS

from ..failure import fail, is_refusal, owner_of, told
from ..probes import LEVELS, FaultError, Passage
from ..scene import Outcome, Scene, question, run
from ..subject import Subject
from .ordinary import Turn, after_success, ordinary_turns

_THING = {"turn": "turn", "model": "model call", "tool": "tool call"}


def hooks_of(scene: Scene) -> list[str]:
    """The levels that the middleware has a hook on."""
    return [level for level in LEVELS if level in scene.entry.hooks]


async def next_once(subject: Subject) -> None:
    """`next()` runs what is further in at most once per call of a hook, in success and in failure."""
    unknown = sorted(subject.next_many - set(HOOKS))
    if unknown:
        fail(f"{subject.name}: next_many names {', '.join(unknown)}; hooks are {', '.join(HOOKS)}")
    for failing in (None, "model", "tool"):
        scene = Scene(subject)
        if failing == "model":
            scene.failures.append(RateLimitError("the provider of the test is busy"))
        elif failing == "tool":
            scene.inner.act["tool"] = _failing(FaultError("a tool hook further in fails"))
        outcome = await _one_turn(scene)
        if isinstance(outcome.raised, NextCalledTwiceError):
            fail(
                f"{subject.name} called next() again after it had succeeded ({outcome.raised}): call it once, or write "
                "`next.again()` and declare the hook in next_many"
            )
        for passage in scene.outer.passages:
            if passage.entered > 1 and passage.level not in subject.next_many:
                fail(
                    f"{subject.name}.{passage.level} ran what is further in {passage.entered} times in one "
                    f"{_THING[passage.level]}, expected at most once: where that is its purpose, declare "
                    f'"next_many": ["{passage.level}"] in the manifest'
                )


async def result_passes(subject: Subject) -> None:
    """What comes out is what went in, where nothing gives a reason to change it."""
    for turn in await ordinary_turns(subject):
        for passage in filter(after_success, turn.passages):
            last = passage.given[-1]
            if passage.error is not None:
                _complain_of(subject, passage, passage.error)
            elif not _same(passage.result, last):
                fail(
                    f"{subject.name}.{passage.level} was given {_short(last)} and gave {_short(passage.result)}; a "
                    f"plain {_THING[passage.level]} is expected to pass unchanged: return what next() gave, or say in "
                    "exempt why it changes everything"
                )
        if isinstance(turn.outcome.raised, HookError):  # of a hook that got nothing from further in
            _complain_of(subject, None, turn.outcome.raised)
        _compare_stream(subject, turn)


def _compare_stream(subject: Subject, turn: Turn) -> None:
    """What whoever listens has read must be what the model call gave or what is delivered, where it was said once."""
    calls = [passage for passage in turn.passages if passage.level == "model"]
    if turn.outcome.raised is not None or not calls or not after_success(calls[-1]):
        return
    read, said = turn.outcome.streamed, (turn.outcome.answer, _text(calls[-1].result))
    if read is not None and read not in said and all(passage.entered <= 1 for passage in turn.passages):
        fail(
            f"{subject.name}: the deltas of {turn.where}, add up to {read!r} and the answer is "
            f"{turn.outcome.answer!r}, expected the same text: yield each delta that next() gives, or deliver what the "
            "changed ones say; what holds text back yields it before the End"
        )


def _text(result: object) -> str | None:
    return result.message.text if isinstance(result, ModelResponse) else None


def _complain_of(subject: Subject, passage: Passage | None, error: BaseException) -> None:
    if is_refusal(error) or isinstance(error, asyncio.CancelledError) or owner_of(error) not in ("", "result-passes"):
        return
    where = f".{passage.level}" if passage is not None else ""
    fail(
        f"{subject.name}{where} raised {told(error)} although everything further in had succeeded; a plain turn is "
        "expected to pass: look at what the hook does after next()"
    )


async def exception_passes(subject: Subject) -> None:
    """A failure from further in comes out as itself, on every level."""
    for level in hooks_of(Scene(subject)):
        scene, fault = Scene(subject), FaultError(f"a failure further in, on the level {level}")
        scene.inner.act[level] = _failing(fault)
        await _one_turn(scene)
        for passage in scene.outer.of(level):
            if fault in passage.given and passage.error is not fault and not _is_told_elsewhere(passage.error):
                got = told(passage.error) if passage.error is not None else _short(passage.result)
                fail(
                    f"{subject.name}.{level} was left by {got} after next() had raised {told(fault)}: let exceptions "
                    "pass that it does not know, with a bare `raise` where it has to clean up"
                )


def _is_told_elsewhere(error: BaseException | None) -> bool:
    return error is not None and (is_refusal(error) or owner_of(error) not in ("", "result-passes"))


async def cancel_passes(subject: Subject) -> None:
    """A cancellation that strikes further in comes out as `CancelledError`, on every level."""
    for level in hooks_of(Scene(subject)):
        scene, waiting = Scene(subject), asyncio.Event()
        scene.inner.act[level] = _waiting(waiting)
        async with scene.agent, scene.agent.session() as session:
            task = asyncio.create_task(run(session, question()))
            await _either(waiting, task)
            task.cancel()
            await asyncio.wait([task])
        for passage in scene.outer.of(level):
            was_cancelled = any(isinstance(each, asyncio.CancelledError) for each in passage.given)
            if was_cancelled and not isinstance(passage.error, asyncio.CancelledError):
                got = told(passage.error) if passage.error is not None else _short(passage.result)
                fail(
                    f"{subject.name}.{level} was left by {got} after it had been cancelled: never swallow "
                    "asyncio.CancelledError, clean up in `finally` and let it pass"
                )


async def end_passes(subject: Subject) -> None:
    """A streaming hook hands on the `End` of what is further in, as its last item."""
    for stream in (False, True):
        scene = Scene(subject)
        outcome = await _one_turn(scene, stream=stream)
        errors = [*(each.error for each in scene.outer.passages), outcome.raised]
        fault = next((each for each in errors if each is not None and owner_of(each) == "end-passes"), None)
        if fault is not None:
            what = "drops the End of its stream" if isinstance(fault, MissingEndError) else "goes on after its End"
            fail(f"{subject.name} {what} ({told(fault)}): yield every item that next() gives, its End as the last one")


# --- how -------------------------------------------------------------------------------------------


async def _one_turn(scene: Scene, *, stream: bool = False) -> Outcome:
    async with scene.agent, scene.agent.session() as session:
        return await run(session, question(), stream=stream)


def _failing(error: Exception) -> Any:
    async def act() -> None:
        raise error

    return act


def _waiting(reached: asyncio.Event) -> Any:
    async def act() -> None:
        reached.set()
        await asyncio.Event().wait()

    return act


async def _either(event: asyncio.Event, task: asyncio.Task[Any]) -> None:
    """Wait until *event* is set or *task* has ended."""
    reached = asyncio.create_task(event.wait())
    await asyncio.wait([reached, task], return_when=asyncio.FIRST_COMPLETED)
    reached.cancel()


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, ToolResult) and isinstance(other, ToolResult):
        return (one.parts, one.is_error) == (other.parts, other.is_error)
    return bool(one == other)


def _short(value: object) -> str:
    match value:
        case ModelResponse():
            text = f"the response {value.message.text!r}"
        case Message() | ToolResult():
            text = f"the {'message' if isinstance(value, Message) else 'result'} {value.text!r}"
        case _:
            text = repr(value)
    return text if len(text) <= 160 else f"{text[:159]}…"
