"""Answering: from a plan to words, to structured output, and to the pieces in which they are sent."""
