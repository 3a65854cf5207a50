"""Loads a heavy module when it is imported: the tests lay out a stand-in of that name."""

import pandas  # type: ignore[import-not-found,import-untyped,unused-ignore] # noqa: F401
from agent_express_shop.flawed import Plain


class LoadsPandas(Plain):
    """Come from a module that loads pandas."""
