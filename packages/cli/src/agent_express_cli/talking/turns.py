"""One turn on a screen."""

from __future__ import annotations

import sys
import traceback

from agent_express import Agent, Answer, End, Event, Session

from ..errors import problem
from ..exits import CommandError, Exit
from .describe import rows
from .options import Options
from .screens import Screen

ROOM = 110
"""Characters in a row of the log."""


async def take_turn(session: Session, text: str, screen: Screen) -> Answer[str]:
    """Say *text* in *session* and show what comes; leaving early, for whatever reason, cancels the turn."""
    async with session.stream(text) as events:
        async for event in events:
            match event:
                case End(result=answer):
                    screen.answer(answer)
                case Event():
                    screen.event(event)
    return events.answer


def told(error: BaseException, screen: Screen, options: Options) -> Exit:
    """Show why something failed; the exit code says it too."""
    cause = error.__cause__ if isinstance(error, CommandError) else error
    if options.debug and cause is not None:
        traceback.print_exception(cause, file=sys.stderr)
    found = problem(error)
    if found.code is not Exit.PIPE_CLOSED:
        screen.problem(found)
    return found.code


def show_log(session: Session, screen: Screen, since: int = 0) -> None:
    """Show the entries of the log from the one at place *since* on."""
    screen.report("events", rows(list(session.log)[since:], ROOM))


def show_onion(agent: Agent, screen: Screen) -> None:
    """Show the layers around the agent's hooks, outermost first."""
    screen.report("onion", agent.explain().splitlines())
