"""Every check of the kit, in the order in which they are made. Each fails by itself, with a sentence."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from enum import IntEnum
from typing import Any, TypeAlias

from ..subject import Subject
from .cancelling import cancelled_anywhere
from .cost import own_time
from .importing import light_import
from .lifecycle import opens_and_closes
from .manifest import exemptions, manifest_is_true, settings_round_trip
from .ordinary import turns_are_let_through, turns_succeed
from .passing import cancel_passes, end_passes, exception_passes, next_once, result_passes
from .permissions import permissions
from .sessions import sessions_apart
from .traces import order_free, run_is_stream
from .use import declared_only, signatures

Run: TypeAlias = Callable[[Subject], None] | Callable[[Subject], Coroutine[Any, Any, None]]


class Stage(IntEnum):
    """How far a plugin can be got: found by name, imported, made, used by an agent, opened with it."""

    FOUND, IMPORTED, MADE, USED, OPENED = range(5)


@dataclass(frozen=True, slots=True)
class Check:
    """One check.

    Attributes:
        name: What an exemption names.
        sentence: What must hold.
        run: Raises `ConformanceError` where it does not.
        installed: Whether it looks at the entry point and the manifest of an installed plugin.
        needs: How far it must be possible to get before: see `Stage`.
    """

    name: str
    sentence: str
    run: Run
    needs: Stage = Stage.OPENED
    installed: bool = False

    @property
    def test(self) -> str:
        """Its name as a test."""
        return f"test_{self.sentence.replace(',', '').replace(' ', '_').lower()}"


CHECKS = (
    Check("exemptions", "its exemptions name checks and give reasons", exemptions, Stage.FOUND),
    Check(
        "light-import", "importing it does nothing and loads nothing heavy", light_import, Stage.FOUND, installed=True
    ),
    Check(
        "settings", "its settings make the round trip through JSON", settings_round_trip, Stage.IMPORTED, installed=True
    ),
    Check("signatures", "its hooks are written as use takes them", signatures, Stage.MADE),
    Check("manifest", "the manifest says what the code is", manifest_is_true, Stage.USED, installed=True),
    Check("lifecycle", "it can be opened and closed again also after a failure", opens_and_closes, Stage.USED),
    Check("ordinary-turns", "an ordinary turn succeeds with it", turns_succeed),
    Check("lets-through", "it stops no ordinary turn", turns_are_let_through),
    Check("next-once", "it calls next at most once", next_once),
    Check("result-passes", "a result passes through it", result_passes),
    Check("exception-passes", "an exception passes through it", exception_passes),
    Check("cancel-passes", "a cancellation passes through it", cancel_passes),
    Check("cancelled-anywhere", "cancelled at any await it leaves nothing behind", cancelled_anywhere),
    Check("end-passes", "the End of a stream passes through it", end_passes),
    Check("declared-only", "it uses only the state events and tools that it declares", declared_only),
    Check("permissions", "it takes only the permissions that it declares", permissions),
    Check("sessions-apart", "two sessions at once do not mix", sessions_apart),
    Check("run-is-stream", "a turn is the same run and streamed", run_is_stream),
    Check("order-free", "it works in any place unless it says where it belongs", order_free),
    Check("own-time", "its own time is within its bound", own_time),
)
"""All of them; names are what an exemption names, sentences are what a report says."""


__all__ = ["CHECKS", "Check", "Stage"]
