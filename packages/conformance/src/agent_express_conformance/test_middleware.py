"""What `pytest --pyargs agent_express_conformance --middleware NAME` runs."""

from __future__ import annotations

import pytest

from agent_express.errors import PluginError
from agent_express.registry import registry

from .cases import MiddlewareConformance
from .checks import CHECKS
from .forms import forms_of
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
    try:
        return [form.name for form in forms_of(installed(name, registry()))]
    except PluginError:
        return []  # its first test says it


def _subject(name: str, form: str) -> Subject:
    found = installed(name, registry())
    return next((each.subject for each in forms_of(found) if each.name == form), found)


class TestMiddleware(MiddlewareConformance):
    """The checks on an installed middleware."""

    plugin = "the one that --middleware names"

    @pytest.fixture(autouse=True)
    def find_it(self, installed_as: tuple[str, str]) -> None:
        """Look it up."""
        try:
            self.subject = _subject(*installed_as)
        except PluginError as error:
            pytest.fail(str(error), pytrace=False)
