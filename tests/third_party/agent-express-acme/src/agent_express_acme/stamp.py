"""A secret, and a callable that a stack file writes as "module:attribute"."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable

from pydantic import SecretStr

from agent_express import Middleware, Next, TurnContext


def plain(text: str) -> str:
    """The text as it is."""
    return text


class Stamp(Middleware):
    """Put a keyed digest under each answer, so that somebody who has the key can tell that it came from here.

    Args:
        key: The key.
        prepare: What is done to the text before the digest is made.
    """

    name = "stamp"

    def __init__(self, key: SecretStr, prepare: Callable[[str], str] = plain) -> None:
        self.key, self.prepare = key, prepare

    async def turn(self, ctx: TurnContext, next: Next[None]) -> None:
        """Add the digest to what this caller gets; the history keeps the answer as it is."""
        await next()
        if ctx.output is not None:
            text = ctx.output.text
            ctx.deliver(f"{text}\n{digest(self.key.get_secret_value(), self.prepare(text))}")


def digest(key: str, text: str) -> str:
    """Twelve digits of HMAC-SHA-256."""
    return hmac.new(key.encode(), text.encode(), hashlib.sha256).hexdigest()[:12]
