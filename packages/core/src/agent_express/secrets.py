"""Secrets in settings: a table of one key, `{ env = "NAME" }`, in the place of a text. Never the text itself."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias, cast

from .errors import SecretError, SettingsProblem

Secrets: TypeAlias = Callable[[str], str | None]
"""From a reference, "env:NAME", to the secret; None where the resolver does not know the scheme."""

KNOWN = ("env", "file", "keyring")
_HOW = 'write { env = "NAME" } or { file = "path" }'


def resolve_secret(reference: str) -> str | None:
    """Resolve "env:NAME" and "file:path"; the last line end of a file is left out.

    Raises:
        SecretError: The variable is not set, or is empty; the file cannot be read, or is empty.
    """
    scheme, _, rest = reference.partition(":")
    match scheme:
        case "env":
            value = os.environ.get(rest, "")
            if not value:
                raise SecretError(f"the variable {rest} is not set: export {rest}=...")
        case "file":
            try:
                value = Path(rest).read_text(encoding="utf-8").rstrip("\r\n")
            except (OSError, ValueError) as error:  # a ValueError of its own: the name holds a null character
                why = "it is not UTF-8 text" if isinstance(error, UnicodeDecodeError) else _reason(error)
                raise SecretError(f"the secret in {rest} cannot be read: {why}") from None
            if not value:
                raise SecretError(f"the secret in {rest} is empty")
        case _:
            return None
    return value


def reveal(
    config: Mapping[str, Any], schema: Mapping[str, Any], secrets: Secrets, *, base: Path | None, from_file: bool
) -> tuple[dict[str, Any], list[SettingsProblem]]:
    """Put the secrets that *config* refers to in their places.

    Args:
        config: Settings as they are written.
        schema: Their JSON schema; where it takes a text, a table of one key is a reference.
        secrets: What resolves a reference.
        base: The folder that relative files start from.
        from_file: Whether a secret written as text is a problem.
    """
    walk = _Walk(schema, secrets, base, from_file)
    return cast(dict[str, Any], walk.value(config, [schema], ())), walk.problems


class _Walk:
    def __init__(self, root: Mapping[str, Any], secrets: Secrets, base: Path | None, from_file: bool) -> None:
        self.problems: list[SettingsProblem] = []
        self._root, self._secrets, self._base, self._from_file = root, secrets, base, from_file

    def value(self, value: Any, schemas: Sequence[Mapping[str, Any]], path: tuple[str | int, ...]) -> Any:
        kinds = [kind for schema in schemas for kind in self._kinds(schema)]
        if self._from_file and isinstance(value, str) and any(kind.get("writeOnly") for kind in kinds):
            self.problems.append(SettingsProblem(path, f"a secret is never written as text: {_HOW}"))
        if isinstance(value, Mapping):
            held = cast(Mapping[str, Any], value)
            if path and self._takes_text(held, kinds):
                if _is_reference(held):
                    return self._secret(held, path)
                self.problems.append(SettingsProblem(path, f"a secret is a table of one key with a text: {_HOW}"))
                return None
            return {key: self.value(each, _members(kinds, key), (*path, key)) for key, each in held.items()}
        if isinstance(value, list | tuple):
            items: Sequence[Any] = value
            return [self.value(each, _items(kinds, place), (*path, place)) for place, each in enumerate(items)]
        return value

    def _takes_text(self, held: Mapping[str, Any], kinds: list[Mapping[str, Any]]) -> bool:
        """Whether a text may stand here and an object may not; of an unknown place, whether the scheme is known."""
        types = {each for kind in kinds for each in _types(kind)}
        if "object" in types:
            return False
        return "string" in types or (not types and _is_reference(held) and next(iter(held)) in KNOWN)

    def _secret(self, held: Mapping[str, Any], path: tuple[str | int, ...]) -> Any:
        scheme, rest = next(iter(held.items()))
        if scheme == "file" and self._base is not None:
            rest = str(self._base / rest)
        try:
            found = self._secrets(f"{scheme}:{rest}")
        except SecretError as error:
            self.problems.append(SettingsProblem(path, str(error)))
            return None
        if found is None:
            self.problems.append(SettingsProblem(path, f"{scheme!r} is no known kind of secret: {_HOW}"))
        return found

    def _kinds(self, schema: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        """What a value may be: the schema itself, or what it refers to and chooses from."""
        if "$ref" in schema:
            found: Any = self._root
            for part in str(schema["$ref"]).removeprefix("#/").split("/"):
                found = found.get(part, {})
            return self._kinds(found)
        choices = [each for key in ("anyOf", "oneOf", "allOf") for each in schema.get(key, ())]
        return [kind for each in choices for kind in self._kinds(each)] if choices else [schema]


def _members(kinds: Sequence[Mapping[str, Any]], key: str) -> list[Mapping[str, Any]]:
    """What a value at *key* of an object may be."""
    found: list[Any] = []
    for kind in kinds:
        if key in kind.get("properties", {}):
            found.append(kind["properties"][key])
        else:
            found += [*kind.get("patternProperties", {}).values(), kind.get("additionalProperties")]
    return [each for each in found if isinstance(each, dict)]


def _items(kinds: Sequence[Mapping[str, Any]], place: int) -> list[Mapping[str, Any]]:
    """What an item of a list, or of a tuple, may be."""
    found = [[*kind.get("prefixItems", ())][place : place + 1] or [kind.get("items")] for kind in kinds]
    return [each for (each,) in found if isinstance(each, dict)]


def _types(kind: Mapping[str, Any]) -> list[str]:
    found: Any = kind.get("type", [])
    return found if isinstance(found, list) else [found]


def _reason(error: Exception) -> str:
    return (error.strerror if isinstance(error, OSError) else None) or str(error)


def _is_reference(held: Mapping[str, Any]) -> bool:
    return len(held) == 1 and all(isinstance(each, str) and each for each in held.values())
