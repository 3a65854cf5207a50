"""The manifest of a package: what its plugins are, readable without importing them.

A file `agent_express.json` beside the package's `__init__.py`. Most of it is written from the code, by
`agent_express.describe`; what code cannot say is declared by the author, and kept.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

from .errors import ManifestError
from .order import NO_RULES, Order

CONTRACT = 1
"""The number of the agreement between core and plugins; it changes when what a plugin may rely on does."""

FILE = "agent_express.json"
DECLARED = (
    "stability",
    "roles",
    "permissions",
    "environment",
    "modalities",
    "example",
    "exempt",
    "next_many",
    "commands",
)
"""What an author declares; the rest of an entry is written from the code."""

STABILITIES = ("alpha", "beta", "stable")

_EMPTY: Mapping[str, Any] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class StateField:
    """A field of a middleware's state.

    Attributes:
        name: Its name.
        type: Its type in JSON.
        scope: "session" or "turn".
        private: Whether it is left out of logs and traces.
        description: What it holds.
    """

    name: str
    type: str = "any"
    scope: str = "session"
    private: bool = False
    description: str = ""


@dataclass(frozen=True, slots=True)
class Offered:
    """An event or a tool: its name, and a sentence."""

    name: str
    summary: str = ""


@dataclass(frozen=True, slots=True)
class ManifestEntry:
    """What one plugin is.

    Attributes:
        name: As in the entry point.
        group: "middleware", "models", "stores", "bundles", "adapters", "skills" or "hooks".
        summary: One sentence.
        hooks: Those it has, of init, dispose, session, turn, model, tool.
        streaming: Whether one of its hooks yields; of a model, whether it streams.
        state: The fields of its state.
        events: The events it may emit.
        tools: The tools it brings.
        order: What it must stand outside or inside of.
        roles: What it does in a stack, such as "budget" or "redactor"; what rules of a house look at.
        permissions: What it reaches for, of "network", "files", "subprocess".
        environment: The variables it reads.
        stability: "alpha", "beta" or "stable".
        config: The JSON schema of its settings.
        example: Settings that make a working one, without a network or a key; None where there are none.
        module: The class, "package.module:Class"; empty where there is none.
        exempt: Checks of the conformance kit that it does not pass, each with the reason.
        raw: The whole entry as it was read.
    """

    name: str
    group: str
    summary: str = ""
    hooks: tuple[str, ...] = ()
    streaming: bool = False
    state: tuple[StateField, ...] = ()
    events: tuple[Offered, ...] = ()
    tools: tuple[Offered, ...] = ()
    order: Order = NO_RULES
    roles: tuple[str, ...] = ()
    permissions: tuple[str, ...] = ()
    environment: tuple[str, ...] = ()
    stability: str = "alpha"
    config: Mapping[str, Any] = field(default_factory=lambda: _EMPTY)
    example: Mapping[str, Any] | None = None
    module: str = ""
    exempt: Mapping[str, str] = field(default_factory=lambda: _EMPTY)
    raw: Mapping[str, Any] = field(default_factory=lambda: _EMPTY, repr=False)


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a package says of itself.

    Attributes:
        contract: The number of the agreement it was built for.
        entries: Its plugins by name.
    """

    contract: int = CONTRACT
    entries: Mapping[str, ManifestEntry] = field(default_factory=lambda: _EMPTY)


def read_manifest(path: Path) -> Manifest:
    """Read the manifest at *path*.

    Raises:
        ManifestError: It cannot be read, is no JSON, or lacks what it must say.
    """
    return parse_manifest(load_manifest(path), str(path))


def load_manifest(path: Path) -> object:
    """The JSON at *path*, whatever it says.

    Raises:
        ManifestError: It cannot be read, or is no JSON.
    """
    try:
        return json.loads(path.read_bytes().removeprefix(b"\xef\xbb\xbf"))
    except OSError as error:
        raise ManifestError(f"{path}: cannot be read: {error.strerror or error}") from error
    except ValueError as error:
        raise ManifestError(f"{path}: is no JSON: {error}") from error
    except RecursionError:
        raise ManifestError(f"{path}: is no JSON that can be read: it is nested too deep") from None


def parse_manifest(data: object, where: str) -> Manifest:
    """Make a manifest of parsed JSON. Of a later contract only the number is read; unknown keys are left alone.

    Args:
        data: What the file holds.
        where: Named in errors.

    Raises:
        ManifestError: It lacks what it must say.
    """
    if not isinstance(data, dict):
        raise ManifestError(f"{where}: expected an object with contract and entries, found {_kind(data)}")
    given = cast(dict[str, Any], data)
    contract = given.get("contract")
    if not isinstance(contract, int) or isinstance(contract, bool):
        raise ManifestError(f"{where}: contract must be a whole number, found {_kind(contract)}")
    if contract != CONTRACT:
        return Manifest(contract)
    entries: Any = given.get("entries", {})
    if not isinstance(entries, dict):
        raise ManifestError(f"{where}: entries must be an object, found {_kind(entries)}")
    named = cast(dict[str, Any], entries)
    return Manifest(contract, {name: _entry(name, entry, f"{where}: {name}") for name, entry in named.items()})


def _entry(name: str, entry: Any, where: str) -> ManifestEntry:
    if not isinstance(entry, dict):
        raise ManifestError(f"{where}: expected an object, found {_kind(entry)}")
    given = cast(dict[str, Any], entry)
    order = _object(given, "order", where)
    stability = _text(given, "stability", where) or STABILITIES[0]
    if stability not in STABILITIES:
        raise ManifestError(f"{where}: stability must be one of {', '.join(STABILITIES)}, found {stability!r}")
    return ManifestEntry(
        name=name,
        group=_text(given, "group", where),
        summary=_text(given, "summary", where),
        hooks=_words(given, "hooks", where),
        streaming=given.get("streaming") is True,
        state=tuple(_field(each, where) for each in _objects(given, "state", where)),
        events=tuple(_offered(each, "events", where) for each in _objects(given, "events", where)),
        tools=tuple(_offered(each, "tools", where) for each in _objects(given, "tools", where)),
        order=Order(*(_words(order, side, f"{where}: order") for side in ("outside", "inside", "requires"))),
        roles=_words(given, "roles", where),
        permissions=_words(given, "permissions", where),
        environment=_words(given, "environment", where),
        stability=stability,
        config=_object(given, "config", where),
        example=_object(given, "example", where) if "example" in given else None,
        module=_text(given, "module", where),
        exempt=_object(given, "exempt", where),
        raw=given,
    )


def _field(given: Mapping[str, Any], where: str) -> StateField:
    return StateField(
        _named(given, "state", where),
        _text(given, "type", where) or "any",
        _text(given, "scope", where) or "session",
        given.get("private") is True,
        _text(given, "description", where),
    )


def _offered(given: Mapping[str, Any], key: str, where: str) -> Offered:
    return Offered(_named(given, key, where), _text(given, "summary", where))


def _named(given: Mapping[str, Any], key: str, where: str) -> str:
    name = _text(given, "name", where)
    if not name:
        raise ManifestError(f"{where}: each of {key} needs a name")
    return name


def _text(given: Mapping[str, Any], key: str, where: str) -> str:
    value = given.get(key, "")
    if not isinstance(value, str):
        raise ManifestError(f"{where}: {key} must be a text, found {_kind(value)}")
    return value


def _words(given: Mapping[str, Any], key: str, where: str) -> tuple[str, ...]:
    value: Any = given.get(key, [])
    if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
        raise ManifestError(f"{where}: {key} must be a list of texts, found {_kind(value)}")
    return tuple(cast(list[str], value))


def _object(given: Mapping[str, Any], key: str, where: str) -> Mapping[str, Any]:
    value: Any = given.get(key, {})
    if not isinstance(value, dict):
        raise ManifestError(f"{where}: {key} must be an object, found {_kind(value)}")
    return cast(dict[str, Any], value)


def _objects(given: Mapping[str, Any], key: str, where: str) -> list[Mapping[str, Any]]:
    value: Any = given.get(key, [])
    if not isinstance(value, list) or not all(isinstance(each, dict) for each in value):
        raise ManifestError(f"{where}: {key} must be a list of objects, found {_kind(value)}")
    return cast(list[Mapping[str, Any]], value)


_KINDS: dict[type, str] = {dict: "an object", list: "a list", str: "a text", type(None): "nothing"}


def _kind(value: object) -> str:
    return _KINDS.get(type(value), f"the value {value!r}")
