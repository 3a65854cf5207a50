"""Text in a picture: what XML allows, how wide it is in any font, and what fits into a given room. Pure."""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

_FORBIDDEN = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff\u200e\u200f\u2028-\u202e\u2066-\u2069]"
)
_ESCAPED = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "'": "&#39;"}

NARROW = 0.61
"""Width of a character of any monospaced font, in its size; none is wider."""
WIDE = 1.4
"""What an emoji or an ideograph takes at most where another font has to help out."""


def clean(text: str) -> str:
    """*text* in one line, without what XML forbids or what would turn the direction of writing."""
    return _FORBIDDEN.sub("\ufffd", " ".join(text.split()))


def escape(text: str) -> str:
    """*text* as it may stand in XML, also between quotes."""
    return "".join(_ESCAPED.get(character, character) for character in clean(text))


def width(text: str, size: float) -> float:
    """How wide *text* is at most, monospaced, in a font of *size*."""
    return sum(map(_advance, clean(text))) * size


@lru_cache(maxsize=4096)
def _advance(character: str) -> float:
    """The width of a character in its size; what is not Latin is taken from a font that nobody knows."""
    if character < "\u0250" or character in "\u00b7\u2026\u2192\u2190":
        return NARROW
    return NARROW if unicodedata.combining(character) else WIDE


def is_plain(text: str) -> bool:
    """Whether the width of *text* is sure."""
    return all(character < "\u0250" or character in "\u2026\u2192\u2190" for character in clean(text))


def fit(text: str, size: float, room: float) -> str:
    """*text* in at most *room*, its end replaced by an ellipsis where it is too long; empty where nothing fits."""
    text = clean(text)
    if width(text, size) <= room:
        return text
    left = room - NARROW * size
    kept = 0
    for character in text:
        left -= _advance(character) * size
        if left < 0:
            break
        kept += 1
    return f"{text[:kept].rstrip()}\u2026" if kept else ""
