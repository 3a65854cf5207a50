from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest
from packages.conformance.tests.stock import write_shop

from agent_express.registry import Registry


@pytest.fixture(scope="session")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Registry]:
    """A registry with a distribution of well-behaved and of flawed middleware, installed for real."""
    folder = tmp_path_factory.mktemp("site")
    sys.path.insert(0, str(folder))
    try:
        write_shop(folder)
        yield Registry(path=[str(folder)], environ={})
    finally:
        sys.path.remove(str(folder))
        for name in [name for name in sys.modules if name.partition(".")[0] in ("agent_express_shop", "pandas")]:
            del sys.modules[name]
