"""From checks to results: one after the other, each in a loop of its own."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from time import perf_counter
from typing import Any, cast

from agent_express.errors import PluginError, UseError
from agent_express.testing import no_network

from .checks import CHECKS, Check, Stage
from .checks.importing import survives
from .failure import ConformanceError, told
from .loop import run
from .report import Result, Verdict
from .scene import Scene
from .subject import Subject


@dataclass(frozen=True, slots=True)
class Trouble:
    """Why it cannot be got any further.

    Attributes:
        stage: As far as it could be got.
        check: The check that reports what is wrong.
    """

    stage: Stage
    check: str


def trouble_of(subject: Subject) -> Trouble | None:
    """Whether the middleware can be imported, made, used and opened at all; if not, how far."""
    published = subject.published
    if published is not None:
        if not survives(published):
            return Trouble(Stage.FOUND, "light-import")
        try:
            published.registry.load(published.plugin)
        except PluginError:
            return Trouble(Stage.FOUND, "light-import")
    try:
        subject.make()
    except Exception:
        return Trouble(Stage.IMPORTED, _reports_on_making(subject))
    try:
        scene = Scene(subject)
    except UseError:
        return Trouble(Stage.MADE, "signatures")

    async def opened() -> None:
        async with scene.agent, scene.agent.session():
            pass

    try:
        with _offline(subject):
            run(opened())
    except Exception:
        return Trouble(Stage.USED, "lifecycle")
    return None


def _reports_on_making(subject: Subject) -> str:
    """The check that tells why none can be made: without a manifest there is no example to make one of."""
    published = subject.published
    if published is None:
        return "signatures"
    lacks_example = published.manifest is None and published.registry.settings(published.plugin).required
    return "manifest" if lacks_example else "settings"


def checks_for(subject: Subject) -> tuple[Check, ...]:
    """The checks that can be made: those of entry point and manifest need an installed plugin."""
    return tuple(check for check in CHECKS if subject.published is not None or not check.installed)


def judged(subject: Subject) -> Iterator[Result]:
    """The results of all checks, as they come."""
    trouble = trouble_of(subject)
    for check in checks_for(subject):
        yield judge(check, subject, trouble)


def judge(check: Check, subject: Subject, trouble: Trouble | None = None) -> Result:
    """Make one check; an exemption with a reason is not tried."""
    reason = subject.exempt.get(check.name, "").strip()
    if reason and check.name != "exemptions":
        return Result(check.name, check.sentence, Verdict.EXEMPT, reason)
    begun = perf_counter()
    outcome, why = _made(check, subject, trouble)
    return Result(check.name, check.sentence, outcome, why, perf_counter() - begun)


def _made(check: Check, subject: Subject, trouble: Trouble | None) -> tuple[Verdict, str]:
    if trouble is not None and trouble.check != check.name and check.needs > trouble.stage:
        return Verdict.NOT_RUN, f"{trouble.check} has to pass first"
    try:
        with _offline(subject):
            work: Any = check.run(subject)
            if inspect.iscoroutine(work):
                run(cast(Any, work))
    except ConformanceError as failure:
        text = str(failure)
        return Verdict.FAILED, text if text.startswith(subject.name) else f"{subject.name}: {text}"
    except Exception as error:
        return Verdict.FAILED, f"{subject.name}: the check could not be carried out: {told(error)}"
    return Verdict.PASSED, ""


def _offline(subject: Subject) -> Any:
    """No check reaches the network; of a plugin that may, the example works without it all the same."""
    return nullcontext() if "network" in subject.permissions else no_network()
