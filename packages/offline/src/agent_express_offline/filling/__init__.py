"""Filling: from a command and a JSON schema to the arguments that the command says."""
