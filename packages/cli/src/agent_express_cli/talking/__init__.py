"""Talking with an agent at the terminal: the commands `run` and `chat`."""
