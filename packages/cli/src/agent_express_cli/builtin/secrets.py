"""Secrets of the environment and of files: `env:NAME`, `file:PATH`."""

from __future__ import annotations

from ..hookspecs import hookimpl


@hookimpl(trylast=True)
def resolve_secret(ref: str) -> str | None:
    """Look up what core itself knows."""
    from agent_express.settings import resolve_secret as resolve

    return resolve(ref)
