"""The plugins of the command line: their hooks, their host, and their commands."""
