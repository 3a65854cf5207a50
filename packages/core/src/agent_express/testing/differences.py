"""Where two JSON values differ, told so that a person sees it at once."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass

from .plain import JSON, is_list, is_object

ABSENT = object()


@dataclass(frozen=True, slots=True)
class Difference:
    """One place where two JSON values differ.

    Attributes:
        path: Where, such as "messages[1].parts[0].text".
        expected: What stands there in the first value; `ABSENT` for nothing.
        found: What stands there in the second; `ABSENT` for nothing.
    """

    path: str
    expected: JSON
    found: JSON

    def __str__(self) -> str:
        expected, found = brief(self.expected, self.found)
        return f"at {self.path or 'the top'}: expected {expected}, found {found}"


def differences(expected: object, found: object, path: str = "") -> Iterator[Difference]:
    """Every place where *found* differs from *expected*, in the order of *expected*."""
    if is_object(expected) and is_object(found):
        for key in [*expected, *(key for key in found if key not in expected)]:
            at = f"{path}.{key}" if path else key
            yield from differences(expected.get(key, ABSENT), found.get(key, ABSENT), at)
    elif is_list(expected) and is_list(found):
        for index in range(max(len(expected), len(found))):
            yield from differences(_at(expected, index), _at(found, index), f"{path}[{index}]")
    elif type(expected) is not type(found) or expected != found:
        yield Difference(path, expected, found)


def _at(values: list[JSON], index: int) -> JSON:
    return values[index] if index < len(values) else ABSENT


def brief(expected: JSON, found: JSON, width: int = 100) -> tuple[str, str]:
    """Show two values in at most about *width* characters each, long texts around their first difference."""
    if isinstance(expected, str) and isinstance(found, str):
        same = next((n for n, (a, b) in enumerate(zip(expected, found, strict=False)) if a != b), None)
        start = max(0, (min(len(expected), len(found)) if same is None else same) - width // 3)
        return _window(expected, start, width), _window(found, start, width)
    return _shown(expected, width), _shown(found, width)


def _window(text: str, start: int, width: int) -> str:
    cut = text[start : start + width]
    return f"{'…' if start else ''}{cut!r}{'…' if start + width < len(text) else ''}"


def _shown(value: JSON, width: int) -> str:
    if value is ABSENT:
        return "nothing"
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= width else f"{text[:width]}… ({len(text)} characters)"
