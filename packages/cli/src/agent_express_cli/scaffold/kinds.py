"""What can be rendered."""

from __future__ import annotations

from enum import StrEnum


class Kind(StrEnum):
    """What a package offers, or a project that offers nothing but runs."""

    MIDDLEWARE = "middleware"
    PROVIDER = "provider"
    BUNDLE = "bundle"
    PROJECT = "project"
