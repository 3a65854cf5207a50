"""The command `agent-express`: an agent at the terminal, and what plugins of the command line need."""

from typing import TYPE_CHECKING, Any

from .main import main

if TYPE_CHECKING:
    from .hosting.cases import Case
    from .hosting.checks import Check
    from .hosting.hookspecs import hookimpl

__all__ = ["Case", "Check", "hookimpl", "main"]

_HOMES = {"Case": "hosting.cases", "Check": "hosting.checks", "hookimpl": "hosting.hookspecs"}


def __getattr__(name: str) -> Any:
    """Import what plugins need only for them: `--help` goes without pluggy."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(f".{_HOMES[name]}", __name__), name)
