"""State: one pydantic model per middleware, typed.

A slice is made when it is first looked at. Once a step, the slices that were touched are compared with what was
recorded of them before, so changes made in place count like assignments.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, overload

from pydantic import BaseModel, ValidationError
from pydantic_core import PydanticSerializationError, from_json

from .errors import StateError
from .slices import HasState, Layout, compile_slice, private, reduce, scope
from .texts import holds_nul, problems

S = TypeVar("S", bound=BaseModel)
Changes = dict[str, dict[str, Any]]


class State:
    """The state of one session.

    `state[self]` and `state[SomeModel]` are typed, `state["name"]` is dynamic; `state.field` is short for scripts and
    works while one middleware has a field of that name. Assignment assigns, `update` reduces.
    """

    __slots__ = ("_layout", "_merged", "_parent", "_seen", "_slices", "_touched", "_writers")
    _layout: Layout
    _parent: State | None
    _slices: dict[str, BaseModel]
    _seen: dict[str, tuple[bytes, dict[str, Any]]]
    _touched: set[str]
    _merged: list[tuple[str, str, Any]] | None
    _writers: dict[tuple[str, str], str] | None

    def __init__(self, layout: Layout, parent: State | None = None) -> None:
        put = object.__setattr__  # our own __setattr__ is for the users' fields
        put(self, "_layout", layout)
        put(self, "_parent", parent)
        put(self, "_slices", {})
        put(self, "_seen", {})
        put(self, "_touched", set())
        put(self, "_merged", None)
        put(self, "_writers", None)

    @overload
    def __getitem__(self, key: str) -> Any: ...
    @overload
    def __getitem__(self, key: type[S]) -> S: ...
    @overload
    def __getitem__(self, key: HasState[S]) -> S: ...
    def __getitem__(self, key: Any) -> Any:
        owner = self._layout.by_identity.get(id(key))
        if owner is None:
            if self._parent is not None and not self._layout.knows(key):
                return self._parent[key]  # a guard of the enclosing agent keeps its state there
            owner = self._owner_named(key)
        return self._slice(owner)

    def _owner_named(self, key: Any) -> str:
        layout = self._layout
        if isinstance(key, str) and key in layout.by_name:
            return key
        have = ", ".join(sorted(layout.by_name)) or "none"
        name: Any = getattr(key, "__name__", type(key).__name__)
        if id(key) in layout.by_identity:
            owners = ", ".join(repr(name) for name, _, model in layout.owners if model is key)
            raise StateError(f"{name} is the state of {owners}: write ctx.state[self] or ctx.state[name]")
        what = repr(key) if isinstance(key, str) else name
        raise StateError(f"no state of {what}; middleware with state: {have}; declare it as `state = SomeModel`")

    def _slice(self, owner: str) -> BaseModel:
        self._touched.add(owner)
        found = self._slices.get(owner)
        if found is None:
            found = self._slices[owner] = self._layout.by_name[owner].kind()
        return found

    def _owner_of(self, field: str) -> str:
        owners = self._layout.field_owners.get(field)
        if owners is None:
            have = ", ".join(sorted(self._layout.field_owners)) or "none"
            raise StateError(f"no state field {field!r}; declared: {have}; add it to the `state` of a middleware")
        if len(owners) > 1:
            raise StateError(
                f"state field {field!r} belongs to {' and '.join(owners)}: write ctx.state[{owners[0]!r}].{field}"
            )
        return owners[0]

    def _home_of(self, field: str) -> State:
        """Where a field lives: here, or in the state of the enclosing agent."""
        if self._parent is not None and field not in self._layout.field_owners:
            return self._parent._home_of(field)
        return self

    def __getattr__(self, field: str) -> Any:
        if field.startswith("__"):
            raise AttributeError(field)
        home = self._home_of(field)
        return getattr(home._slice(home._owner_of(field)), field)

    def __setattr__(self, field: str, value: Any) -> None:
        home = self._home_of(field)
        owner = home._owner_of(field)
        _assign(owner, home._slice(owner), field, value)

    def update(
        self, change: BaseModel | None = None, owner: HasState[Any] | str | None = None, /, **fields: Any
    ) -> None:
        """Merge a change through the reducers: `update(Plan(todos=[...]))`, or `update(todos=[...])`.

        Of a model only the fields that were set count. Fields without a reducer are assigned.

        Args:
            change: A state model with the fields to merge.
            owner: Whose slice, where several middleware share the model.
            **fields: Field by field, while one middleware has a field of that name.

        Raises:
            StateError: No such state or field, several owners, or a value that does not validate.
        """
        parent = self._parent
        if change is not None and parent is not None and not any(map(self._layout.knows, type(change).__mro__)):
            parent.update(change, owner)
        elif change is not None:
            name = self._owner_for(change, owner)
            for field in change.model_fields_set:
                self._merge(name, field, getattr(change, field))
        for field, value in fields.items():
            home = self._home_of(field)
            home._merge(home._owner_of(field), field, value)

    def _owner_for(self, change: BaseModel, owner: HasState[Any] | str | None) -> str:
        layout = self._layout
        for kind in type(change).__mro__:
            if id(kind) in layout.by_identity:
                key: Any = kind if owner is None else owner
                return layout.by_identity.get(id(key)) or self._owner_named(key)
        return self._owner_named(type(change))

    def _merge(self, owner: str, field: str, value: Any) -> None:
        target = self._slice(owner)
        reducer = self._layout.by_name[owner].reducers.get(field)
        if reducer is not None:
            if self._merged is not None:
                self._merged.append((owner, field, value))
            value = reducer(getattr(target, field), value)
        _assign(owner, target, field, value)

    # --- for the core ---------------------------------------------------------------------------

    def take_changes(self) -> tuple[Changes, Changes] | None:
        """What differs from the last call: (open, private) changes, or None.

        Raises:
            StateError: A value changed in place no longer validates; the slice is as it was recorded before.
        """
        touched = self._touched
        if not touched:
            return None
        public: Changes = {}
        hidden: Changes = {}
        for owner in sorted(touched) if len(touched) > 1 else touched:
            found = self._diff(owner)
            if found:
                secret = self._layout.by_name[owner].private
                for field, change in found.items():
                    (hidden if field in secret else public).setdefault(owner, {})[field] = change
        return (public, hidden) if public or hidden else None

    def _diff(self, owner: str) -> dict[str, Any]:
        layout = self._layout.by_name[owner]
        try:
            held = self._slices[owner]
            # The serializer itself takes a sixth of the time of model_dump_json.
            write = layout.kind.__pydantic_serializer__.to_json
            text = write(held, warnings=False)
            before = self._seen.get(owner)
            if before is not None and before[0] == text:
                return {}
            _check_json(layout.kind, held, text)
            if b"\\u0000" in text and holds_nul(text.decode()):
                raise ValueError("it holds a NUL character, which stores do not agree on")
        except (ValidationError, PydanticSerializationError, ValueError) as error:
            self._restore(owner)
            raise StateError(
                f"state of {owner!r} was changed in place to what {layout.model.__name__} refuses: {_why(error)}"
            ) from None
        values = from_json(text)
        old = before[1] if before is not None else from_json(layout.kind().model_dump_json())
        self._seen[owner] = (text, values)
        return {field: _change(old.get(field), value) for field, value in values.items() if old.get(field) != value}

    def _restore(self, owner: str) -> None:
        seen = self._seen.get(owner)
        kind = self._layout.by_name[owner].kind
        restored = kind() if seen is None else kind.model_validate_json(seen[0])
        held: Any = self._slices[owner].__dict__  # the object stays: somebody may hold it
        held.clear()
        held.update(restored.__dict__)

    def begin_turn(self, extra: Iterable[tuple[str, object, type[BaseModel]]]) -> Layout:
        """Add the owners that live for one turn; return the layout to give back to `end_turn`."""
        before = self._layout
        if extra:
            object.__setattr__(self, "_layout", before.extended(extra))
        return before

    def end_turn(self, layout: Layout) -> None:
        """Clear what lives for one turn: fields of that scope, and the owners that `begin_turn` added."""
        object.__setattr__(self, "_layout", layout)
        object.__setattr__(self, "_writers", None)
        self._touched.clear()
        for owner in list(self._slices):
            known = layout.by_name.get(owner)
            if known is None:
                del self._slices[owner]
                self._seen.pop(owner, None)
            elif known.turn_defaults:
                for field, default in known.turn_defaults.items():
                    setattr(self._slices[owner], field, default())
                text = self._slices[owner].model_dump_json().encode()
                self._seen[owner] = (text, from_json(text))

    def values(self, *, private: bool = False) -> dict[str, dict[str, Any]]:
        """All slices in use as JSON values; private fields only on request."""
        shown: dict[str, dict[str, Any]] = {}
        for owner, held in self._slices.items():
            hidden: set[str] = set() if private else self._layout.by_name[owner].private
            shown[owner] = {name: value for name, value in held.model_dump(mode="json").items() if name not in hidden}
        return shown

    def __repr__(self) -> str:
        return f"State({self.values()})"

    # --- what nested agents share ---------------------------------------------------------------

    def lend(self, child: State, names: Iterable[str]) -> dict[str, dict[str, Any]]:
        """Copy the slices called *names* into *child*; return what was lent."""
        lent: dict[str, dict[str, Any]] = {}
        for name in names:
            mine = self._layout.by_name.get(name)
            theirs = child._layout.by_name.get(name)
            if mine is None or theirs is None:
                where = "this agent" if mine is None else "the nested agent"
                raise StateError(f"state {name!r} cannot be shared: {where} has no middleware of that name with state")
            lent[name] = self._slice(name).model_dump(mode="json")
            child._slices[name] = theirs.kind.model_validate(lent[name])
        object.__setattr__(child, "_merged", [])
        return lent

    def bring_back(self, child: State, lent: Mapping[str, Mapping[str, Any]], writer: str) -> None:
        """Merge what a nested agent changed in slices that were lent to it.

        What it gave to `update` goes through the same reducers here. What it assigned is assigned, unless another
        nested agent assigned the same field in this turn.

        Raises:
            StateError: Two nested agents assigned the same field.
        """
        merged = {(owner, field) for owner, field, _ in child._merged or ()}
        assigned = [
            (owner, field, value)
            for owner, before in lent.items()
            for field, value in child._slice(owner).model_dump(mode="json").items()
            if value != before.get(field) and (owner, field) not in merged
        ]
        for owner, field, _ in assigned:
            self._claim(owner, field, writer)  # all of them before anything is merged
        for owner, field, value in child._merged or ():
            if owner in lent:
                self._merge(owner, field, value)
        for owner, field, value in assigned:
            _assign(owner, self._slice(owner), field, value)

    def _claim(self, owner: str, field: str, by: str) -> None:
        writers: dict[tuple[str, str], str] = self._writers or {}
        object.__setattr__(self, "_writers", writers)
        writer = writers.setdefault((owner, field), by)
        if writer != by:
            raise StateError(
                f"state field {owner}.{field} was written by {writer!r} and by {by!r} and has no reducer: "
                "declare one with Annotated[..., reduce(fn)] and write it with update()"
            )


def _check_json(kind: type[BaseModel], held: BaseModel, text: bytes) -> None:
    """Refuse a slice, written as *text*, that was changed in place to what its model does not take."""
    validator = kind.__pydantic_validator__
    try:
        validator.validate_json(text, strict=True)
    except ValidationError:
        # Strict is quick and refuses a little more than the model does: look again.
        if kind.__pydantic_serializer__.to_json(validator.validate_json(text), warnings=False) != text:
            kind.__pydantic_serializer__.to_json(held, warnings="error")  # says which value is not of its type
            raise


def _assign(owner: str, target: BaseModel, field: str, value: Any) -> None:
    try:
        setattr(target, field, value)
    except (ValidationError, ValueError) as error:
        raise StateError(f"state of {owner!r}: {field}: {_why(error)}") from None


def _why(error: Exception) -> str:
    """What is wrong, without the values: a field may be private."""
    if isinstance(error, ValidationError):
        return problems(error, "value")
    return "a value is not of its field's type" if isinstance(error, PydanticSerializationError) else str(error)


def _change(old: Any, new: Any) -> dict[str, Any]:
    if isinstance(old, list) and isinstance(new, list):
        before: list[Any] = old
        after: list[Any] = new
        if before and after[: len(before)] == before:
            return {"append": after[len(before) :]}
    return {"set": new}


__all__ = ["Changes", "HasState", "Layout", "State", "compile_slice", "private", "reduce", "scope"]
