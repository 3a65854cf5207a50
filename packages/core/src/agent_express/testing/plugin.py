"""A pytest plugin: no test reaches the network, unless it is marked `@pytest.mark.network`.

Load it with `-p agent_express.testing.plugin`, or with `pytest_plugins = ["agent_express.testing.plugin"]` in the
conftest at the root. It guards the whole of a test, fixtures too, and fails a test in which a refused call was
swallowed, by a retry or a library's fallback, say.
"""

from __future__ import annotations

from collections.abc import Generator

import pytest

from .errors import NetworkError
from .network import Guard, no_network

_GUARD = pytest.StashKey[Guard]()


def pytest_configure(config: pytest.Config) -> None:
    """Make the mark known."""
    config.addinivalue_line("markers", "network: this test may reach the network")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Generator[None, object, object]:
    """Guard the test with its fixtures."""
    if item.get_closest_marker("network"):
        return (yield)
    with no_network() as guard:
        item.stash[_GUARD] = guard
        return (yield)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, object, object]:
    """Fail the test that passed although a call was refused."""
    result = yield
    guard = item.stash.get(_GUARD, None)
    if guard is not None and guard.refused:
        calls = ", ".join(guard.refused)
        raise NetworkError(f"the test passed, but wanted to reach {calls}; something swallowed the refusal")
    return result


@pytest.fixture
def network_guard(request: pytest.FixtureRequest) -> Guard | None:
    """The test's guard: `refused` lists what it refused; a test that expects that clears the list. None if marked."""
    item: pytest.Item = request.node
    return item.stash.get(_GUARD, None)
