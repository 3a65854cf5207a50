"""What `pytest --pyargs agent_express_conformance --provider NAME` runs."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from agent_express.registry import registry

from .failure import ConformanceError
from .provider import NAMES, Provider
from .report import Verdict


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Make a test of each check for each name."""
    names = metafunc.config.getoption("--provider") or []
    metafunc.parametrize("provider", names, indirect=True)


@pytest.fixture
def provider(request: pytest.FixtureRequest) -> Provider:
    """The installed provider of that name."""
    return Provider.installed(request.param, registry())


def _test(name: str) -> Callable[[Provider], None]:
    def test(provider: Provider) -> None:
        __tracebackhide__ = True
        for result in provider.results(only=name):
            if result.outcome is Verdict.EXEMPT:
                pytest.xfail(f"exempt: {result.reason}")
            if result.outcome is not Verdict.PASSED:
                raise ConformanceError(result.reason)

    return test


for _name, _test_name in NAMES.items():
    globals()[_test_name] = _test(_name)
