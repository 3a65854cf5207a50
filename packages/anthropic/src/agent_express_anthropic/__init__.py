"""Claude models for Agent Express, on Anthropic's official SDK."""

from __future__ import annotations

from .model import AnthropicModel, create

__all__ = ["AnthropicModel", "create"]
