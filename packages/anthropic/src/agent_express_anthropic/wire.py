"""Our request as the API's, without a byte sent: `to_wire`. The way back is `answer.py`. Both are pure."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from agent_express.errors import BadRequestError, UnsupportedError
from agent_express.messages import ModelRequest, OutputSchema, Section, Settings, ToolDef

from . import marks
from .blocks import Block, Lacks, text, thinks
from .conversation import all_blocks, conversation
from .known import Known, known
from .schema import closed

_BUDGETS: Final = {"low": 2_048, "medium": 8_192, "high": 24_576}
"""Tokens to think, for models that are told a budget and no effort. Our choice."""
_LEAST_BUDGET: Final = 1_024
"""The API's lower bound, in tokens."""
_BINDING_BETA: Final = "thinking-binding-controls-2026-08-01"
_JOINED: Final = frozenset({"cache_ttl", "extra_headers", "tools", "output_config"})
"""Options that are joined to what we send; all others replace it."""


@dataclass(frozen=True, slots=True)
class Sending:
    """What goes to `POST /v1/messages`.

    Attributes:
        body: The JSON body.
        headers: Headers beside the client's own; names in lower case.
    """

    body: Mapping[str, Any]
    headers: Mapping[str, str]


def to_wire(
    request: ModelRequest, model: str, *, max_tokens: int | None = None, cache_ttl: str | None = None
) -> Sending:
    """Return *request* as the API takes it.

    Args:
        request: What is asked.
        model: The model's name at Anthropic, such as "claude-sonnet-5-5".
        max_tokens: Where the request does not say it; None for the most that the model can give.
        cache_ttl: How long a marked prefix is kept, "5m" or "1h"; None leaves it to the API (5 minutes).

    Raises:
        UnsupportedError: The API lacks a setting, or cannot be shown a part. A warning instead, where the request's
            settings say `unsupported="warn"`.
        BadRequestError: There is nothing to answer, a tool is required where none is offered, or a picture or file
            holds nothing.
    """
    settings, traits, options = request.settings, known(model), request.settings.options
    lacks = _reporter(model, settings)
    schema = None if request.output is None else closed(request.output.schema)
    tools = [*map(_tool, request.tools), *map(dict, options.get("tools", ()))]
    system = _system(request.system, request.output if schema is None else None)
    messages = conversation(request.messages, lacks)
    limit = next(each for each in (settings.max_tokens, max_tokens, traits.max_tokens) if each is not None)
    _settle_marks([*tools, *system], messages, options, cache_ttl)
    _report_lacking(settings, lacks)
    body: dict[str, Any] = {
        "model": model,
        "max_tokens": limit,
        "messages": messages,
        **({"system": system} if system else {}),
        **({"stop_sequences": list(settings.stop)} if settings.stop else {}),
        **(_tools(tools, settings) if tools else _tools_used(messages, settings)),
        **_output(settings, traits, limit, schema, lacks),
        **{key: value for key, value in options.items() if key not in _JOINED},
        "stream": True,
    }
    headers = {str(key).lower(): str(value) for key, value in options.get("extra_headers", {}).items()}
    if traits.binds_thinking and any(map(thinks, all_blocks(messages))):
        _tolerate_changes(body, headers)
    return Sending(body, headers)


def _reporter(model: str, settings: Settings) -> Lacks:
    def lacks(what: str) -> None:
        if settings.unsupported == "error":
            raise UnsupportedError(
                f'anthropic:{model} {what}; take it out, or set Settings(unsupported="warn") to go on without it'
            )
        warnings.warn(f"anthropic:{model} {what}; the request goes on without it", stacklevel=2)

    return lacks


def _report_lacking(settings: Settings, lacks: Lacks) -> None:
    for name in ("temperature", "top_p", "seed"):
        value = getattr(settings, name)
        if value is not None:
            lacks(f"has no setting {name} (it is {value})")


# --- system prompt and tools --------------------------------------------------------------------


def _system(sections: tuple[Section, ...], instructed: OutputSchema | None) -> list[Block]:
    """One block per section, so that the bytes of the static ones stay the same; last, an output in words."""
    system: list[Block] = []
    for section in sections:
        made = text(section.text)
        if section.cache_mark:
            marks.mark(made)
        system.extend(made)
    return system if instructed is None else [*system, *text(_instruction(instructed))]


def _instruction(output: OutputSchema) -> str:
    """What asks for an answer whose schema the API cannot enforce; the core validates it either way."""
    schema = json.dumps(output.schema, ensure_ascii=False)
    return (
        f"Your final answer must be one JSON object, {output.name}, that matches the JSON schema below: "
        f"the object alone, without a code fence and without any words around it.\n{schema}"
    )


def _tool(tool: ToolDef) -> Block:
    block: Block = {"name": tool.name, "input_schema": {"type": "object", **tool.parameters}}
    if tool.description:
        block["description"] = tool.description
    if tool.cache_mark:
        marks.mark([block])
    return block


def _tools(tools: list[Block], settings: Settings) -> dict[str, Any]:
    choice, extra = settings.tool_choice, {}
    if settings.parallel_tool_calls is False:
        choice, extra = choice or "auto", {"disable_parallel_tool_use": True}
    match choice:
        case None:
            return {"tools": tools}
        case "none":
            return {"tools": tools, "tool_choice": {"type": "none"}}
        case "auto":
            return {"tools": tools, "tool_choice": {"type": "auto", **extra}}
        case "required":
            return {"tools": tools, "tool_choice": {"type": "any", **extra}}
        case name:
            return {"tools": tools, "tool_choice": {"type": "tool", "name": name, **extra}}


def _tools_used(messages: list[Block], settings: Settings) -> dict[str, Any]:
    """Declare the tools that the history calls, where none is on offer: the API wants calls declared.

    Raises:
        BadRequestError: A call is required all the same.
    """
    if settings.tool_choice not in (None, "auto", "none"):
        raise BadRequestError(
            f"tool_choice is {settings.tool_choice!r}, but the request offers no tools: offer some, or set it to None"
        )
    names = dict.fromkeys(block["name"] for block in all_blocks(messages) if block["type"] == "tool_use")
    if not names:
        return {}
    declared = [{"name": name, "input_schema": {"type": "object"}} for name in names]
    return {"tools": declared, "tool_choice": {"type": "none"}}


def _settle_marks(
    static: list[Block], messages: list[Block], options: Mapping[str, Any], cache_ttl: str | None
) -> None:
    automatic = 1 if options.get("cache_control") else 0  # the API's own mark at the end counts too
    kept = marks.limit(static, all_blocks(messages), allowed=marks.ALLOWED - automatic)
    ttl = options.get("cache_ttl", cache_ttl)
    if ttl is not None:
        marks.keep_for(ttl, kept)


# --- thinking and the form of the answer --------------------------------------------------------


def _output(
    settings: Settings, traits: Known, limit: int, schema: Mapping[str, Any] | None, lacks: Lacks
) -> dict[str, Any]:
    thinking, effort = _thinking(settings.reasoning_effort, traits, limit, lacks)
    config = {
        **({"effort": effort} if effort else {}),
        **({"format": {"type": "json_schema", "schema": schema}} if schema is not None else {}),
        **settings.options.get("output_config", {}),
    }
    return {**({"thinking": thinking} if thinking else {}), **({"output_config": config} if config else {})}


def _thinking(effort: str | None, traits: Known, limit: int, lacks: Lacks) -> tuple[Block | None, str | None]:
    """The way to think, and how hard, for models that are told an effort; a budget of tokens for those that are not."""
    if effort is None:
        return None, None
    if effort == "minimal":
        lacks("has no reasoning_effort 'minimal', its least is 'low'")
        effort = "low"
    if traits.adaptive:
        return {"type": "adaptive"}, effort
    if effort not in _BUDGETS:
        lacks(f"has no reasoning_effort {effort!r}, it takes {', '.join(_BUDGETS)}")
        return None, None
    budget = min(_BUDGETS[effort], limit - 1)  # it must stay below max_tokens
    if budget < _LEAST_BUDGET:
        lacks(f"cannot think (reasoning_effort {effort!r}) with max_tokens {limit}, it needs more than {_LEAST_BUDGET}")
        return None, None
    return {"type": "enabled", "budget_tokens": budget}, None


def _tolerate_changes(body: dict[str, Any], headers: dict[str, str]) -> None:
    """Have the API drop earlier thinking whose prefix has changed, where it would refuse the whole request.

    Middleware edits the system prompt, the tools and the history as a matter of course.
    https://platform.claude.com/docs/en/build-with-claude/preserved-thinking
    """
    thinking = body.get("thinking", {"type": "adaptive"})
    if thinking.get("type") != "adaptive" or "block_binding" in thinking:
        return
    body["thinking"] = {**thinking, "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
    headers["anthropic-beta"] = ",".join(filter(None, [headers.get("anthropic-beta"), _BINDING_BETA]))
