"""Broken on purpose: importing it raises."""

from agent_express import Middleware


class Raises(Middleware):
    """Never get here."""


raise RuntimeError("acme's licence server is on holiday")
