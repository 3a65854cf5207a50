"""What `pytest --pyargs agent_express_conformance --middleware NAME` runs."""

from __future__ import annotations

import pytest

from agent_express.registry import registry

from .cases import MiddlewareConformance
from .checks import CHECKS
from .run import further
from .subject import Subject, installed

_OF_THE_ENTRY = {check.test for check in CHECKS if check.installed}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make a test of each check for each name, and for each further form that a plugin wants to be checked in."""
    forms: list[tuple[str, str]] = []
    names = metafunc.config.getoption("--middleware") or []
    for name in names:
        forms.append((name, ""))
        if metafunc.function.__name__ not in _OF_THE_ENTRY:
            forms += [(name, form) for form in _forms(name)]
    ids = [f"{name}, {form}" if form else name for name, form in forms]
    metafunc.parametrize("installed_as", forms, ids=ids)


def _forms(name: str) -> list[str]:
    return [form.name for form in further(installed(name, registry()))]


def _subject(name: str, form: str) -> Subject:
    found = installed(name, registry())
    return next((each.subject for each in further(found) if each.name == form), found) if form else found


class TestMiddleware(MiddlewareConformance):
    """The checks on an installed middleware."""

    plugin = "the one that --middleware names"

    @pytest.fixture(autouse=True)
    def find_it(self, installed_as: tuple[str, str]) -> None:
        """Look it up; a name under which nothing can be checked was refused before, by the kit's plugin."""
        self.subject = _subject(*installed_as)
