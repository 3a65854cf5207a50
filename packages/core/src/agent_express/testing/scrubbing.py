"""Take secrets out of recorded traffic before it reaches a file."""

from __future__ import annotations

import json
import os
import re
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable, Mapping
from typing import TypeAlias

from .plain import JSON, is_list, is_object

Secret: TypeAlias = str | re.Pattern[str] | Callable[[str], str]

PLACEHOLDER = "<secret>"
SHORTEST = 6  # characters: a shorter value of a variable would be found everywhere

_VARIABLE = re.compile(r"_(?:KEY|TOKEN|SECRET|PASSWORD)$", re.IGNORECASE)
_FIELD = re.compile(r"(?:^|[_-])(?:api[_-]?key|token|secret|password|passwd|authorization|cookie)$", re.IGNORECASE)
_BYTES = frozenset({"image", "audio", "file", "resource"})  # kinds of parts whose `data` is base64

_PATTERNS = [
    re.compile(pattern)
    for pattern in (
        r"\b(?:sk|pk|rk)-[A-Za-z0-9_-]{16,}",  # OpenAI, Anthropic and those who follow them
        r"\b(?:sk|pk|rk)_(?:live|test)_[A-Za-z0-9]{16,}",  # Stripe
        r"\bgh[pousr]_[A-Za-z0-9]{20,}",  # GitHub
        r"\bgithub_pat_[A-Za-z0-9_]{20,}",
        r"\bglpat-[A-Za-z0-9_-]{16,}",  # GitLab
        r"\bxox[abeprs]-[A-Za-z0-9-]{10,}",  # Slack
        r"\bhf_[A-Za-z0-9]{20,}",  # Hugging Face
        r"\b(?:npm|pypi)[_-][A-Za-z0-9_-]{30,}",
        r"\bAIza[A-Za-z0-9_-]{30,}",  # Google
        r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",  # AWS
        r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",  # JSON web tokens
        r"(?<=\bBearer )[A-Za-z0-9._~+/=-]{8,}",
        r"(?<=://)[^/\s:@\"]+:[^/\s@\"]+(?=@)",  # user:password in an address
        r"-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*?-----END [A-Z ]*PRIVATE KEY-----",
    )
]


class Scrubber:
    """Replace what looks like a secret in every text of a JSON value.

    Taken out are: the values of environment variables named `..._KEY`, `..._TOKEN`, `..._SECRET` or `..._PASSWORD`
    (of at least 6 characters; they become `<NAME>`), the usual forms of keys and tokens, fields called token,
    password, authorization and the like (they become `<secret>`), and *secrets*. Attached bytes that are UTF-8 text
    are searched too.

    Args:
        secrets: Of your own: a string is that very text, a pattern whatever it matches, a function rewrites each text.
        environ: The variables to look at; the process's own by default, read anew at each call.
    """

    def __init__(self, *secrets: Secret, environ: Mapping[str, str] | None = None) -> None:
        for each in secrets:
            if each == "":
                raise ValueError("a secret is an empty text, which is everywhere: leave it out")
        self._own = [_rewriter(each) for each in secrets]
        self._environ = environ

    def __call__(self, value: JSON) -> JSON:
        """Return *value* without secrets; what holds none is equal to what came in."""
        return _walk(value, self._text(), "")

    def text(self, text: str) -> str:
        """Return *text* without secrets."""
        return self._text()(text)

    def _text(self) -> Callable[[str], str]:
        known = _known(os.environ if self._environ is None else self._environ)

        def scrub(text: str) -> str:
            for value, name in known:
                text = text.replace(value, name)
            for pattern in _PATTERNS:
                text = pattern.sub(PLACEHOLDER, text)
            for rewrite in self._own:
                text = rewrite(text)
            return text

        return scrub


def _known(environ: Mapping[str, str]) -> list[tuple[str, str]]:
    """The secret values and their placeholders, the longest first; also as they stand inside JSON text."""
    values = {
        value: f"<{name}>" for name, value in environ.items() if _VARIABLE.search(name) and len(value) >= SHORTEST
    }
    escaped = {
        json.dumps(value, ensure_ascii=flag)[1:-1]: name for value, name in values.items() for flag in (True, False)
    }
    return sorted((values | escaped).items(), key=lambda pair: -len(pair[0]))


def _rewriter(secret: Secret) -> Callable[[str], str]:
    if isinstance(secret, str):
        return lambda text: text.replace(secret, PLACEHOLDER)
    if isinstance(secret, re.Pattern):
        return lambda text: secret.sub(PLACEHOLDER, text)
    return secret


def _walk(value: JSON, scrub: Callable[[str], str], field: str) -> JSON:
    if isinstance(value, str):
        return PLACEHOLDER if value and _FIELD.search(field) else scrub(value)
    if is_list(value):
        return [_walk(each, scrub, field) for each in value]
    if not is_object(value):
        return value
    holds_bytes = value.get("kind") in _BYTES
    return {
        scrub(name): _bytes(each, scrub) if holds_bytes and name == "data" else _walk(each, scrub, name)
        for name, each in value.items()
    }


def _bytes(data: JSON, scrub: Callable[[str], str]) -> JSON:
    if not isinstance(data, str):
        return data
    try:
        text = urlsafe_b64decode(data).decode("utf-8")
    except ValueError:
        return data
    return urlsafe_b64encode(scrub(text).encode("utf-8")).decode("ascii")
