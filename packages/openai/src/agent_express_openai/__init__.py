"""OpenAI and every server that speaks its API, as models for Agent Express."""

from __future__ import annotations

from .entry import create, create_chat
from .model import OpenAIModel

__all__ = ["OpenAIModel", "create", "create_chat"]
