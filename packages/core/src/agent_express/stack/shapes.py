"""The kinds of values in a stack file: each checks one and has a JSON schema."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, cast

from .positions import KeyPath
from .problems import Report
from .words import header, label, meant, shown

Schema = dict[str, Any]


class Shape(Protocol):
    """What a value must be."""

    @property
    def what(self) -> str:
        """As a sentence says it: "text", "a table"."""
        ...

    def fits(self, value: Any) -> bool:
        """Whether *value* is of this kind; what stands inside it is not looked at."""
        ...

    def check(self, value: Any, path: KeyPath, report: Report) -> None:
        """Report all that is wrong with *value*."""
        ...

    def schema(self, defs: dict[str, Schema]) -> Schema:
        """The same as JSON schema; what has a name of its own is put into *defs*."""
        ...


def _wrong(shape: Shape, value: Any, path: KeyPath, report: Report, advice: str = "") -> None:
    report.add(f"{label(path)} must be {shape.what}, got {shown(value)}", path, advice=advice)


def _described(schema: Schema, description: str) -> Schema:
    return {**schema, "description": description} if description else schema


@dataclass(frozen=True)
class Text:
    """A text that is not empty, unless *empty* allows it."""

    description: str = ""
    empty: bool = False
    ref: str = ""  # a definition of the schema that says more, such as which names are installed
    what = "text"

    def fits(self, value: Any) -> bool:
        """Whether it is text."""
        return isinstance(value, str)

    def check(self, value: Any, path: KeyPath, report: Report) -> None:
        """Report what is no text, or empty."""
        if not isinstance(value, str):
            _wrong(self, value, path, report)
        elif not value and not self.empty:
            report.add(f"{label(path)} is empty", path)

    def schema(self, defs: dict[str, Schema]) -> Schema:
        """A string."""
        if self.ref:
            return _described({"$ref": f"#/$defs/{self.ref}"}, self.description)
        return _described({"type": "string"} if self.empty else {"type": "string", "minLength": 1}, self.description)


@dataclass(frozen=True)
class Flag:
    """True or false."""

    description: str = ""
    what = "true or false"

    def fits(self, value: Any) -> bool:
        """Whether it is true or false."""
        return isinstance(value, bool)

    def check(self, value: Any, path: KeyPath, report: Report) -> None:
        """Report what is neither."""
        if not isinstance(value, bool):
            _wrong(self, value, path, report)

    def schema(self, defs: dict[str, Schema]) -> Schema:
        """A boolean."""
        return _described({"type": "boolean"}, self.description)


@dataclass(frozen=True)
class Number:
    """A number: whole and at least *least*, or, with *above*, any number above it."""

    description: str = ""
    least: int = 0
    above: float | None = None

    @property
    def what(self) -> str:
        """With its range."""
        return f"a whole number, at least {self.least}" if self.above is None else f"a number above {self.above:g}"

    def fits(self, value: Any) -> bool:
        """Whether it is a number in the range."""
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        if self.above is not None:
            return value > self.above
        return isinstance(value, int) and value >= self.least

    def check(self, value: Any, path: KeyPath, report: Report) -> None:
        """Report what is no such number."""
        if not self.fits(value):
            _wrong(self, value, path, report)

    def schema(self, defs: dict[str, Schema]) -> Schema:
        """An integer or a number with its limit."""
        if self.above is not None:
            return _described({"type": "number", "exclusiveMinimum": self.above}, self.description)
        return _described({"type": "integer", "minimum": self.least}, self.description)


@dataclass(frozen=True)
class Items:
    """A list of values of one shape."""

    item: Shape
    description: str = ""
    what = "a list"

    def fits(self, value: Any) -> bool:
        """Whether it is a list."""
        return isinstance(value, list)

    def check(self, value: Any, path: KeyPath, report: Report) -> None:
        """Report what is no list, and each item that is wrong."""
        if not isinstance(value, list):
            advice = f"write {header((*path, 0))}" if isinstance(value, dict) else ""
            return _wrong(self, value, path, report, advice)
        for number, each in enumerate(value):
            self.item.check(each, (*path, number), report)
        return None

    def schema(self, defs: dict[str, Schema]) -> Schema:
        """An array."""
        return _described({"type": "array", "items": self.item.schema(defs)}, self.description)


class _OfTables:
    what = "a table"

    def fits(self, value: Any) -> bool:
        """Whether it is a table."""
        return isinstance(value, dict)


@dataclass(frozen=True)
class Free(_OfTables):
    """A table of any keys: the settings of a plugin, which knows them itself."""

    description: str = ""

    def check(self, value: Any, path: KeyPath, report: Report) -> None:
        """Report what is no table."""
        if not isinstance(value, dict):
            _wrong(self, value, path, report)

    def schema(self, defs: dict[str, Schema]) -> Schema:
        """An object."""
        return _described({"type": "object"}, self.description)


@dataclass(frozen=True)
class Named(_OfTables):
    """A table whose keys are names, and whose values have one shape."""

    item: Shape
    description: str = ""

    def check(self, value: Any, path: KeyPath, report: Report) -> None:
        """Report what is no table, and each value that is wrong."""
        if not isinstance(value, dict):
            return _wrong(self, value, path, report)
        for name, each in cast("dict[str, Any]", value).items():
            self.item.check(each, (*path, name), report)
        return None

    def schema(self, defs: dict[str, Schema]) -> Schema:
        """An object with additional properties."""
        return _described({"type": "object", "additionalProperties": self.item.schema(defs)}, self.description)


@dataclass(frozen=True)
class Table(_OfTables):
    """A table of known keys.

    Attributes:
        fields: What each key holds.
        name: Of its definition in the JSON schema, one a shape; without one it stands where it is used.
        hints: For keys that people write and that are not there: what to write.
        required: Keys that must be there.
    """

    fields: Mapping[str, Shape]
    name: str = ""
    description: str = ""
    hints: Mapping[str, str] = field(default_factory=dict[str, str])
    required: tuple[str, ...] = ()

    def check(self, value: Any, path: KeyPath, report: Report) -> None:
        """Report what is no table, unknown and missing keys, and each value that is wrong."""
        if not isinstance(value, dict):
            advice = f"write {header(path)}" if isinstance(value, list) and path else ""
            return _wrong(self, value, path, report, advice)
        table = cast("dict[str, Any]", value)
        for key, each in table.items():
            shape = self.fields.get(key)
            if shape is None:
                advice = self.hints.get(key) or meant(key, self.fields)
                report.add(f"unknown key {key!r} in {header(path)}", (*path, key), advice=advice, at_key=True)
            else:
                shape.check(each, (*path, key), report)
        for key in self.required:
            if key not in table:
                report.add(f"{header(path)} has no {key!r}", path)
        return None

    def schema(self, defs: dict[str, Schema]) -> Schema:
        """An object that takes no other keys; where it has a name, a reference to it in *defs*."""
        if self.name in defs:
            return {"$ref": f"#/$defs/{self.name}"}
        made: Schema = {
            "type": "object",
            "additionalProperties": False,
            "properties": {key: shape.schema(defs) for key, shape in self.fields.items()},
        }
        if self.required:
            made["required"] = list(self.required)
        made = _described(made, self.description)
        if not self.name:
            return made
        defs[self.name] = made
        return {"$ref": f"#/$defs/{self.name}"}


@dataclass(frozen=True)
class Either:
    """A value of one of several shapes."""

    shapes: tuple[Shape, ...]
    description: str = ""

    @property
    def what(self) -> str:
        """All of them."""
        return " or ".join(shape.what for shape in self.shapes)

    def fits(self, value: Any) -> bool:
        """Whether one of them takes it."""
        return any(shape.fits(value) for shape in self.shapes)

    def check(self, value: Any, path: KeyPath, report: Report) -> None:
        """Report what the shape of its kind reports, or that no shape is of its kind."""
        for shape in self.shapes:
            if shape.fits(value):
                return shape.check(value, path, report)
        return _wrong(self, value, path, report)

    def schema(self, defs: dict[str, Schema]) -> Schema:
        """Any of them."""
        return _described({"anyOf": [shape.schema(defs) for shape in self.shapes]}, self.description)
