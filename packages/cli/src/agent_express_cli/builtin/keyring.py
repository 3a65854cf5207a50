"""Secrets of the system's keyring: `keyring:service/user`, where the package of that name is installed."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from agent_express.errors import SecretError

from ..hosting.hookspecs import hookimpl

SCHEME = "keyring:"


class KeyringSecrets:
    """Look up secrets in the system's keyring, `keyring:service/user`."""

    @hookimpl
    def resolve_secret(self, ref: str) -> str | None:
        """Ask the keyring for the password of a user of a service.

        Raises:
            SecretError: It holds no such password, it cannot be opened, or its package is not installed.
        """
        if not ref.startswith(SCHEME):
            return None
        service, _, user = ref.removeprefix(SCHEME).rpartition("/")
        if not service or not user:
            raise SecretError(f"the secret {ref} names no user: write keyring:service/user")
        opened = _keyring()
        try:
            found = opened.get_password(service, user)
        except Exception as error:  # each service of a desktop has errors of its own
            raise SecretError(f"the keyring cannot be opened for {ref}: {type(error).__name__}: {error}") from error
        if found is None:
            raise SecretError(
                f"the keyring holds no password of {user!r} for {service!r}: keyring set {service} {user}"
            )
        return str(found)


def _keyring() -> Any:
    """Import keyring only where a secret is kept there: it looks for every service of the desktop."""
    try:
        return import_module("keyring")
    except ImportError as error:
        raise SecretError("the package that opens the keyring is not installed: pip install keyring") from error
