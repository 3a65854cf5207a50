"""The command `agent-express`: an agent at the terminal."""

from .main import main

__all__ = ["main"]
