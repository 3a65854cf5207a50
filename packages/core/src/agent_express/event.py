"""What an event is, the `End` of a stream, and how an event becomes JSON."""

from __future__ import annotations

import json
import math
from dataclasses import Field, dataclass, field, fields
from functools import lru_cache
from typing import Any, ClassVar, Generic, Literal, TypeAlias, TypeVar, dataclass_transform
from uuid import UUID

from pydantic import ConfigDict, PydanticSchemaGenerationError, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

from .errors import EventError
from .texts import holds_nul, problems

R_co = TypeVar("R_co", covariant=True)
EndStatus: TypeAlias = Literal["completed", "parked"]


_CONFIG = ConfigDict(ser_json_bytes="base64", val_json_bytes="base64", ser_json_inf_nan="constants")


@dataclass_transform(field_specifiers=(field,))
class EventMeta(type):
    """Makes each event class a slotted dataclass that keeps its class arguments."""

    def __new__(
        mcs,
        name: str,
        bases: tuple[type, ...],
        namespace: dict[str, Any],
        *,
        type: str = "",
        version: int = 1,
        durable: bool | None = None,
    ) -> EventMeta:
        """Build the class; the second entry comes from `dataclass`, which rebuilds it with slots."""
        cls = super().__new__(mcs, name, bases, namespace)
        if "__slots__" in namespace:
            return cls
        made: Any = dataclass(slots=True, repr=False, eq=False)(cls)
        made.__pydantic_config__ = _CONFIG
        made.type = type or f"local:{_kebab(name)}"
        made.version = version
        if durable is not None:
            made.durable = durable
        return made  # type: ignore[no-any-return]


def _kebab(name: str) -> str:
    return "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in name).lstrip("-")


class Event(metaclass=EventMeta, durable=True):
    """Something that happened. Equality looks at what happened, not at when it was logged.

    Attributes:
        type: The name of the kind, "area:what-happened"; of the class.
        version: The version of its fields; of the class.
        durable: Whether the log keeps it; of the class.
        id: A UUIDv7 as an integer, unique and rising within its log; 0 before it was logged.
        position: Its place in the log, from 0; -1 before it was logged.
        at: When it was logged, seconds since 1970.
        path: The nested agents it came through, "researcher" or "researcher/reader"; empty for the agent itself.
    """

    type: ClassVar[str]
    version: ClassVar[int]
    durable: ClassVar[bool]
    id: int = field(default=0, init=False, repr=False, compare=False)
    position: int = field(default=-1, init=False, repr=False, compare=False)
    at: float = field(default=0.0, init=False, repr=False, compare=False)
    path: str = field(default="", init=False, repr=False, compare=False)

    def __eq__(self, other: object) -> bool:
        # Written once for all: a generated one per class doubles the time it takes to import them.
        names = _compared(self.__class__)
        return other.__class__ is self.__class__ and all(getattr(self, n) == getattr(other, n) for n in names)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in _shown(self.__class__))
        return f"{self.__class__.__qualname__}({shown})"

    @property
    def uuid(self) -> UUID:
        """The id as a UUID."""
        return UUID(int=self.id)


@dataclass(slots=True)
class End(Generic[R_co]):
    """The last item of a stream: the result of its level. It is not an event.

    Attributes:
        result: Of a model stream the `ModelResponse`, of a tool stream the `ToolResult`, of a turn the `Message`,
            of the public stream the `Answer`.
        status: "parked" where the turn waits for a decision; *result* is None then.
    """

    result: R_co
    status: EndStatus = "completed"


# --- to JSON and back ---------------------------------------------------------------------------


def dump(event: Event, *, private: bool = False) -> dict[str, Any]:
    """Return *event* as a dict that JSON can hold; *private* includes the private fields.

    Raises:
        EventError: A field holds what JSON cannot: NaN, a set, a lone surrogate.
    """
    kind = type(event)
    try:
        held: dict[str, Any] = json.loads(_json_text(_adapter(kind).dump_python(event, mode="json")))
    except (PydanticSerializationError, ValueError, TypeError) as error:
        raise EventError(f"{kind.__name__}: JSON cannot hold it: {error}") from error
    if not private:
        held.pop("private", None)
    stamps = {name: held.pop(name, None) for name in ("id", "position", "at", "path")}
    head: dict[str, Any] = {"type": kind.type, "version": kind.version}
    if event.position >= 0:
        head |= {"id": str(event.uuid), "position": event.position, "at": event.at}
    if stamps["path"]:
        head["path"] = stamps["path"]
    return head | held


def _json_text(value: Any) -> bytes:
    """Compact UTF-8 JSON; NaN and lone surrogates are a ValueError, NUL too: stores do not agree on it."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    if holds_nul(text):
        raise ValueError("it holds a NUL character")
    return text.encode()


@lru_cache(maxsize=512)
def _adapter(kind: type[Event]) -> TypeAdapter[Any]:
    try:
        return TypeAdapter(kind)
    except PydanticSchemaGenerationError as error:
        raise EventError(f"{kind.__name__} has a field that JSON cannot hold: {error}") from error


def check(event: Event) -> None:
    """Refuse an event whose fields do not validate or that JSON cannot hold.

    Raises:
        EventError: Which field, and why.
    """
    kind = type(event)
    try:
        _adapter(kind).validate_python({name: getattr(event, name) for name in _fields(kind)})
    except ValidationError as error:
        raise EventError(f"{kind.__name__}: {problems(error, 'event')}") from None
    odd = _odd(_adapter(kind).dump_python(event))
    if odd is not None:
        raise EventError(f"{kind.__name__}: JSON cannot hold {odd}")
    dump(event)


def _odd(value: Any) -> str | None:
    """What JSON cannot hold and pydantic would change in silence: sets, and numbers that are not finite."""
    if isinstance(value, set | frozenset):
        return "a set: use a list"
    if isinstance(value, float) and not math.isfinite(value):
        return f"{value}: use None"
    within: Any = value.values() if isinstance(value, dict) else value
    if isinstance(value, dict | list | tuple):
        return next((odd for each in within if (odd := _odd(each)) is not None), None)
    return None


@lru_cache(maxsize=512)
def _fields(kind: type[Event]) -> tuple[str, ...]:
    return tuple(spec.name for spec in _specs(kind) if spec.init)


@lru_cache(maxsize=512)
def _compared(kind: type[Event]) -> tuple[str, ...]:
    return tuple(spec.name for spec in _specs(kind) if spec.compare)


@lru_cache(maxsize=512)
def _shown(kind: type[Event]) -> tuple[str, ...]:
    return tuple(spec.name for spec in _specs(kind) if spec.repr)


def _specs(kind: Any) -> tuple[Field[Any], ...]:
    return fields(kind)
