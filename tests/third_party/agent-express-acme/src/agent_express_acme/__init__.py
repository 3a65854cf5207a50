"""Acme's plugins for Agent Express; each is imported from its own module."""

__all__: list[str] = []
