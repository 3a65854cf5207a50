"""What the checks stand on: a loop whose clock jumps, a strike at every await, samples of schemas, and the judge."""

from __future__ import annotations

import asyncio
import json
import threading
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field, TypeAdapter

from agent_express import Middleware, ModelContext, ModelResponse, Next
from agent_express_conformance import ConformanceError, Verdict, as_text
from agent_express_conformance.alike import first_difference, noise, without
from agent_express_conformance.audit import listening
from agent_express_conformance.checks import CHECKS, Check
from agent_express_conformance.judge import judge
from agent_express_conformance.loop import run
from agent_express_conformance.run import check_subject
from agent_express_conformance.samples import sample
from agent_express_conformance.stepping import Strike
from agent_express_conformance.subject import Subject


class Plain(Middleware):
    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
        return await next()


# --- the loop -------------------------------------------------------------------------------------


def test_a_wait_of_an_hour_is_over_at_once_on_the_clock_of_the_loop() -> None:
    async def waits() -> float:
        loop = asyncio.get_running_loop()
        begun = loop.time()
        await asyncio.gather(asyncio.sleep(3_600), asyncio.sleep(1_800))
        return loop.time() - begun

    assert 3_600 <= run(waits()) < 3_700


def test_timers_go_off_in_their_order() -> None:
    seen: list[str] = []

    async def later(seconds: float, what: str) -> None:
        await asyncio.sleep(seconds)
        seen.append(what)

    async def work() -> None:
        await asyncio.gather(later(30, "second"), later(10, "first"), later(500, "third"))

    run(work())
    assert seen == ["first", "second", "third"]


def test_what_waits_for_ever_is_told_so() -> None:
    async def forever() -> None:
        await asyncio.Event().wait()

    with pytest.raises(ConformanceError, match="it hangs"):
        run(forever())


def test_a_thread_that_works_is_waited_for() -> None:
    go_on = threading.Event()

    async def work() -> bool:
        timer = threading.Timer(0.3, go_on.set)
        timer.start()
        try:
            return await asyncio.to_thread(go_on.wait, 10)
        finally:
            timer.join()

    assert run(work())


# --- strikes --------------------------------------------------------------------------------------


async def test_every_await_of_every_task_is_struck_once() -> None:
    async def child() -> None:
        await asyncio.sleep(0)

    async def parent() -> None:
        await asyncio.create_task(child())
        await asyncio.sleep(0)

    async def struck(step: int) -> tuple[int, bool]:
        tasks: list[asyncio.Task[None]] = []
        strike = Strike(step, lambda: tasks[0].cancel())
        with strike.watching():
            tasks.append(asyncio.create_task(parent()))
            await asyncio.wait(tasks)
        return strike.taken, tasks[0].cancelled()

    steps, cancelled = await struck(0)
    assert (steps, cancelled) == (5, False)
    assert [(await struck(step))[1] for step in range(1, steps + 1)] == [True, True, True, True, False]


# --- samples --------------------------------------------------------------------------------------


class Inner(BaseModel):
    size: Annotated[int, Field(gt=3, le=9)]
    words: Annotated[list[str], Field(min_length=2)]


class Model(BaseModel):
    inner: Inner
    code: Annotated[str, Field(min_length=8, max_length=8)]
    kind: Literal["x", "y"]
    when: str = "now"


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (str, "text"),
        (int, 1),
        (float, 1),
        (bool, False),
        (list[int], []),
        (dict[str, int], {}),
        (tuple[int, str], [1, "text"]),
        (int | None, 1),
        (Literal["a", "b"], "a"),
        (Model, {"inner": {"size": 4, "words": ["text", "text"]}, "code": "textxxxx", "kind": "x"}),
    ],
)
def test_a_sample_is_small_and_fits_its_schema(kind: Any, expected: Any) -> None:
    adapter: TypeAdapter[Any] = TypeAdapter(kind)
    made = sample(adapter.json_schema())
    assert made == expected
    adapter.validate_json(json.dumps(made))


# --- what two runs have in common -----------------------------------------------------------------


def test_what_differs_from_run_to_run_anyway_is_left_out_of_a_comparison() -> None:
    one, again = {"log": [{"at": 1, "text": "a"}], "ids": ["x"]}, {"log": [{"at": 2, "text": "a"}], "ids": ["x", "y"]}
    chance = noise(one, again)
    assert without(one, chance) == without(again, chance) == {"log": [{"at": "…", "text": "a"}], "ids": "…"}
    other = {"log": [{"at": 3, "text": "b"}], "ids": []}
    assert without(one, chance) != without(other, chance)
    assert first_difference(one["log"], other["log"]) == "at [0].at 1, then 3"


# --- what code reaches for ------------------------------------------------------------------------


def test_files_that_the_program_is_made_of_do_not_count_and_others_do(tmp_path: Any) -> None:
    with listening() as reached:
        json.loads("1")
        (tmp_path / "notes.txt").write_text("hello", encoding="utf-8")
        with open(__file__, encoding="utf-8") as source:  # noqa: PTH123
            source.read()
    assert list(reached.seen) == ["files"]
    assert all("notes.txt" in each for each in reached.seen["files"])


# --- the judge ------------------------------------------------------------------------------------


def test_a_check_that_cannot_be_carried_out_has_failed() -> None:
    def breaks(subject: Subject) -> None:
        raise LookupError("a fault of the kit")

    result = judge(Check("broken", "it breaks", breaks), Subject("plain", Plain))
    assert (result.outcome, "could not be carried out: LookupError" in result.reason) == (Verdict.FAILED, True)


def test_an_exemption_is_shown_with_its_reason_and_the_check_is_not_made() -> None:
    def breaks(subject: Subject) -> None:
        raise AssertionError("it was made")

    subject = Subject("plain", Plain, exempt={"broken": " it cannot hold "})
    result = judge(Check("broken", "it breaks", breaks), subject)
    assert (result.outcome, result.reason) == (Verdict.EXEMPT, "it cannot hold")


def test_nobody_is_exempt_from_the_check_of_exemptions() -> None:
    subject = Subject("plain", Plain, exempt={"exemptions": "no thanks", "gravity": "it floats"})
    result = judge(CHECKS[0], subject)
    assert (result.name, result.outcome) == ("exemptions", Verdict.FAILED)


def test_a_middleware_that_blocks_by_the_clock_is_caught_by_its_own_time() -> None:
    now = [0.0]

    class Slow(Plain):
        async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
            now[0] += 1.0
            return await next()

    report = check_subject(Subject("slow", Slow, clock=lambda: now[0], slowest=1e9))
    assert report.passed, as_text(report)
    report = check_subject(Subject("slow", Slow, clock=lambda: now[0]))
    assert [result.name for result in report.of(Verdict.FAILED)] == ["own-time"]
    assert report.figures["own microseconds per turn"] == 2_000_000


def test_a_middleware_that_waits_for_ever_is_told_so_and_the_kit_goes_on() -> None:
    class Stuck(Plain):
        async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> ModelResponse:
            await asyncio.Event().wait()
            return await next()

    report = check_subject(Subject("stuck", Stuck))
    hangs = [result for result in report.of(Verdict.FAILED) if "it hangs" in result.reason]
    assert hangs
    assert len(report.checks) == len([check for check in CHECKS if not check.installed])
