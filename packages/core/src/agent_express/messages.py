"""What is said: messages and their parts, the request to a model and its response.

Everything here is frozen and shared between contexts, log and stores; a change is a `replace`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

from .parts import (
    Audio,
    File,
    Frozen,
    Image,
    Json,
    Opaque,
    Part,
    Reasoning,
    Resource,
    ResultPart,
    Text,
    ToolCall,
    ToolResult,
    setters,
)

Role: TypeAlias = Literal["user", "assistant", "tool"]
Mark: TypeAlias = Literal["", "superseded", "interrupted"]
FinishReason: TypeAlias = Literal["stop", "tool_calls", "length", "content_filter", "other"]


class Named(Protocol):
    """Anything with a name: what a request knows of its model."""

    @property
    def name(self) -> str:
        """The full name, such as "openai:gpt-5"."""
        ...


@dataclass(frozen=True, slots=True, init=False)
class Message(Frozen):
    """One message of a conversation: `Message("user", "hello")`.

    Attributes:
        role: "user", "assistant", or "tool" (the results of one batch of calls, in the order of the calls).
        parts: What it is made of. A plain string becomes one text.
        origin: The middleware that said it; empty for the user and the model.
        mark: "superseded" for a draft that a later answer replaced, "interrupted" for text cut off by a cancellation.
        cache_mark: Providers that want marks end a cached prefix after this message.
    """

    role: Role
    parts: tuple[Part, ...] = ()
    origin: str = ""
    mark: Mark = ""
    cache_mark: bool = False

    def __init__(
        self,
        role: Role,
        parts: str | Iterable[Part] = (),
        *,
        origin: str = "",
        mark: Mark = "",
        cache_mark: bool = False,
    ) -> None:
        _message_role(self, role)
        _message_parts(self, (Text(parts),) if type(parts) is str else tuple(parts))
        _message_origin(self, origin)
        _message_mark(self, mark)
        _message_cache(self, cache_mark)

    @property
    def text(self) -> str:
        """Its text parts, joined."""
        parts = self.parts
        if len(parts) == 1:
            part = parts[0]
            return part.text if type(part) is Text else ""
        return "".join([part.text for part in parts if type(part) is Text])

    @property
    def tool_calls(self) -> tuple[ToolCall, ...]:
        """Its tool calls, in order."""
        parts = self.parts
        if len(parts) == 1:
            part = parts[0]
            return (part,) if type(part) is ToolCall else ()
        return tuple([part for part in parts if type(part) is ToolCall])

    def with_text(self, text: str) -> Message:
        """Return a copy in which *text* replaces all text parts; what is not text stays in its place."""
        parts: list[Part] = []
        for part in self.parts:
            if type(part) is not Text:
                parts.append(part)
            elif not any(type(each) is Text for each in parts):
                parts.append(Text(text))
        if text and not any(type(part) is Text for part in parts):
            parts.insert(0, Text(text))
        return self.replace(parts=tuple(parts))


_message_role, _message_parts, _message_origin, _message_mark, _message_cache = setters(
    Message, "role", "parts", "origin", "mark", "cache_mark"
)


@dataclass(frozen=True, slots=True)
class Usage(Frozen):
    """Tokens of one model call as the provider reports them; None where it does not.

    Attributes:
        input_tokens: All of the prompt, cached tokens included.
        output_tokens: All of the answer, reasoning included.
        cache_read_tokens: Of the input, read from the provider's cache.
        cache_write_tokens: Of the input, written to the provider's cache.
        reasoning_tokens: Of the output, spent on thinking.
    """

    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    reasoning_tokens: int | None = None

    @property
    def total_tokens(self) -> int | None:
        """Input and output; None where neither is known."""
        if self.input_tokens is None:
            return self.output_tokens
        return self.input_tokens + (self.output_tokens or 0)

    def __add__(self, other: Usage) -> Usage:
        """Sum field by field; unknown plus known is known."""
        return Usage(*[_plus(getattr(self, name), getattr(other, name)) for name in _USAGE])


def _plus(a: int | None, b: int | None) -> int | None:
    if a is None:
        return b
    return a if b is None else a + b


_USAGE = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens")


@dataclass(frozen=True, slots=True)
class ToolDef(Frozen):
    """What a model is told of a tool: its name, what it does, and the JSON schema of its arguments."""

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=lambda: {"type": "object", "properties": {}})
    cache_mark: bool = False


@dataclass(frozen=True, slots=True)
class Section(Frozen):
    """One named piece of the system prompt."""

    key: str
    text: str
    cache_mark: bool = False


@dataclass(frozen=True, slots=True)
class OutputSchema(Frozen):
    """The structured output that is asked for: a name and a JSON schema of an object."""

    name: str
    schema: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Settings(Frozen):
    """How a model is to answer. None leaves the choice to the provider.

    Attributes:
        temperature: 0 and up; the range is the provider's.
        top_p: 0 to 1.
        max_tokens: Of the answer.
        seed: For providers that repeat themselves.
        stop: Texts that end the answer.
        tool_choice: "auto", "none", "required", or the name of a tool.
        parallel_tool_calls: Whether one answer may hold several calls.
        reasoning_effort: "minimal", "low", "medium", "high", or what the provider takes.
        options: Options of the provider, sent as they are.
        unsupported: What happens to a setting that the provider lacks: "error" or "warn"; never silence.
    """

    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    seed: int | None = None
    stop: tuple[str, ...] = ()
    tool_choice: str | None = None
    parallel_tool_calls: bool | None = None
    reasoning_effort: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    unsupported: Literal["error", "warn"] = "error"


DEFAULT_SETTINGS = Settings()
"""Everything left to the provider."""


@dataclass(frozen=True, slots=True)
class ModelRequest(Frozen):
    """What is sent to a model: assembled anew from the history for each call.

    Attributes:
        model: The model that is called.
        messages: Oldest first; no system message among them.
        system: The system prompt in sections; `system_text` joins them.
        tools: The tools the model may call; others that it names are refused.
        settings: How to answer.
        output: The structured output asked for, if any.
    """

    model: Named
    messages: tuple[Message, ...] = ()
    system: tuple[Section, ...] = ()
    tools: tuple[ToolDef, ...] = ()
    settings: Settings = DEFAULT_SETTINGS
    output: OutputSchema | None = None

    @property
    def system_text(self) -> str:
        """The sections, an empty line between them."""
        return "\n\n".join([section.text for section in self.system if section.text])


@dataclass(frozen=True, slots=True)
class ModelResponse(Frozen):
    """What a model answered.

    Attributes:
        message: The answer, of role "assistant".
        usage: Tokens as reported.
        finish_reason: Why it ended; "length" means cut off by `max_tokens`.
        model: The model as the provider names it; empty where it does not.
        id: The provider's id of this response; empty where there is none.
    """

    message: Message
    usage: Usage = Usage()
    finish_reason: FinishReason = "stop"
    model: str = ""
    id: str = ""


@dataclass(frozen=True, slots=True)
class Limits(Frozen):
    """What one turn may take; times in seconds.

    Attributes:
        max_steps: Model calls of the loop, at least 1; the last is sent with `tool_choice="none"`.
        timeout: The whole turn; None for no limit.
        max_parallel_tools: Tool calls that run at once, at least 1.
        max_batch: Tool calls in one answer; a larger batch is refused whole, each call answered.
        max_continuations: How often middleware may send the model back to work.
        max_output_retries: How often an answer that does not match `output=` goes back to the model.
    """

    max_steps: int = 50
    timeout: float | None = None
    max_parallel_tools: int = 16
    max_batch: int = 64
    max_continuations: int = 8
    max_output_retries: int = 2

    def __post_init__(self) -> None:
        for name in ("max_steps", "max_parallel_tools", "max_batch"):
            if getattr(self, name) < 1:
                raise ValueError(f"Limits: {name} must be at least 1, got {getattr(self, name)}")
        for name in ("max_continuations", "max_output_retries"):
            if getattr(self, name) < 0:
                raise ValueError(f"Limits: {name} must be at least 0, got {getattr(self, name)}")
        if self.timeout is not None and not self.timeout > 0:
            raise ValueError(f"Limits: timeout must be more than 0 seconds, got {self.timeout}")


__all__ = [
    "Audio",
    "DEFAULT_SETTINGS",
    "File",
    "FinishReason",
    "Image",
    "Json",
    "Limits",
    "Mark",
    "Message",
    "ModelRequest",
    "ModelResponse",
    "Named",
    "Opaque",
    "OutputSchema",
    "Part",
    "Reasoning",
    "Resource",
    "ResultPart",
    "Role",
    "Section",
    "Settings",
    "Text",
    "ToolCall",
    "ToolDef",
    "ToolResult",
    "Usage",
]
