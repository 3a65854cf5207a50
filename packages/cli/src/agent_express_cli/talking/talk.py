"""`agent-express chat`: one session, turn by turn."""

from __future__ import annotations

import asyncio
import re
import sys
from contextlib import AsyncExitStack

from agent_express import Session

from ..exits import CommandError, Exit
from .assemble import Assembled, assemble
from .background import Abandoned, BackgroundLoop
from .keyboard import Reader
from .options import Options
from .screens import Screen, make_screen
from .turns import show_log, show_onion, take_turn, told

_COMMAND = re.compile(r"/[a-z]+")

HELP = (
    "/help     this list",
    "/events   the log of the last turn",
    "/onion    the layers around the model, outermost first",
    "/exit     leave; so do Ctrl-D, and Ctrl-C twice",
    "Ctrl-C    stop the answer that is being written",
)


def talk(options: Options) -> Exit:
    """Talk until the user leaves; the exit code is that of the last turn where the words came through a pipe."""
    screen = make_screen(options)
    try:
        made = assemble(options, screen.note)
        with BackgroundLoop() as loop:
            return Conversation(made, loop, screen, options).hold()
    except KeyboardInterrupt:
        screen.interrupted()
        return Exit.INTERRUPTED
    except (Exception, asyncio.CancelledError, BaseExceptionGroup) as error:
        return told(error, screen, options)


class Conversation:
    """One session with an agent, and what the user says in it."""

    def __init__(self, made: Assembled, loop: BackgroundLoop, screen: Screen, options: Options) -> None:
        self._made, self._loop, self._screen, self._options = made, loop, screen, options
        self._reader = Reader(sys.stdin, sys.stdout, sys.stderr, prompts=not options.json)
        self._since = 0
        self._code = Exit.OK

    def hold(self) -> Exit:
        """Open the session, take turns until the user leaves, close it."""
        session, closing = self._loop.do(self._open())
        is_abandoned = False
        try:
            if self._reader.is_terminal:
                self._screen.note(f"you talk with {self._made.agent.model.name}; /help says what else there is")
            self._take_turns(session)
        except Abandoned:
            is_abandoned = True
            raise
        finally:
            if not is_abandoned:
                self._loop.do(closing.aclose())
        return Exit.OK if self._reader.is_terminal else self._code

    async def _open(self) -> tuple[Session, AsyncExitStack]:
        async with AsyncExitStack() as opened:
            await opened.enter_async_context(self._made.whole)
            session = await opened.enter_async_context(self._made.agent.session())
            return session, opened.pop_all()

    def _take_turns(self, session: Session) -> None:
        while True:
            try:
                text = self._reader.line()
            except KeyboardInterrupt:
                if not self._reader.is_terminal:
                    raise
                if self._reader.is_leaving():
                    return
                continue
            if text is None or text in ("/exit", "/quit"):
                return
            if _COMMAND.fullmatch(text):
                self._command(session, text)
            elif text:
                self._turn(session, text)

    def _turn(self, session: Session, text: str) -> None:
        self._since = len(session.log)
        self._code = Exit.OK
        try:
            self._loop.do(take_turn(session, text, self._screen))
        except KeyboardInterrupt as pressed:
            if isinstance(pressed, Abandoned) or not self._reader.is_terminal:
                raise
            self._reader.interrupted()
            self._screen.interrupted()
        except CommandError:
            raise
        except (Exception, asyncio.CancelledError, BaseExceptionGroup) as error:
            self._code = told(error, self._screen, self._options)
        if "events" in self._options.show and not self._options.json:
            show_log(session, self._screen, self._since)

    def _command(self, session: Session, text: str) -> None:
        match text:
            case "/help":
                self._screen.report("help", HELP)
            case "/events":
                show_log(session, self._screen, self._since)
            case "/onion":
                show_onion(self._made.agent, self._screen)
            case _:
                self._screen.note(f"there is no {text}; /help says what there is")
