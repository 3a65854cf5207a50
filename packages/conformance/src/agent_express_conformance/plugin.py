"""A pytest plugin: `pytest --pyargs agent_express_conformance --middleware NAME` needs no test file.

It is loaded in every run of pytest where the kit is installed, so it imports nothing of it.
"""

from __future__ import annotations

from pathlib import Path

import pytest

_TESTS = {"test_middleware.py": "--middleware", "test_providers.py": "--provider"}
_KINDS = {"middleware": "--middleware", "models": "--provider"}


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out the tests of what nobody named; say so where nothing was named at all."""
    option = _TESTS.get(collection_path.name)
    if option is None or collection_path.parent != Path(__file__).parent:
        return None
    is_meant = any(arg.partition(":")[0].partition(".")[0] == "agent_express_conformance" for arg in config.args)
    if is_meant and not any(config.getoption(each) for each in _TESTS.values()):
        raise pytest.UsageError("say what to check: --middleware guards.cost-cap, or --provider openai")
    return None if config.getoption(option) else True


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Refuse names that nothing can be checked under, a line for each, before a test is made of any."""
    named = {kind: session.config.getoption(option) or [] for kind, option in _KINDS.items()}
    if any(named.values()):
        from .wanted import wrong  # only now, see above

        problems = wrong(named)
        if problems:
            raise pytest.UsageError(*problems)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Take the names of what is to be checked."""
    group = parser.getgroup("agent-express", "conformance of plugins of Agent Express")
    group.addoption(
        "--middleware",
        action="append",
        default=[],
        metavar="NAME",
        help="an installed middleware to check, such as guards.cost-cap; may be given several times",
    )
    group.addoption(
        "--provider",
        action="append",
        default=[],
        metavar="NAME",
        help="an installed model provider to check; may be given several times",
    )
