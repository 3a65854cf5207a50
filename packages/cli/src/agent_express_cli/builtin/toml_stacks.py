"""Stacks from a TOML file: `--stack agent.toml`."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from ..exits import CommandError
from ..hosting.hookspecs import hookimpl
from ..local import find_modules_in

if TYPE_CHECKING:
    from agent_express.registry import Registry
    from agent_express.secrets import Secrets
    from agent_express.stack import Models, Stack


class TomlStacks:
    """Load stacks from TOML files, `--stack agent.toml`."""

    @hookimpl
    def load_stack(
        self, path: str, profile: str, registry: Registry, secrets: Secrets, models: Models, locked: bool
    ) -> Stack | None:
        """Load `agent.toml`, or the table [tool.agent-express] of `pyproject.toml`."""
        if not path.lower().endswith(".toml"):
            return None
        file = Path(path)
        if file.is_dir():
            raise CommandError(f"--stack {path} is a folder: name the file in it")
        if not file.is_file():
            raise CommandError(f"--stack {path}: there is no such file")
        from agent_express.stack import load_stack as load

        find_modules_in(file.resolve().parent)
        return load(file, profile=profile, registry=registry, secrets=secrets, models=models, locked=locked)
