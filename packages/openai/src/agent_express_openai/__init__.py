"""OpenAI and every server that speaks its API, as models for Agent Express."""

from __future__ import annotations

from .model import OpenAIModel, create, create_chat

__all__ = ["OpenAIModel", "create", "create_chat"]
