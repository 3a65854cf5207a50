"""Hypothesis without a time limit per example: the machines that run this are shared."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("steady", deadline=None)
settings.load_profile("steady")
