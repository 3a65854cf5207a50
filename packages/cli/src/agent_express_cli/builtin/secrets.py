"""Secrets of the environment and of files: `env:NAME`, `file:PATH`."""

from __future__ import annotations

from ..hosting.hookspecs import hookimpl


class CoreSecrets:
    """Look up secrets of the environment and of files, `env:NAME` and `file:path`."""

    @hookimpl(trylast=True)
    def resolve_secret(self, ref: str) -> str | None:
        """Look up what core itself knows."""
        from agent_express.secrets import resolve_secret as resolve

        return resolve(ref)
