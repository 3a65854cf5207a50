"""What is declared of state: fields with reducers and scopes, one slice per middleware."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cache
from typing import Any, Literal, Protocol, TypeVar

from pydantic import BaseModel, ConfigDict
from pydantic.fields import FieldInfo
from pydantic_core import PydanticSerializationError

from .errors import UseError

S_co = TypeVar("S_co", bound=BaseModel, covariant=True)


class HasState(Protocol[S_co]):
    """A middleware that declares `state = SomeModel`."""

    @property
    def state(self) -> type[S_co]:
        """The model of its slice."""
        ...


class reduce:  # noqa: N801 - an annotation, read as a word: Annotated[list[int], reduce(merge)]
    """Say how `update` merges into a field: `fn(current, change)` returns the new value."""

    def __init__(self, fn: Callable[[Any, Any], Any]) -> None:
        self.fn = fn


class scope:  # noqa: N801
    """Say how long a field lives: "session" (the default) or "turn" (cleared when the turn ends)."""

    def __init__(self, name: Literal["session", "turn"]) -> None:
        if name not in ("session", "turn"):
            raise UseError(f'scope({name!r}): a scope is "session" or "turn"; users and apps have stores of their own')
        self.name = name


class _Private:
    def __repr__(self) -> str:
        return "private"


private = _Private()
"""Marks a field that stays out of logs, traces and listings: `Annotated[dict[str, str], private]`."""


class Slice:
    """What is known of one state model: compiled once per model."""

    __slots__ = ("kind", "model", "private", "reducers", "turn_defaults")

    def __init__(self, model: type[BaseModel]) -> None:
        self.model = model
        # A subclass, so that a plain BaseModel of the author's validates on assignment and refuses unknown fields.
        config = ConfigDict(validate_assignment=True, extra="forbid")
        self.kind: type[BaseModel] = type(
            model.__name__, (model,), {"__module__": model.__module__, "model_config": config}
        )
        self.reducers: dict[str, Callable[[Any, Any], Any]] = {}
        self.private: set[str] = set()
        self.turn_defaults: dict[str, Callable[[], Any]] = {}
        for name, info in model.model_fields.items():
            if info.is_required():
                raise UseError(f"{model.__name__}.{name} has no default: every state field needs one")
            for mark in info.metadata:
                if isinstance(mark, reduce):
                    self.reducers[name] = mark.fn
                elif mark is private:
                    self.private.add(name)
                elif isinstance(mark, scope) and mark.name == "turn":
                    self.turn_defaults[name] = _default_of(info)
        try:
            self.kind().model_dump_json()
        except PydanticSerializationError as error:
            raise UseError(f"the state {model.__name__} cannot be written as JSON: {error}") from error


def _default_of(info: FieldInfo) -> Callable[[], Any]:
    return lambda: info.get_default(call_default_factory=True)


@cache
def compile_slice(model: type[BaseModel]) -> Slice:
    """Check and compile *model*, once per class.

    Raises:
        UseError: A field without a default, or one that JSON cannot hold.
    """
    given: Any = model
    if not (isinstance(given, type) and issubclass(given, BaseModel)):
        raise UseError(f"state must be a pydantic model class, got {model!r}")
    return Slice(model)


class Layout:
    """Which middleware owns which slice; compiled once, when the agent opens."""

    __slots__ = ("by_identity", "by_name", "field_owners", "owners")

    def __init__(self, owners: Iterable[tuple[str, object, type[BaseModel]]]) -> None:
        self.owners = tuple(owners)
        self.by_name = {name: compile_slice(model) for name, _, model in self.owners}
        self.by_identity: dict[int, str | None] = {}
        self.field_owners: dict[str, list[str]] = {}
        for name, middleware, model in self.owners:
            self.by_identity[id(middleware)] = name
            self.by_identity[id(model)] = None if id(model) in self.by_identity else name
            for field in model.model_fields:
                self.field_owners.setdefault(field, []).append(name)

    def knows(self, key: object) -> bool:
        """Whether *key* is a middleware, a state model or a name of this layout."""
        return id(key) in self.by_identity or (isinstance(key, str) and key in self.by_name)

    def extended(self, owners: Iterable[tuple[str, object, type[BaseModel]]]) -> Layout:
        """Return a layout with more owners, for one turn."""
        return Layout((*self.owners, *owners))
