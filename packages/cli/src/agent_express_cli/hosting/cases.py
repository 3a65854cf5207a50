"""What a plugin wants to have checked of its own accord: further forms of a middleware for the conformance kit."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Case:
    """A form in which a plugin is to pass the conformance kit, beside that of its manifest's example.

    Attributes:
        name: Which form, "with a database"; it stands in the names of the tests.
        make: Makes the thing to check, a new one each time.
    """

    name: str
    make: Callable[[], Any]
