"""From the code of a plugin to its entry in the manifest, and how the two differ."""

from __future__ import annotations

import dataclasses
import inspect
import json
from collections.abc import Mapping
from typing import Any, cast, get_type_hints

from pydantic import BaseModel

from .checks import read
from .errors import ManifestError, PluginError, UseError
from .event import Event
from .manifest import CONTRACT, DECLARED, parse_manifest
from .middleware import HOOKS, Entry
from .order import Order
from .parameters import tidy
from .references import import_attr
from .settings import Settings
from .slices import compile_slice

_WITHOUT_SETTINGS = ("skills", "hooks")


def describe_package(entry_points: Mapping[str, Mapping[str, str]], written: object = None) -> dict[str, Any]:
    """The manifest of a package, as its code is.

    Args:
        entry_points: By group, "middleware" say, names and targets.
        written: The manifest so far, as parsed JSON: what its author declared is kept.

    Raises:
        PluginError: An entry point cannot be imported, or made: the message names it.
        ManifestError: What is written cannot be read, or lacks an example that is needed.
    """
    told: Any = written if isinstance(written, dict) else {}
    if told:
        parse_manifest(told, "the manifest")
    before = cast(Mapping[str, Mapping[str, Any]], told.get("entries", {}))
    entries: dict[str, Any] = {}
    for group, targets in entry_points.items():
        for name, target in targets.items():
            if name in entries:
                raise ManifestError(f"{name!r} is published in two groups: give one of them another name")
            entries[name] = describe(name, group, import_attr(target), before.get(name, {}))
    return {"contract": CONTRACT, "entries": dict(sorted(entries.items()))}


def describe(name: str, group: str, factory: Any, declared: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The entry of one plugin, as its code is.

    A middleware is made with the example of its settings, where it has one or needs none, and looked at; else its
    class is.

    Args:
        name: As in the entry point.
        group: "middleware", "models" ...
        factory: What the entry point leads to.
        declared: The entry so far: `DECLARED` is kept of it.

    Raises:
        ManifestError: Settings are required, and there is no example of them.
        PluginError: Its settings or the thing itself cannot be made.
    """
    told = declared or {}
    entry: dict[str, Any] = {"group": group, "summary": _summary(factory)}
    entry |= {key: told[key] for key in DECLARED if key in told}
    entry.setdefault("stability", "alpha")
    if group in _WITHOUT_SETTINGS:
        return entry
    try:
        settings = Settings.of(factory, 1 if group == "models" else 0)
    except UseError as error:
        raise PluginError(f"{name}: {error}") from error
    entry["config"] = settings.schema
    if group == "models":
        entry["streaming"] = True
    elif group == "middleware":
        entry |= _middleware(_made(name, settings, told.get("example")), name)
    elif group == "bundles":
        entry["layers"] = [each.name for each in read([_made(name, settings, told.get("example"))], where=name)]
    return entry


def differences(written: Mapping[str, Any], real: Mapping[str, Any]) -> list[str]:
    """Where an entry of the manifest says something else than the code, a sentence each."""
    keys = [key for key in (*written, *(key for key in real if key not in written)) if key not in DECLARED]
    found: list[str] = []
    for key in keys:
        said, is_so = _meant(written.get(key)), _meant(real.get(key))
        if said != is_so:
            found.append(f"{key}: the manifest says {_shown(said)}, the code {_shown(is_so)}")
    return found


def _made(name: str, settings: Settings, example: Any) -> Any:
    if settings.required and example is None:
        needs = ", ".join(settings.required)
        raise ManifestError(f'{name} cannot be made without {needs}: put an "example" of its settings into its entry')
    return settings.make(cast(Mapping[str, Any], example or {}))


def _middleware(thing: Any, name: str) -> dict[str, Any]:
    entries = read([thing], where=name)
    if len(entries) != 1:
        raise PluginError(f"{name} gives {len(entries)} middleware, expected one: publish it in the group bundles")
    (entry,) = entries
    found: dict[str, Any] = {"hooks": [hook for hook in HOOKS if hook in entry.hooks]}
    found["streaming"] = any(inspect.isasyncgenfunction(hook) for hook in entry.hooks.values())
    found["state"] = _state(entry.state) if entry.state is not None else []
    found["events"] = [{"name": kind.type, "summary": _first_sentence(kind)} for kind in entry.events]
    found["tools"] = [{"name": tool.name, "summary": _first_line(tool.description)} for tool in entry.tools]
    found["order"] = _order(entry.order)
    found["module"] = _module(entry)
    return {key: value for key, value in found.items() if value or key in ("hooks", "streaming")}


def _module(entry: Entry) -> str:
    kind: Any = entry.thing if inspect.isfunction(entry.thing) else type(entry.thing)
    return f"{kind.__module__}:{kind.__qualname__}"


def _state(model: type[BaseModel]) -> list[dict[str, Any]]:
    shape, schema = compile_slice(model), tidy(model.model_json_schema())
    fields: list[dict[str, Any]] = []
    for name, field in schema.get("properties", {}).items():
        fields.append(
            {
                "name": name,
                "type": _type(field),
                "scope": "turn" if name in shape.turn_defaults else "session",
                "private": name in shape.private,
                "description": field.get("description", ""),
            }
        )
    return fields


def _type(schema: Mapping[str, Any]) -> str:
    if "type" in schema:
        return str(schema["type"])
    choices = schema.get("anyOf", ())
    if choices:
        return " | ".join(_type(each) for each in choices)
    return "object" if "$ref" in schema else "any"


def _order(order: Order) -> dict[str, list[str]]:
    return {key: list(value) for key, value in dataclasses.asdict(order).items() if value}


def _summary(factory: Any) -> str:
    """The first sentence of the factory's docstring; of a function without one, that of the class it returns."""
    said = _first_sentence(factory)
    if not said and inspect.isfunction(factory):
        made = _returned(factory)
        said = _first_sentence(made) if isinstance(made, type) else ""
    return said


def _returned(function: Any) -> Any:
    """What *function* is annotated to return; None where that cannot be said without a type checker."""
    try:
        return get_type_hints(function).get("return")
    except (NameError, AttributeError, TypeError, SyntaxError):
        return None


def _first_sentence(thing: Any) -> str:
    own = thing.__dict__.get("__doc__") if isinstance(thing, type) else getattr(thing, "__doc__", None)
    if isinstance(thing, type) and issubclass(thing, Event) and own is None:
        return ""
    return _first_line(inspect.cleandoc(own or ""))


def _first_line(text: str) -> str:
    return " ".join(text.partition("\n\n")[0].split())


def _meant(value: Any) -> Any:
    """A value in the one form in which it is compared: what is empty, and what is not so, counts as not said."""
    if isinstance(value, dict):
        meant = {key: _meant(each) for key, each in cast(Mapping[str, Any], value).items()}
        return {key: each for key, each in meant.items() if each is not None} or None
    if isinstance(value, list | tuple):
        return [_meant(each) for each in cast(list[Any], value)] or None
    return None if value is False or value == "" else value


def _shown(value: Any) -> str:
    text = "nothing" if value is None else json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 200 else f"{text[:199]}…"
