"""Live objects of an open session, typed by their key."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar, overload

T = TypeVar("T")


class Resources:
    """Live objects of an open session, by their type: `ctx.resources[Database] = db`. Never persisted."""

    __slots__ = ("_held",)

    def __init__(self, held: Mapping[Any, Any] | None = None) -> None:
        self._held: dict[Any, Any] = dict(held or {})

    @overload
    def __getitem__(self, key: type[T]) -> T: ...
    @overload
    def __getitem__(self, key: str) -> Any: ...
    def __getitem__(self, key: Any) -> Any:
        try:
            return self._held[key]
        except KeyError:
            have = ", ".join(_name_of(each) for each in self._held) or "none"
            raise KeyError(
                f"no resource {_name_of(key)} in this session; there are: {have}; "
                "set it in a session hook or open the session with resources={...}"
            ) from None

    def __setitem__(self, key: type[T] | str, value: T) -> None:
        self._held[key] = value

    def __delitem__(self, key: type[Any] | str) -> None:
        del self._held[key]

    def __contains__(self, key: object) -> bool:
        return key in self._held

    @overload
    def get(self, key: type[T]) -> T | None: ...
    @overload
    def get(self, key: str) -> Any: ...
    def get(self, key: Any) -> Any:
        """The resource, or None."""
        return self._held.get(key)


def _name_of(key: Any) -> str:
    return repr(key) if isinstance(key, str) else getattr(key, "__name__", repr(key))
