"""Settings that both APIs treat alike, the ones an API lacks, and the options that are sent as they are."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from agent_express.errors import UnsupportedError
from agent_express.messages import OutputSchema, Settings, ToolDef

from .json_values import items, mapping

_WORDS = ("auto", "none", "required")


def sampling(settings: Settings) -> dict[str, Any]:
    """The fields that have one name in both APIs."""
    fields = {"temperature": settings.temperature, "top_p": settings.top_p}
    return {name: value for name, value in fields.items() if value is not None}


def choosing(settings: Settings, tools: tuple[ToolDef, ...], named: Mapping[str, Any]) -> dict[str, Any]:
    """The fields on the choice of tools; *named* is how the API asks for one tool by name.

    Without tools the APIs refuse even the words that change nothing then; those are left out.
    """
    fields: dict[str, Any] = {}
    choice = settings.tool_choice
    if choice is not None and (tools or choice not in ("auto", "none")):
        fields["tool_choice"] = choice if choice in _WORDS else dict(named)
    if settings.parallel_tool_calls is not None and tools:
        fields["parallel_tool_calls"] = settings.parallel_tool_calls
    return fields


def lacking(settings: Settings, name: Literal["seed", "stop"], who: str, instead: str) -> None:
    """Say that the API has no such setting: an error or a warning, as the settings choose.

    Raises:
        UnsupportedError: `settings.unsupported` is "error".
    """
    if getattr(settings, name) in (None, ()):
        return
    said = f"{who} has no setting {name!r}, got {getattr(settings, name)!r}; {instead}"
    if settings.unsupported == "error":
        raise UnsupportedError(f'{said}, or set unsupported="warn" to go without')
    warnings.warn(f"{said}; going without", stacklevel=2)


def schema_name(output: OutputSchema) -> str:
    """The schema's name in the alphabet that the API allows: letters, digits, "_" and "-", up to 64."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", output.name)[:64] or "output"


def with_options(body: Mapping[str, Any], options: Mapping[str, Any]) -> dict[str, Any]:
    """Lay the provider's *options* over *body*: objects are merged, lists extended, None takes a field away."""
    result = dict(body)
    for name, value in options.items():
        given = result.get(name)
        if value is None:
            result.pop(name, None)
        elif isinstance(given, Mapping) and isinstance(value, Mapping):
            result[name] = with_options(mapping(given), mapping(value))
        elif isinstance(given, list) and isinstance(value, list | tuple):
            result[name] = _extended(items(given), items(value))
        else:
            result[name] = value
    return result


def _extended(given: Sequence[Any], more: Sequence[Any]) -> list[Any]:
    return [*given, *(each for each in more if each not in given)]
