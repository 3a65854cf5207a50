"""What is known of Anthropic's models by their names.

Source of the numbers: https://platform.claude.com/docs/en/about-claude/models/overview, read in 2026-11.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_NAME: Final = re.compile(r"claude-([a-z]+)-(\d{1,2})(?:-(\d{1,2}))?(?!\d)")
"""Finds family and version; a snapshot's date is no minor version, and a gateway's prefix does not matter."""

_LARGE: Final = (1_000_000, 128_000)
_SMALL: Final = (200_000, 64_000)
_SIZES: Final = {
    ("fable", 5, 2): _LARGE,
    ("fable", 5, 1): _LARGE,
    ("fable", 5, 0): _LARGE,
    ("mythos", 5, 2): _LARGE,
    ("mythos", 5, 1): _LARGE,
    ("mythos", 5, 0): _LARGE,
    ("opus", 5, 5): _LARGE,
    ("opus", 5, 0): _LARGE,
    ("opus", 4, 8): _LARGE,
    ("opus", 4, 7): _LARGE,
    ("opus", 4, 6): _LARGE,
    ("opus", 4, 5): _SMALL,
    ("sonnet", 5, 5): _LARGE,
    ("sonnet", 5, 0): _LARGE,
    ("sonnet", 4, 6): _LARGE,
    ("sonnet", 4, 5): _SMALL,
    ("haiku", 5, 5): _LARGE,
    ("haiku", 4, 5): _SMALL,
}
_UNKNOWN: Final = (None, 8_192)
_ADAPTIVE: Final = (4, 6)
_BINDING: Final = (5, 1)


@dataclass(frozen=True, slots=True)
class Known:
    """What a model's name tells.

    Attributes:
        context_window: Tokens of prompt and answer together; None where the model is not in the table.
        max_tokens: What the API is asked for where nobody says it, since it must be told: the longest answer the
            model can give, 8,192 where the model is not in the table.
        adaptive: Whether the model decides itself how long to think, guided by an effort; older ones want a budget.
        binds_thinking: Whether it refuses its own earlier thinking once anything before it has changed.
    """

    context_window: int | None
    max_tokens: int
    adaptive: bool
    binds_thinking: bool


def known(model: str) -> Known:
    """Look *model* up, such as "claude-sonnet-5-5".

    A version that is newer than the table behaves like the newest in it; only its sizes are unknown. A name that is
    not Anthropic's (a local server that speaks the dialect) is taken for one with adaptive thinking and no binding.
    """
    found = _NAME.search(model)
    if found is None:
        window, longest = _UNKNOWN
        return Known(window, longest, adaptive=True, binds_thinking=False)
    family, version = found[1], (int(found[2]), int(found[3] or 0))
    window, longest = _SIZES.get((family, *version), _UNKNOWN)
    return Known(window, longest, adaptive=version >= _ADAPTIVE, binds_thinking=version >= _BINDING)
