"""Broken on purpose: importing it ends the program."""

import sys

from agent_express import Middleware


class Exits(Middleware):
    """Never get here."""


sys.exit("acme ends here")
