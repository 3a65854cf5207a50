"""Does a value fit a JSON schema: a checker for JSON Schema 2020-12 that prefers no to maybe.

What it cannot decide (rare keywords, an address outside of the schema, a pattern that could run for ever, more than
5,000 steps) counts as not fitting, so that nothing leaves the model that a full validator might refuse. `format` is
read as an annotation, which is the default of the standard.
"""

from __future__ import annotations

import re
from typing import Any, Final

from .keywords import RULES, UNDECIDED
from .shapes import is_object

_MAX_STEPS: Final = 5_000
_MAX_DEPTH: Final = 40


def problem(value: Any, schema: Any, root: Any = None) -> str | None:
    """Say what keeps *value* from fitting *schema* ("must be at least 1"), or None where it fits.

    References point into *root*, into *schema* itself where none is given. Never raises, whatever the schema holds.
    """
    try:
        return _Check(schema if root is None else root).problem(value, schema)
    except RecursionError:
        return "nests too deep to be checked"


class _Check:
    """One check: the schema that references point into, how much work is left, and how often it had to give up."""

    def __init__(self, root: Any) -> None:
        self.root, self.doubts = root, 0
        self.steps, self.depth = _MAX_STEPS, 0

    def doubt(self, why: str) -> str:
        self.doubts += 1
        return why

    def problem(self, value: Any, schema: Any) -> str | None:
        if schema is True:
            return None
        if not is_object(schema):
            return "may not be there" if schema is False else self.doubt("has a schema that is not an object")
        self.steps -= 1
        if self.steps < 0 or self.depth > _MAX_DEPTH:
            return self.doubt("has a schema too intricate to be checked")
        self.depth += 1
        try:
            problems = (self._by_rule(value, keyword, argument, schema) for keyword, argument in schema.items())
            return next((found for found in problems if found), None)
        finally:
            self.depth -= 1

    def _by_rule(self, value: Any, keyword: str, argument: Any, schema: Any) -> str | None:
        if keyword in UNDECIDED and argument is not True:
            return self.doubt(f"has a schema with {keyword!r}, which is not checked here")
        rule = RULES.get(keyword)
        if rule is None:
            return None
        try:
            return rule(self, value, argument, schema)
        except (TypeError, ValueError, AttributeError, ArithmeticError, LookupError, re.error):
            return self.doubt(f"has a schema whose {keyword!r} cannot be read")
