"""Agent Express."""
