"""The kit as a class of tests, for middleware that an entry point alone cannot make.

    class TestMine(MiddlewareConformance):
        def make(self):
            return Mine(limit=5)

Each check is a test of its own. They are plain functions: no plugin for asynchronous tests is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, ClassVar

from agent_express.middleware import Usable
from agent_express.registry import registry

from .checks import CHECKS, Check
from .failure import ConformanceError
from .judge import Trouble, judge, trouble_of
from .reach import unreached
from .report import Verdict
from .subject import SLOWEST, Subject, installed, many


class MiddlewareConformance:
    """The checks as tests; subclass it as `class TestMine(MiddlewareConformance)` and override `make`.

    Attributes:
        plugin: The entry that publishes the middleware; with it, entry point, manifest and settings are checked too,
            and what the manifest declares counts.
        exempt: Checks it does not pass, each with a reason; beside those of the manifest.
        next_many: Hooks that may call `next()` more than once in one call.
        permissions: What it may reach for, of "network", "files", "subprocess".
        slowest: How many times the cost of a layer that does nothing its own time may be.
    """

    plugin: ClassVar[str] = ""
    exempt: ClassVar[Mapping[str, str]] = {}
    next_many: ClassVar[Sequence[str]] = ()
    permissions: ClassVar[Sequence[str]] = ()
    slowest: ClassVar[float] = SLOWEST

    def make(self) -> Any:
        """Return a new object of the middleware, each time."""
        if not self.plugin:
            raise NotImplementedError(f"{type(self).__name__}.make() must return a new object of the middleware")
        return self._installed.make()

    def outside(self) -> Sequence[Usable]:
        """Return new objects of other middleware that it needs further out."""
        return ()

    def inside(self) -> Sequence[Usable]:
        """Return new objects of other middleware that it needs further in."""
        return ()

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        for check in CHECKS:
            if check.installed:
                setattr(cls, check.test, _test(check) if cls.plugin else None)

    @cached_property
    def _installed(self) -> Subject:
        return installed(self.plugin, registry())

    @cached_property
    def subject(self) -> Subject:
        """What is tested."""
        found = self._installed if self.plugin else None
        return Subject(
            found.name if found is not None else type(self).__name__.removeprefix("Test"),
            self.make,
            found.published if found is not None else None,
            exempt={**(found.exempt if found is not None else {}), **self.exempt},
            next_many=many(list(self.next_many)) | (found.next_many if found is not None else frozenset()),
            permissions=frozenset(self.permissions) | (found.permissions if found is not None else frozenset()),
            outside=self.outside,
            inside=self.inside,
            slowest=self.slowest,
        )

    @cached_property
    def trouble(self) -> Trouble | None:
        """Why nothing can be run, where that is so."""
        return unreached(self.subject) or trouble_of(self.subject)


def _test(check: Check) -> Callable[[MiddlewareConformance], None]:
    def test(self: MiddlewareConformance) -> None:
        __tracebackhide__ = True
        result = judge(check, self.subject, self.trouble)
        match result.outcome:
            case Verdict.FAILED | Verdict.NOT_RUN:
                raise ConformanceError(result.reason)
            case Verdict.EXEMPT:
                import pytest

                pytest.xfail(f"exempt: {result.reason}")
            case Verdict.PASSED:
                return

    test.__name__, test.__qualname__ = check.test, f"MiddlewareConformance.{check.test}"
    test.__doc__ = f"Check that {check.sentence}."
    return test


for _check in CHECKS:
    if not _check.installed:
        setattr(MiddlewareConformance, _check.test, _test(_check))
