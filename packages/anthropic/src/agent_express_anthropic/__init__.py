"""Claude models for Agent Express, on Anthropic's official SDK."""

from __future__ import annotations

from .entry import create
from .model import AnthropicModel

__all__ = ["AnthropicModel", "create"]
