"""`agent-express run`: one question, one answer."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence

from ..exits import Exit
from .assemble import Assembled, assemble
from .background import BackgroundLoop
from .options import Options
from .said import said
from .screens import Screen, make_screen
from .turns import show_log, show_onion, take_turn, told


def run_once(words: Sequence[str], options: Options) -> Exit:
    """Answer *words*, or what comes through the pipe; the exit code says how it went."""
    screen = make_screen(options)
    try:
        text = said(words, sys.stdin.buffer, is_terminal=sys.stdin.isatty())
        made = assemble(options, screen.note)
        with BackgroundLoop() as loop:
            return loop.do(_run(made, text, screen, options))
    except KeyboardInterrupt:
        screen.interrupted()
        return Exit.INTERRUPTED
    except (Exception, asyncio.CancelledError, BaseExceptionGroup) as error:
        return told(error, screen, options)


async def _run(made: Assembled, text: str, screen: Screen, options: Options) -> Exit:
    if options.json and "onion" in options.show:  # the answer is the last line there
        show_onion(made.agent, screen)
    async with made.whole, made.agent.session() as session:
        try:
            answer = await take_turn(session, text, screen)
        finally:
            if "events" in options.show and not options.json:
                show_log(session, screen)
    if "onion" in options.show and not options.json:
        show_onion(made.agent, screen)
    return Exit.FAILED if answer.message.origin == "core" else Exit.OK
