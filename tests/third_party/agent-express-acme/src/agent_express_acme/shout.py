"""A streaming hook: it changes what the client sees while it comes."""

from __future__ import annotations

from agent_express import End, Events, Middleware, ModelContext, ModelResponse, Next, TextDelta


class Shout(Middleware):
    """Put every piece of the answer into capital letters, while it is streamed and in the end.

    Args:
        end: What is put after the answer.
    """

    name = "shout"

    def __init__(self, end: str = "") -> None:
        self.end = end

    async def model(self, ctx: ModelContext, next: Next[ModelResponse]) -> Events[ModelResponse]:
        """Change each piece of text, and the whole at the end."""
        async for event in next():
            match event:
                case TextDelta():
                    yield TextDelta(event.text.upper())
                case End():
                    message = event.result.message
                    if self.end:
                        yield TextDelta(self.end)
                    yield End(event.result.replace(message=message.with_text(message.text.upper() + self.end)))
                case _:
                    yield event
