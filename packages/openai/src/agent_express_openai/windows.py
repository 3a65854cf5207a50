"""How many tokens OpenAI's models take in, as far as it is known (https://platform.openai.com/docs/models)."""

from __future__ import annotations

import re

_GPT_5 = ("gpt-5", "gpt-5-mini", "gpt-5-nano", "gpt-5.1", "gpt-5.1-codex", "gpt-5.2", "gpt-5.4-mini", "gpt-5.4-nano")
_WINDOWS = {
    **dict.fromkeys(("gpt-5.4", "gpt-5.5"), 1_050_000),
    **dict.fromkeys(_GPT_5, 400_000),
    **dict.fromkeys(("gpt-4.1", "gpt-4.1-mini", "gpt-4.1-nano"), 1_047_576),
    **dict.fromkeys(("gpt-4o", "gpt-4o-mini", "chatgpt-4o-latest", "gpt-4-turbo"), 128_000),
    **dict.fromkeys(("o1", "o1-pro", "o3", "o3-mini", "o3-pro", "o4-mini"), 200_000),
    "gpt-4": 8_192,
    "gpt-3.5-turbo": 16_385,
}
_DATE = re.compile(r"-\d{4}-\d{2}-\d{2}$")


def context_window(model: str) -> int | None:
    """Tokens of the window of OpenAI's *model*, with or without a date in its name; None where it is not known."""
    return _WINDOWS.get(_DATE.sub("", model))
