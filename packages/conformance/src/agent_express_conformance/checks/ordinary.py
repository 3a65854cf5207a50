"""Turns as they happen all day: what a middleware makes of them with the settings of its example."""

from __future__ import annotations

from dataclasses import dataclass

from agent_express.errors import Signal, TurnAbortedError, TurnParkedError
from agent_express.messages import ToolResult

from ..failure import fail, owner_of, told
from ..probes import Passage
from ..scene import AGAIN, OWN_TOOLS, Outcome, Scene, question, run
from ..subject import Subject

_BAD_EXAMPLE = (
    "an ordinary turn gives no reason to: choose an example in the manifest that lets it pass, or say in exempt why "
    "the middleware stops what is ordinary"
)


@dataclass(frozen=True, slots=True)
class Turn:
    """One ordinary turn.

    Attributes:
        where: Which one, for sentences.
        outcome: How it ended.
        passages: The calls of the middleware's hooks in it.
    """

    where: str
    outcome: Outcome
    passages: list[Passage]

    @property
    def source(self) -> Passage | None:
        """The call of a hook that ended the turn by itself; None where no hook of the middleware did."""
        for each in self.passages:
            if each.error is not None and all(each.error is not one for one in each.given) and self._is_end(each.error):
                return each
        return None

    def _is_end(self, error: BaseException) -> bool:
        raised = self.outcome.raised
        return error is raised or (isinstance(error, Signal) and isinstance(raised, TurnAbortedError | TurnParkedError))


async def ordinary_turns(subject: Subject) -> list[Turn]:
    """Run a session with and without calls of tools, then stream one; each has an object of its own."""
    turns = list[Turn]()
    for stream in (False, True):
        scene = Scene(subject)
        how = "streamed" if stream else "run"
        async with scene.agent, scene.agent.session() as session:
            for number, text in enumerate((question(), AGAIN, question("Bergen")), start=1):
                scene.forget()
                outcome = await run(session, text, stream=stream)
                turns.append(Turn(f"turn {number} of a session, {how}", outcome, list(scene.outer.passages)))
    return turns


def after_success(passage: Passage) -> bool:
    """Whether everything further in had succeeded when the hook ended."""
    return bool(passage.given) and not isinstance(passage.given[-1], BaseException)


async def turns_succeed(subject: Subject) -> None:
    """No ordinary turn ends in a failure."""
    for turn in await ordinary_turns(subject):
        raised, source = turn.outcome.raised, turn.source
        if raised is None or isinstance(raised, TurnAbortedError | TurnParkedError) or owner_of(raised):
            continue
        if source is None:
            fail(
                f"{subject.name}: {turn.where}, ended with {told(raised)}, expected an answer: look at what its hooks "
                "change on the way"
            )
        if not after_success(source):  # else result-passes tells
            fail(
                f"{subject.name}.{source.level} raised {told(raised)} in {turn.where}; an ordinary turn is expected to "
                "succeed with the example settings: mend the hook, or the example"
            )


async def turns_are_let_through(subject: Subject) -> None:
    """No ordinary turn is stopped on purpose, and no ordinary tool call is refused."""
    for turn in await ordinary_turns(subject):
        raised, source = turn.outcome.raised, turn.source
        if isinstance(raised, TurnAbortedError | TurnParkedError) and source is not None:
            fail(
                f"{subject.name}.{source.level} stopped {turn.where} ({told(raised)}), with the example settings; "
                f"{_BAD_EXAMPLE}"
            )
        for each in turn.passages:
            refused = isinstance(each.result, ToolResult) and each.result.is_error and not each.entered
            if refused and each.about in OWN_TOOLS:
                fail(
                    f"{subject.name}.tool refused the call of a tool in {turn.where} ({each.result.text!r}), with the "
                    f"example settings; {_BAD_EXAMPLE}"
                )
