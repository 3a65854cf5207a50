"""Text that every store takes: Unicode without NUL and without lone surrogates."""

from __future__ import annotations

import re

from pydantic import ValidationError

_NUL = re.compile(r"(?<!\\)(?:\\\\)*\\u0000")
_SURROGATE = re.compile(r"(?<!\\)(?:\\\\)*\\u[dD][89a-fA-F]")


def problems(error: ValidationError, whole: str) -> str:
    """What does not validate, field by field, without the values: they may be private.

    Args:
        error: What pydantic found.
        whole: What stands for the place where it is the value itself.
    """
    found = error.errors(include_url=False, include_input=False, include_context=False)
    return "; ".join(f"{'.'.join(map(str, each['loc'])) or whole}: {each['msg']}" for each in found[:10])


def is_clean(text: str) -> bool:
    """Whether every store takes *text* as it is."""
    if "\x00" in text:
        return False
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def clean(text: str) -> str:
    """*text* with a replacement character for each NUL and each lone surrogate."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").replace("\x00", "\ufffd")


def holds_nul(json_text: str) -> bool:
    """Whether JSON text holds an escaped NUL character: PostgreSQL cannot store it, so nothing here does."""
    return _NUL.search(json_text) is not None


def holds_odd(json_text: str) -> bool:
    """Whether JSON text holds NUL characters, or surrogates that do not pair up."""
    if not is_clean(json_text):
        return True
    if "\\u" not in json_text:
        return False
    if holds_nul(json_text):
        return True
    if _SURROGATE.search(json_text) is None:
        return False
    from json import dumps, loads

    return not is_clean(dumps(loads(json_text), ensure_ascii=False))
